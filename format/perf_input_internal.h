/* The parts of format/perf_input.h; for format/perf_input*.c and their tests. */
#ifndef WEIR_FORMAT_PERF_INPUT_INTERNAL_H
#define WEIR_FORMAT_PERF_INPUT_INTERNAL_H

#include "format/perf_input.h"

/* Appends an event of an attr as it stands in the file (attr_bytes of it there) and its ids, as raw bytes. at: where
 * the attr is, for err. 0, -EBADMSG, -E2BIG or -ENOMEM with err. */
int weir_perf_input_add_event(struct weir_perf_input *input, const uint8_t *attr, size_t attr_bytes, const uint8_t *ids,
                              size_t id_count, uint64_t at, struct weir_error *err);

/* Replaces the event's name by a copy. 0 or -ENOMEM. */
int weir_perf_input_name_event(struct weir_perf_input *input, size_t event, const char *name);

/* Names from an EVENT_DESC payload, matched by ids, or by place where there are none. A damaged one names fewer events.
 * 0 or -ENOMEM. */
int weir_perf_input_name_events(struct weir_perf_input *input, const uint8_t *payload, size_t bytes);

/* The header of a file, its attrs, ids and the table of features. */
int weir_perf_input_read_file(struct weir_perf_input *input, struct weir_error *err);

/* What a record of a pipe says: ATTR, EVENT_UPDATE, FEATURE, TRACING_DATA (whose payload it takes); others say nothing.
 */
int weir_perf_input_absorb(struct weir_perf_input *input, const struct weir_record_view *record,
                           struct weir_error *err);

#endif

/*
 * Records as text, in the form of `perf script -D`, and as JSON. Appends to a buffer; allocates; one thread. A short
 * record shows "(cut)" in place of missing fields, which are never read. Source of the form: dump_event(),
 * dump_sample() in tools/perf/util/session.c and the perf_event__fprintf_*() functions in util/event.c of perf 6.1.
 */
#ifndef WEIR_FORMAT_RECORD_TEXT_H
#define WEIR_FORMAT_RECORD_TEXT_H

#include "base/buf.h"
#include "format/perf_input.h"
#include "format/sample_text.h"
#include "format/trace_decode.h"

struct weir_record_text {
    struct weir_perf_input *input; /* borrowed */
    struct weir_sample_names names;
    size_t events;         /* events of input that sample_types includes */
    uint64_t sample_types; /* or-ed sample_type of these events: perf's columns depend on it */
    bool has_trailers;     /* the first event has sample_id_all */
};

/* Prepares the columns from input's events so far, and the names of registers. For a pipe,
 * weir_record_text_add_events() follows when there are more events. 0 or -ENOMEM. */
int weir_record_text_init(struct weir_record_text *text, struct weir_perf_input *input, struct weir_trace *trace);

/* Includes the events that a pipe has brought since. */
void weir_record_text_add_events(struct weir_record_text *text);

/* Appends a record as text: offset, size, hex dump, time stamp, PERF_RECORD_NAME and its contents. */
void weir_record_text_append(const struct weir_record_text *text, const struct weir_record_view *record,
                             struct weir_buf *out);

/* Appends a record as one JSON object, without newline. */
void weir_record_json_append(const struct weir_record_text *text, const struct weir_record_view *record,
                             struct weir_buf *out);

#endif

/*
 * Records as text, in the form of `perf script -D`, and as JSON. Appends to a buffer; allocates; one thread. Fields
 * that a short record does not have are told as "(cut)", never read. Source of the form: dump_event(), dump_sample() in
 * tools/perf/util/session.c and the perf_event__fprintf_*() functions in util/event.c of perf 6.1.
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
    size_t events;         /* of input that were looked at */
    uint64_t sample_types; /* of these, or-ed: what perf's columns depend on */
    bool has_trailers;     /* the first event has sample_id_all */
};

/* What the columns depend on, from input's events so far; of a pipe to be called again when there are more. 0 or
 * -ENOMEM. */
int weir_record_text_init(struct weir_record_text *text, struct weir_perf_input *input, struct weir_trace *trace);

/* Looks at the events that a pipe has told of since. */
void weir_record_text_add_events(struct weir_record_text *text);

/* Offset, size, hex dump, time stamp, PERF_RECORD_NAME and what it says. */
void weir_record_text_append(const struct weir_record_text *text, const struct weir_record_view *record,
                             struct weir_buf *out);

/* One JSON object, without newline. */
void weir_record_json_append(const struct weir_record_text *text, const struct weir_record_view *record,
                             struct weir_buf *out);

#endif

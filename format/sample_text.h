/* The fields of a sample as text and as JSON. Appends to a buffer; allocates; one thread. */
#ifndef WEIR_FORMAT_SAMPLE_TEXT_H
#define WEIR_FORMAT_SAMPLE_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "format/text_record.h"
#include "format/trace_decode.h"

/* How the fields are named. */
struct weir_sample_names {
    struct weir_trace *trace; /* borrowed; decodes the raw bytes of tracepoints; NULL: they stay bytes */
    bool is_x86;              /* registers have perf's names for x86; otherwise "reg" and their number */
};

/* Appends the text that follows PERF_RECORD_SAMPLE. */
void weir_sample_text_append(const struct weir_sample_names *names, const struct weir_text_record *record,
                             struct weir_buf *out);

/* Appends the fields as JSON members, each with a comma before it. */
void weir_sample_json_append(const struct weir_sample_names *names, const struct weir_text_record *record,
                             struct weir_buf *out);

/* Appends task, time and CPU as JSON members, each with a comma before it; only those that types (PERF_SAMPLE_*)
 * names. */
void weir_sample_id_json_append(const struct weir_sample_id *id, uint64_t types, struct weir_buf *out);

#endif

/*
 * Decodes tracepoints: reads the TRACING_DATA section, and turns the raw bytes of samples into text and values.
 *
 * libtraceevent parses the formats and prints samples by them. It trusts both, and crashes on some damaged formats. So
 * weir checks first, in this order: formats are bounded in size and nesting; a child process tries each format
 * (trace_formats.h); the fields and lengths of a sample are checked (trace_printable.h). A sample that fails the check
 * is shown field by field instead.
 *
 * One thread. Source: format/tracing_data.h, libtraceevent 1.7 (tep_parse_event(3), tep_print_event(3)).
 */
#ifndef WEIR_FORMAT_TRACE_DECODE_H
#define WEIR_FORMAT_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct weir_trace;

/* Reads a TRACING_DATA section, without the formats that cannot be parsed. 0 and *trace, to be freed; -EBADMSG (cut, or
 * another section: err names the offset) or -ENOMEM. Allocates, forks: the caller has one thread. */
int weir_trace_new(struct weir_trace **trace, const uint8_t *section, size_t bytes, struct weir_error *err);
void weir_trace_free(struct weir_trace *trace); /* NULL is allowed */

/* Appends the name of a tracepoint, "sched:sched_switch", by its id. False: the section does not describe it, and
 * nothing is appended. */
bool weir_trace_append_name(const struct weir_trace *trace, uint64_t id, struct weir_buf *out);

/* Appends a sample's raw bytes in the event's own print format, as one line without newline, or as "name=value ..." for
 * each field. Appends nothing if the section does not describe the event. */
void weir_trace_append_text(struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                            struct weir_buf *out);

/* Returns whether libtraceevent could parse the whole format. If not, fields may be missing: it gives up behind an
 * array of texts ("char[][2]", as uprobes have it). */
bool weir_trace_knows_all(const struct weir_trace *trace, uint64_t id);

/* Appends the fields that all tracepoints have, such as "common_type=317 common_flags=0 common_preempt_count=0
 * common_pid=42". Nothing where the section does not describe the event. */
void weir_trace_append_common(const struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                              struct weir_buf *out);

/* Appends a JSON object of the fields and their values. False: the section does not describe the event, and nothing is
 * appended. */
bool weir_trace_append_json(const struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                            struct weir_buf *out);

#endif

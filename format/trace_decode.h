/*
 * Tracepoints decoded: the TRACING_DATA section read, and the raw bytes of samples turned into words and values.
 *
 * libtraceevent parses the formats and prints what they say. It trusts both, and crashes on some formats that are
 * damaged: so a child process tries each before this one does (trace_formats.h), and it is only asked what cannot lead
 * it outside of the bytes: formats are bounded in size and nesting, the fields of a sample and what it says of lengths
 * are checked first (trace_printable.h), and where that is not possible the sample is shown field by field instead. One
 * thread. Source: format/tracing_data.h, libtraceevent 1.7 (tep_parse_event(3), tep_print_event(3)).
 */
#ifndef WEIR_FORMAT_TRACE_DECODE_H
#define WEIR_FORMAT_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct weir_trace;

/* Reads a TRACING_DATA section; a format in it that cannot be parsed is left out. 0 and *trace, to be freed; -EBADMSG
 * (cut, or no such section: err says at which of its bytes) or -ENOMEM. Allocates, forks: the caller has one thread. */
int weir_trace_new(struct weir_trace **trace, const uint8_t *section, size_t bytes, struct weir_error *err);
void weir_trace_free(struct weir_trace *trace); /* NULL is allowed */

/* Appends "sched:sched_switch" for a tracepoint's id. False, and nothing: the section does not describe it. */
bool weir_trace_append_name(const struct weir_trace *trace, uint64_t id, struct weir_buf *out);

/* Appends what the event's own print format makes of a sample's raw bytes, in one line without newline, or
 * "name=value ..." for each field. Nothing: it is not described. */
void weir_trace_append_text(struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                            struct weir_buf *out);

/* Whether libtraceevent could parse all of its format. Else fields may be missing: behind an array of texts
 * ("char[][2]", as uprobes have it) it gives up. */
bool weir_trace_knows_all(const struct weir_trace *trace, uint64_t id);

/* Appends a JSON object of the fields and their values. False, and nothing: it is not described. */
bool weir_trace_append_json(const struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                            struct weir_buf *out);

#endif

/*
 * The TRACING_DATA feature, which consumers need to decode raw tracepoint samples. Layout version 0.6 of
 * tools/perf/util/trace-event-info.c: header_page, header_event, ftrace formats, event formats, kallsyms, printk
 * formats, saved cmdlines.
 */
#ifndef WEIR_FORMAT_TRACING_DATA_H
#define WEIR_FORMAT_TRACING_DATA_H

#include "base/buf.h"
#include "base/error.h"
#include "format/event_desc.h"

/*
 * Appends the section for the tracepoints among events. root: see weir_tracefs_find(). Other events are skipped; each
 * tracepoint is described once. 0, -ENOMEM, or the errno of a required file (err names it).
 */
int weir_tracing_data_build(struct weir_buf *out, const char *root, const struct weir_event_desc *events,
                            size_t event_count, struct weir_error *err);

#endif

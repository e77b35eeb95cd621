/* Reads the TRACING_DATA of a recording and names its tracepoints. One thread; allocates. */
#ifndef WEIR_FORMAT_PERF_INPUT_TRACE_H
#define WEIR_FORMAT_PERF_INPUT_TRACE_H

#include "format/perf_input.h"
#include "format/trace_decode.h"

/*
 * Reads the TRACING_DATA that input has so far into *trace (to be freed), and names the tracepoints that EVENT_DESC has
 * not named. 1; 0: no TRACING_DATA, *trace is NULL; or -errno with err as weir_trace_new().
 */
int weir_perf_input_trace(struct weir_perf_input *input, struct weir_trace **trace, struct weir_error *err);

/* Names the tracepoints among the events from index `first` on, which a pipe has brought later. 0 or -ENOMEM. */
int weir_perf_input_name_tracepoints(struct weir_perf_input *input, const struct weir_trace *trace, size_t first);

#endif

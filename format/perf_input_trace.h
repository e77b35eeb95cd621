/* The tracepoints of a recording: its TRACING_DATA read, its events named by it. One thread; allocates. */
#ifndef WEIR_FORMAT_PERF_INPUT_TRACE_H
#define WEIR_FORMAT_PERF_INPUT_TRACE_H

#include "format/perf_input.h"
#include "format/trace_decode.h"

/*
 * Reads the TRACING_DATA that input has so far into *trace (to be freed), and gives tracepoints that no EVENT_DESC has
 * named their names. 1; 0: there is none, *trace is NULL; or -errno with err as weir_trace_new().
 */
int weir_perf_input_trace(struct weir_perf_input *input, struct weir_trace **trace, struct weir_error *err);

/* The same names for the events from number `first` on, which came later. 0 or -ENOMEM. */
int weir_perf_input_name_tracepoints(struct weir_perf_input *input, const struct weir_trace *trace, size_t first);

#endif

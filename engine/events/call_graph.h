/*
 * How call chains are made: the argument of --call-graph, of the configuration's record.call-graph and of the term
 * call-graph=. Any thread; no allocation.
 *
 * Grammar: fp[,FRAMES] | fp,defer | dwarf[,BYTES] | dwarf,unwind[,stack=BYTES] | lbr, in lower case; numbers are
 * decimal, or hexadecimal with 0x. unwind is weir's own word.
 * Source: perf-record(1) on --call-graph. Each text but fp,defer (perf 6.19) was tried with perf 6.1.
 */
#ifndef WEIR_ENGINE_EVENTS_CALL_GRAPH_H
#define WEIR_ENGINE_EVENTS_CALL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum weir_call_graph {
    WEIR_CALL_GRAPH_NONE,
    WEIR_CALL_GRAPH_FP,    /* by the kernel, along frame pointers */
    WEIR_CALL_GRAPH_DWARF, /* by the consumer, from registers and a copy of the user stack */
    WEIR_CALL_GRAPH_LBR,   /* by the CPU's record of the last branches */
};

#define WEIR_STACK_BYTES_DEFAULT 8192u
#define WEIR_STACK_BYTES_MAX     65528u /* a multiple of 8 below 64 KiB: attr.sample_stack_user, perf_event_open(2) */

struct weir_call_graph_request {
    enum weir_call_graph mode;
    uint32_t stack_bytes; /* DWARF: size of each copy of the user stack, a multiple of 8; else 0 */
    uint32_t max_stack;   /* FP: frames at most; 0: kernel.perf_event_max_stack */
    bool defers;          /* FP: the kernel makes the user part when the task returns to user space (Linux 6.19) */
    bool unwinds;         /* DWARF: weir makes call chains of the copies before they go to the file */
};

/*
 * Parses the text. A stack size is rounded up to a multiple of 8; 0 and more than WEIR_STACK_BYTES_MAX are refused.
 * Frames must be below 65536. 0; or -EINVAL with err (the hint has the valid values), and *request is unchanged.
 */
int weir_call_graph_parse(const char *text, struct weir_call_graph_request *request, struct weir_error *err);

#endif

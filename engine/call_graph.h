/* How call chains are made. Constant data. Source: perf-record(1), --call-graph. */
#ifndef WEIR_ENGINE_CALL_GRAPH_H
#define WEIR_ENGINE_CALL_GRAPH_H

enum weir_call_graph {
    WEIR_CALL_GRAPH_NONE,
    WEIR_CALL_GRAPH_FP,    /* by the kernel, along frame pointers */
    WEIR_CALL_GRAPH_DWARF, /* by the reader, from registers and a copy of the user stack */
    WEIR_CALL_GRAPH_LBR,   /* by the CPU's record of the last branches */
};

#endif

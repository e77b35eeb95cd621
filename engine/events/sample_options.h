/*
 * The options of perf record on what samples hold and which side records are taken, the same for all events of a
 * recording. Plain values, constant once filled.
 */
#ifndef WEIR_ENGINE_EVENTS_SAMPLE_OPTIONS_H
#define WEIR_ENGINE_EVENTS_SAMPLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/notice.h"
#include "engine/events/call_graph.h"
#include "engine/events/sample_clock.h"

enum weir_choice {
    WEIR_CHOICE_NONE, /* neither was given */
    WEIR_CHOICE_YES,
    WEIR_CHOICE_NO,
};

/* --aggregate: equal samples become one (engine/drain/aggregate.h). */
struct weir_aggregate_options {
    uint64_t interval_ns; /* 0: samples stay apart */
    bool by_process;      /* samples of the threads of a process are equal, too */
};

struct weir_sample_options {
    struct weir_call_graph_request call_graph; /* --call-graph, -g */
    bool kernel_callchains;                    /* the kernel's part of call chains only */
    bool user_callchains;                      /* the user's part only */

    bool addresses;             /* -d: data address and source; and maps without code, unless data_maps says NO */
    bool data_sources;          /* --sample-mem-info: the source alone */
    enum weir_choice data_maps; /* --data-mmap, --no-data-mmap; NONE: with addresses and copies of stacks */
    bool physical_addresses;    /* --phys-data */
    bool data_page_size;
    bool code_page_size;
    bool identifiers; /* ids in samples, also where there is one event only */
    bool raw;         /* -R */
    bool weight;      /* -W */
    struct weir_aggregate_options aggregate;
    bool transaction;
    bool running_time;              /* counts in samples (:S) come with the times that counters ran */
    bool no_samples;                /* -n: count, do not sample */
    enum weir_choice period;        /* -P, --no-period; NONE: where the period varies */
    uint64_t branch_filter;         /* -b, -j: PERF_SAMPLE_BRANCH_*; 0: no branches */
    uint64_t intr_regs;             /* -I: bits of engine/events/registers.h; 0: none */
    uint64_t user_regs;             /* --user-regs; 0: none */
    bool intr_regs_all;             /* -I without a list: also the registers that only some CPUs can sample */
    bool user_regs_all;             /* --user-regs without a list: also the registers that only some CPUs can sample */
    uint64_t user_regs_extended;    /* the ones among them that this machine has; set by the engine, not by the user */
    struct weir_sample_clock clock; /* -k */
    bool no_buffering;              /* the kernel wakes the reader for each record */

    bool switch_events; /* context switches */
    bool namespaces;
    bool cgroups; /* --all-cgroups */
    bool no_bpf_events;
};

#endif

/*
 * What samples hold and which further records are taken, for all events of a recording alike: perf record's options for
 * it, in plain values. Constant once filled; no functions but one.
 */
#ifndef WEIR_ENGINE_EVENTS_SAMPLE_OPTIONS_H
#define WEIR_ENGINE_EVENTS_SAMPLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/notice.h"
#include "engine/events/call_graph.h"
#include "engine/events/sample_clock.h"

enum weir_choice {
    WEIR_CHOICE_NONE, /* nothing was said */
    WEIR_CHOICE_YES,
    WEIR_CHOICE_NO,
};

struct weir_sample_options {
    struct weir_call_graph_request call_graph; /* --call-graph, -g */
    bool kernel_callchains;                    /* the kernel's part of call chains only */
    bool user_callchains;                      /* the user's part only */

    bool addresses;          /* -d: data address and source; and maps that hold no code */
    bool physical_addresses; /* --phys-data */
    bool data_page_size;
    bool code_page_size;
    bool identifiers; /* also where there is one event only */
    bool raw;         /* -R */
    bool weight;      /* -W */
    bool transaction;
    bool running_time;              /* with what is read with samples, the times that counters ran */
    bool no_samples;                /* -n: count, do not sample */
    enum weir_choice period;        /* -P, --no-period; nothing said: where it varies */
    uint64_t branch_filter;         /* -b, -j: PERF_SAMPLE_BRANCH_*; 0: no branches */
    uint64_t intr_regs;             /* -I: bits of engine/events/registers.h; 0: none */
    uint64_t user_regs;             /* --user-regs; 0: none */
    bool intr_regs_all;             /* -I without a list: also those registers that only some CPUs can sample */
    bool user_regs_all;             /* --user-regs without a list: likewise */
    uint64_t user_regs_extended;    /* of these, what this machine has: set with the events, not by the user */
    struct weir_sample_clock clock; /* -k */
    bool no_buffering;              /* wake up for each record */

    bool switch_events; /* context switches */
    bool namespaces;
    bool cgroups; /* --all-cgroups */
    bool no_bpf_events;
};

#endif

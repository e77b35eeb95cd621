/*
 * How a recording uses AUX areas: what the user asks for, what else is known of the recording, and the plan that
 * weir_aux_events_prepare() makes of these. Plain values.
 */
#ifndef WEIR_ENGINE_AUX_AUX_PLAN_H
#define WEIR_ENGINE_AUX_AUX_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/notice.h"
#include "engine/events/event_list.h"
#include "engine/kernel/kernel_limits.h"

#define WEIR_AUX_SAMPLE_BYTES_MAX \
    (60u * 1024) /* records have 16 bits for their size, and the rest of a sample has to fit */

enum weir_aux_mode {
    WEIR_AUX_NONE,
    WEIR_AUX_FULL,     /* all that the PMU writes goes to the file */
    WEIR_AUX_SNAPSHOT, /* -S: the kernel keeps the newest, and a trigger takes it */
    WEIR_AUX_SAMPLE,   /* --aux-sample: samples hold what was newest when they were taken */
};

/* What the user wants: plain values. */
struct weir_aux_options {
    bool snapshot;           /* -S */
    bool snapshot_on_exit;   /* -Se; with snapshot */
    uint64_t snapshot_bytes; /* -SSIZE; 0: all of the area */
    bool sample;             /* --aux-sample: all events that an AUX event leads, unless their terms say otherwise */
    uint32_t sample_bytes;   /* --aux-sample=SIZE; 0: 4 KiB */
    uint64_t area_bytes;     /* -m ,AUX: a power of two, whole pages; 0: chosen */
};

/* What else is known of the recording. */
struct weir_aux_setting {
    const struct weir_kernel_limits *limits;
    const struct weir_cpuset *cpus;         /* that are recorded; with per_thread: those that are online */
    bool per_thread;                        /* a ring for each task */
    bool system_wide;                       /* all tasks of the CPUs */
    bool command_only;                      /* neither CPUs nor tasks were named: a fresh workload */
    bool clock_given;                       /* -k */
    bool no_switch_events;                  /* --no-switch-events, explicitly */
    bool ring_bytes_given;                  /* -m */
    const struct weir_notice_sink *notices; /* NULL: nobody listens */
    const char *sysfs_root;                 /* NULL: /sys */
};

/* Which context switches a decoder needs to know whose trace it is. */
enum weir_aux_switches {
    WEIR_AUX_SWITCHES_AS_ASKED, /* none: as the user has it */
    WEIR_AUX_SWITCHES_RECORDED, /* of what is recorded */
    WEIR_AUX_SWITCHES_ALL,      /* of all tasks on the CPUs, although only some are recorded */
};

struct weir_aux_plan {
    enum weir_aux_kind kind; /* NONE: there is no AUX event, mode is NONE, and nothing else counts */
    enum weir_aux_mode mode;
    size_t event;            /* the AUX event's index in the list */
    uint64_t area_bytes;     /* of each area; a power of two, whole pages */
    uint64_t snapshot_bytes; /* SNAPSHOT: of each area at most so much is taken; <= area_bytes */
    unsigned alignment;      /* of what is taken from an area, from its beginning: 24 for intel_bts, else 1 */
    bool snapshot_on_exit;
    /* Data rings should have no more than this: the area counts against the same limit (kernel.perf_event_mlock_kb) as
     * they do. 0: as they are. */
    uint64_t data_ring_bytes_wanted;
    enum weir_aux_switches switches;
    bool text_pokes; /* changes of the kernel's code are needed to decode */
};

#endif

/*
 * How a recording uses AUX areas: the user's options, other facts of the recording, and the plan that
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
    WEIR_AUX_FULL,     /* all bytes of the PMU go to the file */
    WEIR_AUX_SNAPSHOT, /* -S: the kernel keeps the newest, and a trigger takes it */
    WEIR_AUX_SAMPLE,   /* --aux-sample: samples hold the newest bytes at their moment */
};

/* The user's options. */
struct weir_aux_options {
    bool snapshot;           /* -S */
    bool snapshot_on_exit;   /* -Se; with snapshot */
    uint64_t snapshot_bytes; /* -SSIZE; 0: all of the area */
    bool sample;             /* --aux-sample: all events that an AUX event leads, unless their terms say otherwise */
    uint32_t sample_bytes;   /* --aux-sample=SIZE; 0: 4 KiB */
    uint64_t area_bytes;     /* -m ,AUX: a power of two, whole pages; 0: chosen */
};

/* Other facts of the recording. */
struct weir_aux_setting {
    const struct weir_kernel_limits *limits;
    const struct weir_cpuset *cpus;         /* the recorded CPUs; with per_thread the online ones */
    bool per_thread;                        /* a ring for each task */
    bool system_wide;                       /* all tasks of the CPUs */
    bool command_only;                      /* neither CPUs nor tasks were named: a fresh workload */
    bool clock_given;                       /* -k */
    bool no_switch_events;                  /* --no-switch-events, explicitly */
    bool ring_bytes_given;                  /* -m */
    const struct weir_notice_sink *notices; /* NULL: nobody listens */
    const char *sysfs_root;                 /* NULL: /sys */
};

/* The context switches by which a decoder knows the task of a trace. */
enum weir_aux_switches {
    WEIR_AUX_SWITCHES_AS_ASKED, /* it needs none: as the user asks */
    WEIR_AUX_SWITCHES_RECORDED, /* of the recorded tasks */
    WEIR_AUX_SWITCHES_ALL,      /* of all tasks on the CPUs, although only some are recorded */
};

struct weir_aux_plan {
    enum weir_aux_kind kind; /* NONE: there is no AUX event, mode is NONE, and nothing else counts */
    enum weir_aux_mode mode;
    size_t event;            /* the AUX event's index in the list */
    uint64_t area_bytes;     /* of each area; a power of two, whole pages */
    uint64_t snapshot_bytes; /* SNAPSHOT: taken of each area, at most; <= area_bytes */
    unsigned alignment;      /* of a snapshot, counted from the beginning of the area: 24 for intel_bts, else 1 */
    bool snapshot_on_exit;
    /* Largest size of the data rings, which count against the same limit (kernel.perf_event_mlock_kb) as the area. 0:
     * any size. */
    uint64_t data_ring_bytes_wanted;
    enum weir_aux_switches switches;
    bool text_pokes; /* a decoder needs the changes of the kernel's code */
};

#endif

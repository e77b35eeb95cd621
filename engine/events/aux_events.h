/*
 * Events whose trace goes to an AUX area beside their ring: Intel PT and BTS, Arm SPE, CoreSight. Which event that is,
 * how large its area, what its attr asks for, and what a decoder has to be told (the AUXTRACE_INFO record). Main
 * thread, set-up; reads sysfs and may allocate.
 *
 * Follows auxtrace_parse_sample_options() and auxtrace_regroup_aux_output() of tools/perf/util/auxtrace.c, and
 * *_recording_options() and *_info_fill() of tools/perf/arch/x86/util/intel-pt.c and intel-bts.c,
 * arch/arm64/util/arm-spe.c and arch/arm/util/cs-etm.c, Linux 6.1, line by line. No machine of ours has such a PMU:
 * where Intel's are played (scripts/guest), what perf opens and tells decoders was compared (tests/parity/cases/aux);
 * of Arm's nothing was. What differs: docs/compatibility.md.
 */
#ifndef WEIR_ENGINE_EVENTS_AUX_EVENTS_H
#define WEIR_ENGINE_EVENTS_AUX_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/events/event_config.h"
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

/* What can be told before anything is opened or read: 0, or -EINVAL with err where options or terms need an AUX event
 * and there is none, or where there are two. Allocates nothing. */
int weir_aux_events_check(const struct weir_event_list *list, const struct weir_aux_options *options,
                          struct weir_error *err);

/*
 * Finds the AUX event and makes the list one that records it: moves it and its group to the front, puts events that
 * want something of its area (aux-sample-size, aux-output) into its group, completes its config, and fills in what
 * weir_event_list_configure() gives the attrs. Before side events are added. Without an AUX event the plan says so, and
 * the list stays as it is.
 *
 * 0; -EINVAL with err: options or terms that need an AUX event, or that this one cannot do; two AUX events; -ENODEV:
 * its PMU has gone since the list was parsed; -ENOMEM.
 */
int weir_aux_events_prepare(struct weir_event_list *list, const struct weir_aux_options *options,
                            const struct weir_aux_setting *setting, struct weir_aux_plan *plan, struct weir_error *err);

/* Adds to the config what the plan needs of side records. After weir_aux_events_prepare(), before the side events are
 * added: where config->text_pokes or config->all_switches is set then, and not all tasks are recorded,
 * weir_event_list_add_text_pokes() is to follow weir_event_list_add_sideband(). */
void weir_aux_plan_apply(const struct weir_aux_plan *plan, struct weir_event_config *config);

/* What is known once the areas are mapped. */
struct weir_aux_facts {
    /* Of the struct perf_event_mmap_page of the first ring. */
    uint16_t time_shift;
    uint32_t time_mult;
    uint64_t time_zero;
    bool cap_user_time_zero;

    bool per_thread, system_wide; /* as in the setting; cpus too */
    const struct weir_cpuset *cpus;
    const char *sysfs_root; /* NULL: /sys */
};

#define WEIR_AUX_WORDS_OF_CPU 11 /* of AUXTRACE_INFO, at most, for each CPU */

/* Room that weir_aux_events_describe() needs at most, in words. cpus: how many. */
size_t weir_aux_words_max(const struct weir_event_list *list, unsigned cpus);

/*
 * Fills in what AUXTRACE_INFO holds for the plan's kind: type (PERF_AUXTRACE_*) and the private words. *count: in, the
 * room of words; out, how many there are. 0; -ENOSPC: no room; -ENODEV: the PMU has gone; -ENOMEM.
 */
int weir_aux_events_describe(const struct weir_aux_plan *plan, const struct weir_event_list *list,
                             const struct weir_aux_facts *facts, uint32_t *type, uint64_t *words, size_t *count);

/* The list's first AUX event; NULL: there is none. Borrowed until the list changes. */
const struct weir_event *weir_aux_events_find(const struct weir_event_list *list);

/* The kind of the events of the PMU of that name; NONE: they have no AUX area. */
enum weir_aux_kind weir_aux_kind_of(const char *pmu_name);

/* As in -e: "intel_pt". */
const char *weir_aux_kind_name(enum weir_aux_kind kind);

#endif

/*
 * Keeps the AUX areas of a recording: maps them, enables their event or holds it still, and adds up their byte counts.
 * Readers drain the areas.
 *
 * The kernel disables an event whose area is full, and never enables the event again by itself
 * (perf_aux_output_begin(), kernel/events/ring_buffer.c). perf enables the event after each read. In weir a reader asks
 * the coordinator to enable the event, because the coordinator knows whether the event is to be on. So no request
 * undoes a disable, the end of recording or a snapshot that comes at the same time.
 *
 * One enable is not enough. The kernel tells that the area is full first, and disables the event a moment later, from
 * an interrupt (event->pending_disable, kernel/events/core.c). An enable in between finds the event on, and the
 * interrupt then disables it. That moment lasts as long as the CPU is not run: milliseconds in a virtual machine. So
 * the keeper enables the event six more times, 1 ms to 1.4 s later. To enable an enabled event costs a system call, and
 * nothing else.
 *
 * An enable does not help where the kernel forgets to disable the event, as Linux 6.1 does on CPU 0. Since ca6c21327c6a
 * pending_disable is yes or no, but ring_buffer.c still stores the number of the CPU there. The PMU has stopped, and
 * the event stays on for good. A context switch would start the PMU again, but only an event of a task sees context
 * switches. So each time the keeper also disables and enables an event whose area has got nothing since the previous
 * time. An event that runs, but writes less than a wakeup's worth in that time, is interrupted for that moment.
 *
 * The coordinator calls all functions and alone writes the struct, and the fields of weir_aux_drain that say so.
 */
#ifndef WEIR_ENGINE_AUX_AUX_KEEPER_H
#define WEIR_ENGINE_AUX_AUX_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "engine/aux/aux_plan.h"
#include "engine/aux/aux_sum.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/kernel/poll_set.h"

/* All pointers are borrowed until fini(). */
struct weir_aux_keeper_setup {
    const struct weir_aux_plan *plan; /* mode NONE: no event has an AUX area, and no function does anything */
    struct weir_event_set *events;    /* open; plan->event is an index of it */
    struct weir_pipeline *pipeline;
    const struct weir_clock *clock; /* monotonic */
    const struct weir_cpuset *cpus; /* recorded from the start */
    bool per_thread;                /* rings of tasks, not of CPUs */
    bool system_wide;               /* all tasks of the CPUs are recorded */
    const char *sysfs_root;         /* NULL: /sys */
};

struct weir_aux_keeper {
    struct weir_aux_keeper_setup setup; /* by init() */
    struct weir_poll_set *sources;      /* borrowed until fini(), by watch(); NULL: none */
    bool on;                            /* the AUX event is to be on; while paused, afterwards */
    bool paused;                        /* the AUX event is off for a snapshot */
    int timer_fd;                       /* owned timerfd: when events are enabled once more; -1: closed */
    uint64_t now_ns, next_ns;           /* while they are: the time, and when the timer is to expire next; 0: never */
};

#define WEIR_AUX_KEEPER_INIT \
    {                        \
        .timer_fd = -1       \
    }

/* Names what the keeper works on. keeper is WEIR_AUX_KEEPER_INIT, or was given an earlier setup that no longer holds.
 */
void weir_aux_keeper_init(struct weir_aux_keeper *keeper, const struct weir_aux_keeper_setup *setup);

/* Maps the AUX area of a place, beside the data ring, which is mapped already. Does nothing if the event is not open
 * there or the area is mapped already. 0 or -errno as weir_event_set_map_aux(). Allocates nothing. */
int weir_aux_keeper_map(const struct weir_aux_keeper *keeper, unsigned place, struct weir_reader_ring *r);

/*
 * Has the coordinator's loop enable events whose area was full, where the plan's mode is FULL. While the pipeline runs.
 * 0 or -errno.
 */
int weir_aux_keeper_watch(struct weir_aux_keeper *keeper, struct weir_poll_set *sources);

/* The AUX event was enabled or disabled, alone or with all others: requests of readers keep to that. While paused, an
 * event that was enabled is held still again. */
void weir_aux_keeper_set_on(struct weir_aux_keeper *keeper, bool on);

/* Holds the AUX event still for a snapshot of its areas, or lets the event go on. In mode SNAPSHOT only. Disabling
 * waits for the CPU that runs the event: then all that the PMU wrote is whole. */
void weir_aux_keeper_pause(struct weir_aux_keeper *keeper, bool paused);

/*
 * Appends AUXTRACE_INFO, if there are AUX areas. Once rings are mapped. perf takes an AUXTRACE record only behind this
 * record (perf_event__process_auxtrace()). 0, -ENOMEM or -ENODEV. Allocates.
 */
int weir_aux_keeper_append_info(const struct weir_aux_keeper *keeper, struct weir_buf *out);

/* Adds the AUX byte counts to the result. Readers and writer have ended. */
void weir_aux_keeper_sum(const struct weir_aux_keeper *keeper, struct weir_aux_sum *sum);

/* Takes its timer out of the loop and closes it. Before the poll set ends. In any state; idempotent. */
void weir_aux_keeper_fini(struct weir_aux_keeper *keeper);

#endif

/*
 * The plan of a recording: what follows from the options and the machine's facts before anything is opened. Making it
 * asks the kernel nothing, so `--dry-run` is "make the plan, tell it".
 *
 * Two numbers are known later, and the coordinator fits the plan to them before events stay open: how many tasks
 * --per-thread attaches to, and how large the rings are that the mlock limit takes. From then on the plan is const, and
 * any thread may read it.
 */
#ifndef WEIR_ENGINE_SESSION_RECORDING_PLAN_H
#define WEIR_ENGINE_SESSION_RECORDING_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "engine/aux/aux_events.h"
#include "engine/events/event_list.h"
#include "engine/modes/modes.h"
#include "engine/session/machine_facts.h"
#include "engine/session/record_options.h"
#include "topology/plan.h"

struct weir_recording_plan {
    const struct weir_record_options *options; /* borrowed */
    const struct weir_machine_facts *machine;  /* borrowed */
    struct weir_cpuset cpus;                   /* owned; recorded from the start */
    struct weir_plan placement;                /* owned; which reader drains which CPUs, and where it runs */
    struct weir_cpuset housekeeping_cpus;      /* owned; where threads run that are no readers; empty: anywhere */
    struct weir_event_config config;           /* what is asked of each event */
    struct weir_aux_plan aux;                  /* mode NONE: no event has an AUX area */
    struct weir_modes modes;                   /* of the options, with what events and targets say */
    bool grow_pool; /* no size was named: the pool makes what a stalled disk needs ready only when the disk stalls */
    size_t tasks;   /* --per-thread: how many have rings; 0: not listed yet */
    uint64_t ring_bytes;          /* data area of each data ring */
    uint64_t sideband_ring_bytes; /* the same of each sideband ring */
    uint64_t buffer_bytes;        /* chunk pool */
    uint64_t retained_bytes;      /* -M: samples stay in so much memory; 0: none do */
};

/*
 * Makes the plan for options->events, which get the side events that they need. without_ids: the file that is continued
 * is of one event whose records carry no ids (NULL: no file is continued). Notices tell what is recorded otherwise than
 * asked. 0; -ENOMEM; -EINVAL, -ENODEV, -ENAMETOOLONG with err: the options do not fit the machine. *plan is all zeros
 * before; release it with fini() in any case. Allocates.
 */
int weir_recording_plan_make(struct weir_recording_plan *plan, const struct weir_record_options *options,
                             const struct weir_machine_facts *machine, const bool *without_ids, struct weir_error *err);

/* --per-thread: fits placement and sizes to so many tasks. 0, or -EINVAL with err: no memory for what is to be kept. */
int weir_recording_plan_fit_tasks(struct weir_recording_plan *plan, size_t tasks, struct weir_error *err);

/* Halves the rings, and AUX areas of no named size. False: the user named a size, or a page is all that is left. */
bool weir_recording_plan_shrink_rings(struct weir_recording_plan *plan);

/* NULL-safe, in any state. */
void weir_recording_plan_fini(struct weir_recording_plan *plan);

/* Whether -a, or -C without tasks, has all tasks of the CPUs recorded. */
bool weir_recording_plan_is_system_wide(const struct weir_record_options *options);

/* Whether rings are for tasks instead of CPUs. */
static inline bool weir_recording_plan_per_thread(const struct weir_recording_plan *plan)
{
    return weir_modes_have(&plan->modes, WEIR_MODE_PER_THREAD);
}

/* Whether tasks are named to be recorded (-p, -t, -u). */
bool weir_recording_plan_has_tasks(const struct weir_record_options *options);

/* How many places may have rings: CPUs with those that may come, or with --per-thread, once they are listed, tasks. */
uint64_t weir_recording_plan_places(const struct weir_recording_plan *plan);

/* Threads that compress; 0 without -z. */
unsigned weir_recording_plan_compression_threads(const struct weir_recording_plan *plan);

/* Descriptors that a recording of so many tasks (0: all tasks, or none are listed yet) may come to need. */
uint64_t weir_recording_plan_fds_needed(const struct weir_recording_plan *plan, size_t tasks);

/* Tells the plan in verbose notices, and what the recording takes of memory and descriptors. tasks: how many are named
 * now. 0, or -ENOMEM with err: more than the memory cgroup allows. */
int weir_recording_plan_tell(const struct weir_recording_plan *plan, size_t tasks, struct weir_error *err);

#endif

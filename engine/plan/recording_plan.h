/*
 * The plan of a recording: all that follows from the options and the facts of the machine, before weir opens anything.
 * Making the plan asks the kernel nothing, so `--dry-run` makes the plan and tells it.
 *
 * Two numbers are known only later: the number of tasks that --per-thread attaches to, and the ring size that the mlock
 * limit allows. The coordinator fits the plan to these numbers before events stay open. From then on the plan is const,
 * and any thread may read it.
 */
#ifndef WEIR_ENGINE_PLAN_RECORDING_PLAN_H
#define WEIR_ENGINE_PLAN_RECORDING_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "engine/aux/aux_events.h"
#include "engine/drain/chunk_stage.h"
#include "engine/events/event_list.h"
#include "engine/events/targets.h"
#include "engine/modes/modes.h"
#include "engine/plan/machine_facts.h"
#include "engine/plan/record_options.h"
#include "topology/plan.h"

struct weir_recording_plan {
    const struct weir_record_options *options; /* borrowed */
    const struct weir_machine_facts *machine;  /* borrowed */
    struct weir_cpuset cpus;                   /* owned; CPUs that are recorded from the start */
    struct weir_cpuset side_cpus;              /* owned; other CPUs that are online: side records only (-C) */
    struct weir_plan placement;                /* owned; which reader drains which CPUs, and where it runs */
    struct weir_cpuset housekeeping_cpus;      /* owned; CPUs of the threads that are no readers; empty: any CPU */
    struct weir_event_config config;           /* settings of the events */
    struct weir_aux_plan aux;                  /* mode NONE: no event has an AUX area */
    struct weir_modes modes;                   /* modes of options, events and targets */
    const struct weir_unwind_machine *unwinds; /* borrowed: whose stacks are unwound; NULL: nothing is unwound */
    bool grow_pool;                            /* the user named no size: the pool grows only when the disk stalls */
    size_t tasks;                              /* --per-thread: number of tasks with rings; 0: not listed yet */
    uint64_t ring_bytes;                       /* data area of each data ring */
    uint64_t sideband_ring_bytes;              /* data area of each sideband ring */
    uint64_t side_only_ring_bytes;             /* data area of the sideband ring at a place without samples */
    uint64_t buffer_bytes;                     /* chunk pool */
    uint64_t retained_bytes;                   /* -M: memory for samples; 0: without -M */
};

/*
 * Makes the plan for options->events, and adds the side events that these events need. Notices say where the plan
 * differs from the request.
 *
 * without_ids: whether the continued file has one event whose records carry no ids; NULL: no file is continued. *plan
 * is all zeros before the call. The caller calls weir_recording_plan_fini() in any case.
 *
 * Returns 0; -ENOMEM; or -EINVAL, -ENODEV, -ENAMETOOLONG with err when the options do not fit the machine. Allocates.
 */
int weir_recording_plan_make(struct weir_recording_plan *plan, const struct weir_record_options *options,
                             const struct weir_machine_facts *machine, const bool *without_ids, struct weir_error *err);

/* --per-thread: fits placement and sizes to so many tasks. Returns 0; or -EINVAL with err when memory cannot hold the
 * samples or AUX snapshots that the options keep. */
int weir_recording_plan_fit_tasks(struct weir_recording_plan *plan, size_t tasks, struct weir_error *err);

/* Halves the rings, and AUX areas whose size the user did not name. False: the user named the size of rings, or a ring
 * is one page. */
bool weir_recording_plan_shrink_rings(struct weir_recording_plan *plan);

/* Releases the plan in any state; NULL-safe. */
void weir_recording_plan_fini(struct weir_recording_plan *plan);

/* Whether the recording covers all tasks of its CPUs: with -a, or with -C and no named tasks. */
bool weir_recording_plan_is_system_wide(const struct weir_record_targets *targets);

/* Whether rings belong to tasks instead of CPUs. */
static inline bool weir_recording_plan_per_thread(const struct weir_recording_plan *plan)
{
    return weir_modes_have(&plan->modes, WEIR_MODE_PER_THREAD);
}

/* Whether the options name tasks (-p, -t, -u). */
bool weir_recording_plan_has_tasks(const struct weir_record_targets *targets);

/* Returns the number of places that may have data rings: CPUs, with late ones; or with --per-thread tasks, once they
 * are listed. */
uint64_t weir_recording_plan_places(const struct weir_recording_plan *plan);

/* Returns the number of CPUs with side events only, with late ones. */
uint64_t weir_recording_plan_side_only_cpus(const struct weir_recording_plan *plan);

struct weir_stage_steps;

/* Returns the setup of the stage in front of the writer, which borrows the steps' data. Zeros: the recording has no
 * stage. steps NULL: the setup serves to tell the memory of a stage, not to make one. */
struct weir_chunk_stage_setup weir_recording_plan_stage(const struct weir_recording_plan *plan,
                                                        const struct weir_stage_steps *steps);

/* Returns the limit for the unwind tables of all workers of the stage; 0: nothing is unwound. */
uint64_t weir_recording_plan_tables_bytes(const struct weir_recording_plan *plan);

/* Returns the number of descriptors that a recording of these targets may need. targets all zeros: not listed yet, or
 * the workload. */
uint64_t weir_recording_plan_fds_needed(const struct weir_recording_plan *plan, const struct weir_targets *targets);

/* Tells the plan in verbose notices, with the memory and descriptors that the recording needs. targets: as they are
 * now; all zeros as above. Returns 0; or -ENOMEM with err when the memory cgroup allows less. */
int weir_recording_plan_tell(const struct weir_recording_plan *plan, const struct weir_targets *targets,
                             struct weir_error *err);

#endif

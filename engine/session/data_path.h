/*
 * Opens events and connects them to a pipeline with mapped rings, for recordings and for simulated runs. Owns the event
 * set, the pipeline that drains it, and the keeper of AUX areas.
 *
 *     init ──► open_events ──► make_pipeline ──► map_rings ──► (pipeline start ... stop) ──► close
 *                  ▲                                 │ -EPERM: with smaller rings, after close_events()
 *                  └─────────────────────────────────┘
 *
 * The coordinator calls all functions.
 */
#ifndef WEIR_ENGINE_SESSION_DATA_PATH_H
#define WEIR_ENGINE_SESSION_DATA_PATH_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/aux/aux_keeper.h"
#include "engine/drain/pipeline.h"
#include "engine/drain/shed.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/kernel/kernel.h"
#include "engine/plan/recording_plan.h"

struct weir_data_path_setup { /* all pointers are borrowed until close() */
    const struct weir_recording_plan *plan;
    const struct weir_kernel *kernel;
    const struct weir_clock *clock; /* monotonic */
    const struct weir_targets *targets;
    struct weir_off_cpu *off_cpu;            /* loaded; NULL: without --off-cpu */
    struct weir_unwind_source unwind_source; /* used where the plan unwinds */
    bool pins_readers; /* the CPUs of the plan exist on this machine, so readers are pinned to them */
    /* Called while a thread waits for an output that another process may hold up (weir_pipeline_setup). */
    void (*while_waiting)(void *ctx);
    void *waiting_ctx;
};

struct weir_data_path {
    struct weir_data_path_setup setup;
    struct weir_event_set events;
    struct weir_shed_plan shed;      /* borrowed by the pipeline */
    struct weir_aggregate aggregate; /* likewise, with --aggregate; else zeros */
    struct weir_join_step join;      /* likewise, with deferred call chains; else zeros */
    struct weir_unwind_step unwind;  /* likewise, where the plan unwinds; else zeros */
    struct weir_pipeline pipeline;
    struct weir_aux_keeper aux;
    bool has_pipeline; /* `pipeline` is initialized */
};

/* Opens nothing yet. The data path must stay where it is. */
void weir_data_path_init(struct weir_data_path *path, const struct weir_data_path_setup *setup);

/* Opens options->events on the CPUs and targets of the plan. 0 or -errno with err. */
int weir_data_path_open_events(struct weir_data_path *path, struct weir_error *err);

/* Makes the pipeline for the open events. 0 or -errno with err. */
int weir_data_path_make_pipeline(struct weir_data_path *path, struct weir_error *err);

/* Maps the rings of all places into the pipeline, except late places. 0, or -errno with err. -EPERM: the rings exceed
 * the limit of locked memory, and smaller rings may fit. */
int weir_data_path_map_rings(struct weir_data_path *path, struct weir_error *err);

/* Maps both rings of a late place whose CPU has come, where they are not mapped yet. 0 or -errno with err. */
int weir_data_path_map_place(struct weir_data_path *path, unsigned place, struct weir_error *err);

/* Stops the pipeline's threads. Close all files that use the pipeline after this call and before close(). */
void weir_data_path_stop(struct weir_data_path *path);

/* Unmaps rings, frees the pipeline and closes events, in any state. open_events() may follow. */
void weir_data_path_close(struct weir_data_path *path);

#endif

/*
 * From open events to a pipeline with mapped rings: what a recording and a simulated run share. Owns the event set, the
 * pipeline around it, and the keeper of AUX areas.
 *
 *     init ──► open_events ──► make_pipeline ──► map_rings ──► (pipeline start ... stop) ──► close
 *                  ▲                                 │ -EPERM: with smaller rings, after close_events()
 *                  └─────────────────────────────────┘
 *
 * The coordinator calls all of this.
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
#include "engine/session/recording_plan.h"

struct weir_data_path_setup { /* all borrowed until close() */
    const struct weir_recording_plan *plan;
    const struct weir_kernel *kernel;
    const struct weir_clock *clock; /* monotonic */
    const struct weir_targets *targets;
    bool pins_readers; /* the plan's CPUs are CPUs of this machine */
    /* While an output is waited for that somebody else may hold up (weir_pipeline_setup). */
    void (*while_waiting)(void *ctx);
    void *waiting_ctx;
};

struct weir_data_path {
    struct weir_data_path_setup setup;
    struct weir_event_set events;
    struct weir_shed_plan shed; /* borrowed by the pipeline */
    struct weir_pipeline pipeline;
    struct weir_aux_keeper aux;
    bool has_pipeline; /* pipeline was initialized */
};

/* Opens nothing yet. The data path must stay where it is. */
void weir_data_path_init(struct weir_data_path *path, const struct weir_data_path_setup *setup);

/* Opens the events of options->events on the plan's CPUs and the targets. 0 or -errno with err. */
int weir_data_path_open_events(struct weir_data_path *path, struct weir_error *err);

/* Makes the pipeline for the open events. 0 or -errno with err. */
int weir_data_path_make_pipeline(struct weir_data_path *path, struct weir_error *err);

/* Maps every ring into the pipeline, but for those of late places. 0, or -errno with err; after -EPERM a smaller size
 * may still fit. */
int weir_data_path_map_rings(struct weir_data_path *path, struct weir_error *err);

/* Maps both rings of one place whose CPU has come, if there is anything to map. As above. */
int weir_data_path_map_place(struct weir_data_path *path, unsigned place, struct weir_error *err);

/* Stops the pipeline's threads. Files that were opened on it may be closed after this, and must be before close(). */
void weir_data_path_stop(struct weir_data_path *path);

/* Undoes all of the above, in any state; events may be opened again. */
void weir_data_path_close(struct weir_data_path *path);

#endif

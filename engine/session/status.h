/*
 * The status of a recording, as one line of JSON (docs/json.md): the answer to the control command "status".
 *
 * Reads counters that readers, writer and kernel keep anyway. Each read is relaxed and by itself: the sums belong to a
 * moment, not to one instant. Who draws a line for the user takes the figures alone, which cost no system call.
 * Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_STATUS_H
#define WEIR_ENGINE_SESSION_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/control/trigger.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/plan/record_watch.h"
#include "engine/plan/recording_plan.h"

struct weir_status_sources { /* all borrowed for the call */
    const char *state;       /* "enabled", "disabled", "suspended" or "stopped" */
    uint64_t elapsed_ns;     /* since the coordinator's loop began */
    uint64_t files;          /* files so far, including the present file */
    uint64_t lease_left_ns;  /* 0: the recording has no lease */
    const struct weir_recording_plan *plan;
    const struct weir_event_set *events;
    const struct weir_pipeline *pipeline;
    const struct weir_triggers *triggers;
};

/* Reads the figures. Makes no system call, allocates nothing. */
void weir_status_gather(const struct weir_status_sources *sources, struct weir_record_figures *figures);

/* Appends the line to out. places: with the values of each place. Costs one read(2) for each event and CPU. Allocates.
 */
void weir_status_append(const struct weir_status_sources *sources, bool places, struct weir_buf *out);

#endif

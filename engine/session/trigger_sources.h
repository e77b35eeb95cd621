/*
 * What asks for rotations and snapshots by itself: events (--switch-output-event, --snapshot-on) and the end of the
 * recording; and ftrace, which takes its snapshot with each of ours (--ftrace-snapshot). Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_TRIGGER_SOURCES_H
#define WEIR_ENGINE_SESSION_TRIGGER_SOURCES_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/poll_set.h"
#include "engine/session/event_trigger.h"
#include "engine/session/ftrace_snapshot.h"
#include "engine/session/recording_plan.h"
#include "engine/session/trigger.h"
#include "engine/session/workload.h"

struct weir_trigger_sources {
    const struct weir_record_options *options; /* borrowed */
    struct weir_event_trigger rotation;        /* --switch-output-event */
    struct weir_event_trigger snapshot;        /* --snapshot-on */
    struct weir_ftrace_snapshot ftrace;
};

struct weir_trigger_sources_setup { /* all borrowed until close() */
    const struct weir_recording_plan *plan;
    const struct weir_kernel *kernel;
    const struct weir_targets *targets;
    const struct weir_clock *clock;
    struct weir_poll_set *sources;
    struct weir_triggers *triggers;
};

/* Opens them, and lets `recorded`, which is open, know the sets of events that ask: samples may carry their ids. 0 or
 * -errno with err; close() in any case. */
int weir_trigger_sources_open(struct weir_trigger_sources *sources, const struct weir_trigger_sources_setup *setup,
                              struct weir_event_set *recorded, struct weir_error *err);

/* Has what occurs on a CPU that came online ask too. 0 or -errno with err. */
int weir_trigger_sources_add_cpu(struct weir_trigger_sources *sources, int cpu, struct weir_error *err);

/* From here on ftrace takes its snapshots with ours. Once ours are registered. */
void weir_trigger_sources_follow_with_ftrace(struct weir_trigger_sources *sources, struct weir_triggers *triggers);

/* Whether the end of the recording, or a crash of its command that was reaped, is to take a snapshot: by option. */
bool weir_trigger_sources_ask_at_end(const struct weir_recording_plan *plan, const struct weir_workload *workload);

/* The recording ends: ftrace takes the snapshot that was asked for of the end, if one was. Before the events end. Not
 * where --overwrite alone has the end of the recording in the file: ftrace has room for one snapshot, and the last one
 * that somebody asked for stays. */
void weir_trigger_sources_end_with_ftrace(struct weir_trigger_sources *sources, bool asks_at_end);

/* Idempotent; zeroed is fine. */
void weir_trigger_sources_close(struct weir_trigger_sources *sources);

#endif

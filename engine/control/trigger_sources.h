/*
 * The sources of triggers inside a recording: events (--switch-output-event, --snapshot-on) and the end of the
 * recording. Also has ftrace take its snapshot with each snapshot of weir (--ftrace-snapshot). Coordinator thread.
 */
#ifndef WEIR_ENGINE_CONTROL_TRIGGER_SOURCES_H
#define WEIR_ENGINE_CONTROL_TRIGGER_SOURCES_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/control/event_trigger.h"
#include "engine/control/ftrace_snapshot.h"
#include "engine/control/trigger.h"
#include "engine/control/workload.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/recording_plan.h"

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

/* Opens the sources. Tells `recorded`, which is open, the event sets of the sources: samples may carry their ids.
 * Returns 0 or -errno with err; the caller calls weir_trigger_sources_close() in any case. */
int weir_trigger_sources_open(struct weir_trigger_sources *sources, const struct weir_trigger_sources_setup *setup,
                              struct weir_event_set *recorded, struct weir_error *err);

/* Adds a CPU that came online to the events of the sources. Returns 0 or -errno with err. */
int weir_trigger_sources_add_cpu(struct weir_trigger_sources *sources, int cpu, struct weir_error *err);

/* Has ftrace take a snapshot with each snapshot of weir from now on. Call once weir's snapshot triggers are
 * registered. */
void weir_trigger_sources_follow_with_ftrace(struct weir_trigger_sources *sources, struct weir_triggers *triggers);

/* Whether an option asks for a snapshot at the end of the recording, or after a crash of its command, which was
 * reaped. */
bool weir_trigger_sources_ask_at_end(const struct weir_recording_plan *plan, const struct weir_workload *workload);

/* Has ftrace take a snapshot at the end of the recording, if asks_at_end. Call before the events end. The caller leaves
 * asks_at_end false when only --overwrite writes the end of the recording to the file: ftrace has room for one snapshot
 * only. Its last requested snapshot then stays. */
void weir_trigger_sources_end_with_ftrace(struct weir_trigger_sources *sources, bool asks_at_end);

/* Closes the sources. Idempotent; zeroed sources are fine. */
void weir_trigger_sources_close(struct weir_trigger_sources *sources);

#endif

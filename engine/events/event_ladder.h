/*
 * The ladder of attr features that older kernels refuse, newest first. weir drops features that no option asked for,
 * step by step, until the kernel takes the attr. It never drops a feature that an option asked for: it finds out which
 * one the kernel refuses, and names the option.
 *
 * weir itself needs Linux 3.12 (PERF_SAMPLE_IDENTIFIER, PERF_EVENT_IOC_ID), so the ladder ends there. Two steps of
 * perf's ladder are missing: sample_id_all (Linux 2.6.38), and inheritance of events that :S reads (Linux 6.13).
 * Without that inheritance the kernel does not record child tasks. Source: evsel__detect_missing_features(),
 * tools/perf/util/evsel.c, Linux 6.1 and 6.18; include/uapi/linux/perf_event.h of each version.
 *
 * Coordinator thread; no allocation.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_LADDER_H
#define WEIR_ENGINE_EVENTS_EVENT_LADDER_H

#include <stdint.h>

#include "base/error.h"
#include "engine/events/event_list.h"
#include "engine/events/open_error.h"
#include "engine/kernel/kernel.h"

struct weir_event_ladder {
    uint32_t dropped; /* steps taken, a bit for each row of the table; 0: none */
};

/* Takes the next step that changes `refused`, an event of the list as the kernel refused it. Returns what the step
 * drops (a constant text); NULL: nothing is left to drop. Then configure the list again and call
 * weir_event_ladder_apply(). */
const char *weir_event_ladder_step(struct weir_event_ladder *ladder, const struct weir_event *refused);

/* Applies all steps taken to every attr of the configured list. */
void weir_event_ladder_apply(const struct weir_event_ladder *ladder, struct weir_event_list *list);

/* The flags of perf_event_open(2) for every event, without those that a step has dropped. */
unsigned long weir_event_ladder_flags(const struct weir_event_ladder *ladder);

/*
 * Finds the option that the kernel refuses. Opens attempt->attr without the option's feature, and closes the event at
 * once. pid and flags: those of the refused open; pid may be the descriptor of a cgroup. True: err names the option
 * (-EINVAL), and the hint the kernel that it needs. False: no option is to blame, and err is unchanged.
 */
bool weir_event_ladder_blame(const struct weir_kernel *kernel, const struct weir_open_attempt *attempt, pid_t pid,
                             unsigned long flags, struct weir_error *err);

#endif

/*
 * What kernels older than ours refuse in an attr, newest first. What nobody asked for by name is dropped, step by step,
 * until the kernel takes the attr; what somebody did ask for is never dropped: it is found out, and named.
 *
 * weir itself needs Linux 3.12 (PERF_SAMPLE_IDENTIFIER, PERF_EVENT_IOC_ID): the ladder ends there, and perf's last
 * step, sample_id_all (Linux 2.6.38), is not on it. PERF_FORMAT_GROUP together with inherit, on perf's ladder too, is
 * never asked for (engine/events/event_config.c). Source: evsel__detect_missing_features(), tools/perf/util/evsel.c,
 * Linux 6.1; include/uapi/linux/perf_event.h of each version.
 *
 * Coordinator thread; nothing is allocated.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_LADDER_H
#define WEIR_ENGINE_EVENTS_EVENT_LADDER_H

#include <stdint.h>

#include "base/error.h"
#include "engine/events/event_list.h"
#include "engine/events/open_error.h"
#include "engine/kernel/kernel.h"

struct weir_event_ladder { /* all zeros: nothing dropped */
    uint32_t dropped;      /* steps taken, a bit for each row of the table */
};

/* Takes the next step that weakens `refused`, an event of the list as it was tried, and says what it drops (a constant
 * text); NULL: nothing is left that may be dropped. The list is to be configured again, and applied to. */
const char *weir_event_ladder_step(struct weir_event_ladder *ladder, const struct weir_event *refused);

/* Drops from every attr of the list, which has been configured, what the steps taken drop. */
void weir_event_ladder_apply(const struct weir_event_ladder *ladder, struct weir_event_list *list);

/* The flags of perf_event_open(2) that are left of all that every event is opened with. */
unsigned long weir_event_ladder_flags(const struct weir_event_ladder *ladder);

/*
 * Finds what was asked for by name and is refused, by opening attempt->attr without it, and closing it at once. pid and
 * flags: those of the refused open, where pid may be the descriptor of a cgroup.
 * True: err says which option (-EINVAL) and the hint which kernel it needs. False: err is untouched; it is not that.
 */
bool weir_event_ladder_blame(const struct weir_kernel *kernel, const struct weir_open_attempt *attempt, pid_t pid,
                             unsigned long flags, struct weir_error *err);

#endif

/*
 * The term ratio-to-prev=R of perf 6.18, for cores with auto counter reload. The term concerns two neighbors in a
 * group. An overflow of the first event becomes a sample only if the second event has not counted R times as much
 * meanwhile. Overflows of the second event become no samples. The kernel gets the two periods. The field acr_mask of
 * each event says which counters of the group an overflow reloads.
 *
 * Source: evsel__apply_ratio_to_prev(), tools/perf/util/evsel.c, arch_evsel__apply_ratio_to_prev(),
 * tools/perf/arch/x86/util/evsel.c, and Documentation/intel-acr.txt, Linux 6.18. Main thread, set-up.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_RATIO_H
#define WEIR_ENGINE_EVENTS_EVENT_RATIO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/events/event_list.h"
#include "engine/events/pmu.h"

/* Whether an event from index `first` on has the term. */
bool weir_event_ratios_are_given(const struct weir_event_list *list, size_t first);

/* Sets acr_mask of each such event from index `first` on, and of the event before it. The PMUs are described. 0; or
 * -EINVAL with err and hint: no event before it in its group, not on the same core PMU, or a PMU without acr_mask. */
int weir_event_ratios_resolve(struct weir_event_list *list, size_t first, const struct weir_pmu_list *pmus,
                              struct weir_error *err);

/* Checks that one event of each pair has a fixed period. period_given: by -c. 0, or -EINVAL with err and hint. */
int weir_event_ratios_check(const struct weir_event_list *list, bool period_given, struct weir_error *err);

/* Derives the period of one event of each pair from the other's, which is 1 at least. The attrs are configured. */
void weir_event_ratios_apply(struct weir_event_list *list);

#endif

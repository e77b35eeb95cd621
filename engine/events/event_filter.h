/* --filter: the filters of the events of a list. Main thread, set-up; allocates. */
#ifndef WEIR_ENGINE_EVENTS_EVENT_FILTER_H
#define WEIR_ENGINE_EVENTS_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/events/event_list.h"

/*
 * Gives the events from index `first` on a filter, as perf's --filter does to the events of the -e before it.
 * sysfs_root NULL: /sys. Tracepoints take an expression; a second one makes "(FIRST) && (SECOND)". Events of PMUs with
 * address filters (engine/events/address_filter.h) take a list; a second one makes "FIRST,SECOND". All others take a
 * sample filter (engine/events/sample_filter.h); of several all must hold.
 *
 * The kernel checks the filters of tracepoints when the events are open. 0; -EINVAL: the event takes no filter (err
 * names event and filter), or an address filter cannot be resolved; the codes of weir_sample_filter_parse(); -ENOMEM.
 * On failure events before the bad one may have the filter.
 */
int weir_event_list_filter(struct weir_event_list *list, size_t first, const char *text, const char *sysfs_root,
                           struct weir_error *err);

/* Whether a sample filter can drop samples of the event. */
bool weir_event_takes_sample_filter(const struct weir_event *event);

/* Adds clauses to the sample filter of an event (engine/events/sample_filter.h). 0; -EINVAL: the event takes none; the
 * codes of weir_sample_filter_parse(); -ENOMEM; with err. */
int weir_event_add_sample_filter(struct weir_event *event, const char *text, struct weir_error *err);

#endif

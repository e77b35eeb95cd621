/*
 * Whether equal samples of events may become one (--aggregate). Main thread, set-up; pure.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_MERGING_H
#define WEIR_ENGINE_EVENTS_EVENT_MERGING_H

#include "base/error.h"
#include "engine/events/event_config.h"
#include "engine/events/event_list.h"

/*
 * Checks a list whose attrs are complete (weir_event_list_configure()). 0; or -EINVAL with err: merged samples of an
 * event would tell less or something else than single ones. Such are samples with data of their own, samples of each
 * occurrence, and samples with a weight.
 *
 * A software event of a fixed period is refused as well. The kernel tells the period of each of its samples only where
 * it samples each occurrence (perf_swevent_event(), kernel/events/core.c, Linux 6.18).
 */
int weir_event_list_check_merging(const struct weir_event_list *list, const struct weir_event_config *config,
                                  struct weir_error *err);

#endif

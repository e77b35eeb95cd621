/*
 * -u by sample filters: all tasks of the machine are recorded, and the kernel keeps the samples of one user's tasks.
 * Tasks that start later, anywhere, are recorded from their first instruction on; the other way, from /proc, knows the
 * tasks of now and their children.
 *
 * Events without sample filters (weir_event_takes_sample_filter()) need the other way. The kernel's filters of
 * tracepoints know no users. A BPF program on a tracepoint takes its samples away from all recorders.
 *
 * Main thread, set-up.
 */
#ifndef WEIR_ENGINE_EVENTS_USER_FILTER_H
#define WEIR_ENGINE_EVENTS_USER_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/events/event_list.h"
#include "engine/kernel/kernel_limits.h"

/* Whether all events of the list can be filtered so, by this user, on this machine: loads the program and unloads it
 * again. False: err says why. */
bool weir_user_filter_is_possible(const struct weir_event_list *list, const struct weir_kernel_limits *limits,
                                  const struct weir_notice_sink *notices, struct weir_error *err);

/* Adds the user to the filters of all events. With user 0 the idle task is left out, which belongs to root. 0; -E2BIG
 * or -ENOMEM with err. */
int weir_user_filter_add(struct weir_event_list *list, uid_t uid, struct weir_error *err);

#endif

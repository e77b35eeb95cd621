/*
 * -G of `weir record`: events that count only what runs in a cgroup. Main thread, set-up.
 *
 * An event of a cgroup is opened with a descriptor of the cgroup's folder in place of a process, on a CPU:
 * PERF_FLAG_PID_CGROUP of perf_event_open(2). The folder is looked for in the hierarchy of version 1 that has the
 * perf_event controller, else in that of version 2, where the controller is always there (cgroups(7)).
 */
#ifndef WEIR_ENGINE_EVENTS_CGROUP_H
#define WEIR_ENGINE_EVENTS_CGROUP_H

#include "base/error.h"
#include "engine/events/event_list.h"

/*
 * Gives events their cgroups, as perf does: the names between commas go to the events in their order; an empty name
 * leaves an event without. *given counts them over all calls (0 before the first). When the only name of all calls so
 * far was given, every event that is in the list has it.
 * 0, -EINVAL with err (more names than events), -ENOMEM.
 */
int weir_cgroup_assign(struct weir_event_list *list, const char *names, size_t *given, struct weir_error *err);

/* Opens the folders of the list's cgroups, each once. mounts: NULL for /proc/self/mounts. 0, -ENODEV (no hierarchy is
 * mounted that knows perf events), -ENOENT (no such cgroup), -EACCES or another errno of open(2), with err and hint. */
int weir_cgroup_open(struct weir_event_list *list, const char *mounts, struct weir_error *err);

/* How many of these are open. */
unsigned weir_cgroup_count_fds(const struct weir_event_list *list);

#endif

/*
 * -G of `weir record`: events that count only the tasks of a cgroup. Main thread, set-up.
 *
 * weir opens an event of a cgroup on a CPU, with a descriptor of the cgroup's folder in place of a process
 * (PERF_FLAG_PID_CGROUP of perf_event_open(2)). weir looks for the folder in the version 1 hierarchy that has the
 * perf_event controller. Without such a hierarchy, weir looks in the version 2 hierarchy, which always has the
 * controller (cgroups(7)).
 */
#ifndef WEIR_ENGINE_EVENTS_CGROUP_H
#define WEIR_ENGINE_EVENTS_CGROUP_H

#include "base/error.h"
#include "engine/events/event_list.h"

/*
 * Gives events their cgroups, as perf does: names, separated by commas, go to the events in their order; an empty name
 * leaves an event without a cgroup. A name may be an absolute path into the hierarchy. *given counts the names of all
 * calls (0 before the first call). A single name in all calls goes to every event of the list. 0; -EINVAL with err:
 * more names than events; -ENOMEM.
 */
int weir_cgroup_assign(struct weir_event_list *list, const char *names, size_t *given, struct weir_error *err);

/* Gives the events from `first` on one cgroup. 0; -ENOMEM with err. */
int weir_cgroup_assign_path(struct weir_event_list *list, size_t first, const char *path, struct weir_error *err);

/* Opens the folders of the list's cgroups, each once. mounts NULL: /proc/self/mounts. 0; -ENODEV: no mounted hierarchy
 * knows perf events; -ENOENT: no such cgroup; -EACCES or another errno of open(2); with err and hint. */
int weir_cgroup_open(struct weir_event_list *list, const char *mounts, struct weir_error *err);

/* The number of cgroup folders that are open. */
unsigned weir_cgroup_count_fds(const struct weir_event_list *list);

#endif

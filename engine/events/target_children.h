/*
 * The processes that targets start while weir attaches to them. They inherit what is open by then, and no record says
 * that they are there: the kernel told nobody, because the rings were not. So it is with those that start while a ring
 * is full. Main thread at set-up, sideband thread where a file begins. Source: proc(5), /proc/PID/task/TID/children.
 */
#ifndef WEIR_ENGINE_EVENTS_TARGET_CHILDREN_H
#define WEIR_ENGINE_EVENTS_TARGET_CHILDREN_H

#include "engine/events/targets.h"

/*
 * Appends to targets->pids the processes that have come from them since they were listed, and from these in turn. Older
 * ones inherited nothing. A process whose parent has ended meanwhile is not found, and none is by a kernel without
 * CONFIG_PROC_CHILDREN. proc_root NULL: "/proc". 0, or -ENOMEM with as many as there was memory for.
 */
int weir_targets_add_children(struct weir_targets *targets, const char *proc_root);

#endif

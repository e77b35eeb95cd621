/*
 * The processes that targets start while weir attaches to them. Such a process inherits the events that are open by
 * then, but no ring is mapped yet that could take its FORK record. A process that starts while a ring is full has no
 * FORK record either. Main thread at set-up, sideband thread where a file begins. Source: proc(5),
 * /proc/PID/task/TID/children.
 */
#ifndef WEIR_ENGINE_EVENTS_TARGET_CHILDREN_H
#define WEIR_ENGINE_EVENTS_TARGET_CHILDREN_H

#include "engine/events/targets.h"

/*
 * Appends to targets->pids the descendants of the targets that have started since the targets were listed. Older
 * children inherited nothing. It does not find a process whose parent has ended. On a kernel without
 * CONFIG_PROC_CHILDREN it finds none. proc_root NULL: "/proc". 0; or -ENOMEM, with as many as there was memory for.
 */
int weir_targets_add_children(struct weir_targets *targets, const char *proc_root);

#endif

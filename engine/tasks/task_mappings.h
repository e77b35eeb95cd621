/*
 * The executable maps of one process, ascending by address and without overlaps; shared between a process and the
 * children that it has forked, until one of them changes them. Part of the task map: its thread, its bounds.
 */
#ifndef WEIR_ENGINE_TASKS_TASK_MAPPINGS_H
#define WEIR_ENGINE_TASKS_TASK_MAPPINGS_H

#include "engine/tasks/task_map.h"

struct weir_task_mappings {
    uint32_t shares; /* processes that have it */
    uint32_t count, room;
    struct weir_task_mapping all[];
};

/* One more process has the maps; NULL stays NULL. */
struct weir_task_mappings *weir_task_mappings_share(struct weir_task_mappings *maps);

/* One process less; *bytes is lessened when they are freed. NULL-safe. */
void weir_task_mappings_drop(struct weir_task_mappings *maps, uint64_t *bytes);

/*
 * Cuts [start, end) out of the maps in *maps and, unless mapping is NULL, puts mapping there. *maps (NULL: none yet) is
 * copied first when others share it; *bytes counts all memory. 0; -ENOSPC or -ENOMEM: *maps is as it was.
 */
int weir_task_mappings_replace(struct weir_task_mappings **maps, uint64_t start, uint64_t end,
                               const struct weir_task_mapping *mapping, uint64_t *bytes);

#endif

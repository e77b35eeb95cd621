/* The mappings of a process in a task map, for tests. */
#ifndef WEIR_TESTS_ENGINE_MAPPINGS_OF_H
#define WEIR_TESTS_ENGINE_MAPPINGS_OF_H

#include "engine/tasks/task_map.h"

/* Returns the mappings of process pid, ascending by address; NULL with *count 0: none. Borrowed until the next apply.
 */
static inline const struct weir_task_mapping *mappings_of(const struct weir_task_map *map, pid_t pid, size_t *count)
{
    const struct weir_task *process = weir_task_map_find(map, pid);
    const struct weir_task_mappings *maps = process && process->pid == process->tid ? process->maps : NULL;
    *count = maps ? maps->count : 0;
    return *count > 0 ? maps->all : NULL;
}

#endif

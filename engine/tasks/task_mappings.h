/*
 * The executable maps of one process: ascending by address, without overlaps. A process shares them with the children
 * that it forks until one of them changes its maps. Called by the thread that has the task map, or the history of
 * mappings; allocates.
 */
#ifndef WEIR_ENGINE_TASKS_TASK_MAPPINGS_H
#define WEIR_ENGINE_TASKS_TASK_MAPPINGS_H

#include <stdint.h>

#define WEIR_TASK_MAPS_MAX       4096u       /* of one process */
#define WEIR_TASK_MAPS_BYTES_MAX (64u << 20) /* of all processes */

struct weir_task_mapping {
    uint64_t start, end, page_offset;
    uint64_t since_ns; /* time of the record; 0: synthesized, or the owner keeps no times */
    uint32_t file;     /* as the owner numbers files */
    uint16_t protection, flags;
};

struct weir_task_mappings {
    uint32_t shares; /* processes that have these maps */
    uint32_t count, room;
    struct weir_task_mapping all[];
};

/* Counts one more process that has the maps, and returns them; NULL stays NULL. */
struct weir_task_mappings *weir_task_mappings_share(struct weir_task_mappings *maps);

/* Counts one process less. Without any, frees the maps and takes their size from *bytes. NULL-safe. */
void weir_task_mappings_drop(struct weir_task_mappings *maps, uint64_t *bytes);

/* Returns the map that covers an address, borrowed until the maps change; NULL: none. maps may be NULL. */
const struct weir_task_mapping *weir_task_mappings_find(const struct weir_task_mappings *maps, uint64_t address);

/*
 * Cuts [start, end) out of the maps in *maps and, unless mapping is NULL, puts mapping there. *maps (NULL: none yet) is
 * copied first when other processes share it. *bytes: memory of all maps, kept current. 0; -ENOSPC (a bound above) or
 * -ENOMEM: *maps is unchanged.
 */
int weir_task_mappings_replace(struct weir_task_mappings **maps, uint64_t start, uint64_t end,
                               const struct weir_task_mapping *mapping, uint64_t *bytes);

#endif

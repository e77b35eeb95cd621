/*
 * Which task runs what: every task with its name, every process with its executable maps, as the side records tell.
 *
 * Fed with records in the order of time (engine/tasks/sideband_intake.c sees to that), it is what a reader of the file
 * would know at that moment; from it, an output that begins in the middle of a recording gets its synthesised records
 * without another walk through /proc.
 *
 *     FORK      a process gets its parent's maps: they are shared until one of the two changes them
 *     exec      (COMM with the exec bit) forgets the maps, and the other threads
 *     MMAP(2)   takes the place of what it overlaps; only executable maps are kept
 *     EXIT      the last thread of a process takes its maps along
 *     a number that is used again is a new task, whatever was known under it
 *
 * Costs per record do not depend on the number of tasks; a new map costs one move of the process's maps behind it.
 *
 * Bounded: WEIR_TASKS_MAX tasks, WEIR_TASK_MAPS_MAX maps of one process, WEIR_TASK_MAPS_BYTES_MAX for all maps. What
 * finds no room marks its process as incomplete: that one has to be read from /proc when it is needed. When records
 * were missed nobody knows whose they were: then all of them are (weir_task_map_doubt()).
 *
 * One thread at a time; the owner serialises. Allocates.
 */
#ifndef WEIR_ENGINE_TASKS_TASK_MAP_H
#define WEIR_ENGINE_TASKS_TASK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/tasks/mapped_files.h"
#include "engine/tasks/task_mappings.h"
#include "format/proc_text.h"
#include "format/side_record.h"

#define WEIR_TASKS_MAX (1u << 18) /* 20 MiB of tasks */

struct weir_task {
    pid_t tid, pid, ppid; /* tid 0: the place is free */
    uint32_t next;        /* in its bucket, or of the free places */
    uint32_t serial;      /* of its process: numbers are used again */
    char comm[WEIR_PROC_COMM_BYTES];
    /* The entry of pid stands for the process, also when that thread itself has ended (is_running is false then). */
    bool is_running;
    bool is_incomplete;
    uint32_t threads;                /* that run */
    struct weir_task_mappings *maps; /* owned in part; NULL: none */
};

struct weir_task_map {
    struct weir_mapped_files *files; /* borrowed */
    struct weir_task *tasks;         /* owned; [0] is never used */
    uint32_t used, room;             /* places touched so far, and had */
    uint32_t free;                   /* first free place below used; 0: none */
    uint32_t *buckets;               /* owned; a power of two of them */
    uint32_t bucket_count;
    uint32_t count; /* tasks in it */
    uint32_t serial;
    uint64_t map_bytes;     /* of all maps */
    uint64_t refused;       /* records that found no room */
    uint64_t refused_tasks; /* of these, such of tasks that the map does not know then */
    bool is_doubtful;
};

void weir_task_map_init(struct weir_task_map *map, struct weir_mapped_files *files);
void weir_task_map_fini(struct weir_task_map *map);

/* Takes in one record; others than FORK, EXIT, COMM, MMAP and MMAP2 of user space are passed over. */
void weir_task_map_apply(struct weir_task_map *map, const struct weir_side_record *record);

/* Records were missed: from now on no process is known to be complete. */
void weir_task_map_doubt(struct weir_task_map *map);

/* The task of that number, or NULL; borrowed until the next apply. */
const struct weir_task *weir_task_map_find(const struct weir_task_map *map, pid_t tid);

/* The maps of process pid, ascending by address; NULL with *count 0 when it has none. Borrowed until the next apply. */
const struct weir_task_mapping *weir_task_map_mappings(const struct weir_task_map *map, pid_t pid, size_t *count);

/* Touches the files of all maps (mapped_files.h). */
void weir_task_map_touch_files(const struct weir_task_map *map);

struct weir_task_map_sink {
    size_t sample_id_bytes;
    /* Takes whole records, at most 128 KiB in a call; -errno ends it. */
    int (*emit)(void *ctx, const void *records, size_t bytes);
    /* A process whose maps are to be read from /proc, because they are not all known here. -errno ends it. */
    int (*incomplete)(void *ctx, pid_t pid);
    void *ctx; /* borrowed */
};

/*
 * Emits FORK and COMM of every task and MMAP2 of every map, as synthesis would (format/synth.h). 0, -ENOMEM or what the
 * sink returned.
 */
int weir_task_map_emit(const struct weir_task_map *map, const struct weir_task_map_sink *sink);

/* Emits the maps of process pid as far as they are known, complete or not. As above. */
int weir_task_map_emit_maps(const struct weir_task_map *map, pid_t pid, const struct weir_task_map_sink *sink);

#endif

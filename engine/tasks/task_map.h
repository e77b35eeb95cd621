/*
 * The task map: every task with its name, every process with its executable maps, built from the side records.
 *
 * Its records come in order of time (engine/tasks/sideband_intake.c), so the map holds the state that a consumer of the
 * file knows at that moment. An output that begins in the middle of a recording gets its synthesized records from the
 * map, without another walk through /proc.
 *
 *     FORK      a process gets its parent's maps, shared until one of the two changes them
 *     exec      (COMM with the exec bit) removes the maps and the other threads
 *     MMAP(2)   replaces the maps that it overlaps; only executable maps are kept
 *     EXIT      the last thread of a process removes its maps
 *     a FORK of a known number is a new task, and removes the old one
 *
 * The cost of a record does not depend on the number of tasks. A new map moves the maps of its process that lie behind
 * it.
 *
 * Bounds: WEIR_TASKS_MAX tasks, WEIR_TASK_MAPS_MAX maps of one process, WEIR_TASK_MAPS_BYTES_MAX for all maps. A map
 * without room makes its process incomplete: the process has to be read from /proc when an output begins. After missed
 * records, or tasks without room, all processes count as incomplete (weir_task_map_doubt()).
 *
 * One thread at a time; the owner serializes. Allocates.
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
    uint32_t next;        /* in its bucket, or in the list of free places */
    uint32_t serial;      /* of its process: the kernel reuses numbers */
    char comm[WEIR_PROC_COMM_BYTES];
    /* The entry of pid stands for the process, also when that thread itself has ended (is_running is false then). */
    bool is_running;
    bool is_incomplete;
    uint32_t threads;                /* threads that run */
    struct weir_task_mappings *maps; /* shared with other processes; NULL: none */
};

struct weir_task_map {
    struct weir_mapped_files *files; /* borrowed */
    struct weir_task *tasks;         /* owned; [0] is never used */
    uint32_t used, room;             /* places used so far, and allocated */
    uint32_t free;                   /* first free place below used; 0: none */
    uint32_t *buckets;               /* owned; a power of two of them */
    uint32_t bucket_count;
    uint32_t count; /* tasks in it */
    uint32_t serial;
    uint64_t map_bytes;     /* of all maps */
    uint64_t refused;       /* records without room */
    uint64_t refused_tasks; /* those of them whose task the map now lacks */
    bool is_doubtful;
};

void weir_task_map_init(struct weir_task_map *map, struct weir_mapped_files *files);
void weir_task_map_fini(struct weir_task_map *map);

/* Applies one record. Ignores all but FORK, EXIT, COMM, and MMAP and MMAP2 of user space. */
void weir_task_map_apply(struct weir_task_map *map, const struct weir_side_record *record);

/* Makes all processes incomplete, from now on: records were missed. */
void weir_task_map_doubt(struct weir_task_map *map);

/* The task of that number, or NULL; borrowed until the next apply. */
const struct weir_task *weir_task_map_find(const struct weir_task_map *map, pid_t tid);

/* Calls weir_mapped_files_touch() for the files of all maps. */
void weir_task_map_touch_files(const struct weir_task_map *map);

struct weir_task_map_sink {
    size_t sample_id_bytes;
    /* Takes whole records, at most 128 KiB in a call. -errno ends the emission. */
    int (*emit)(void *ctx, const void *records, size_t bytes);
    /* Names a process whose maps have to be read from /proc, because the map lacks some. -errno ends the emission. */
    int (*incomplete)(void *ctx, pid_t pid);
    void *ctx; /* borrowed */
};

/*
 * Emits FORK and COMM of every task and MMAP2 of every map, as synthesis would (format/synth.h). 0, -ENOMEM or the
 * sink's result.
 */
int weir_task_map_emit(const struct weir_task_map *map, const struct weir_task_map_sink *sink);

/* Emits the known maps of process pid, complete or not. 0, -ENOMEM or the sink's result. */
int weir_task_map_emit_maps(const struct weir_task_map *map, pid_t pid, const struct weir_task_map_sink *sink);

#endif

/*
 * A process in the history of mappings, and the history. mapping_history.c puts changes into logs and searches;
 * mapping_history_fold.c moves them into maps. The writer runs both; readers run the search.
 */
#ifndef WEIR_ENGINE_TASKS_MAPPING_HISTORY_INTERNAL_H
#define WEIR_ENGINE_TASKS_MAPPING_HISTORY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "engine/tasks/mapping_history.h"

#define WEIR_HISTORY_SHARDS  64u  /* a power of two */
#define WEIR_HISTORY_BUCKETS 256u /* of a shard; a power of two */

/* What stands first at equal times comes first: the kernel takes the time of an exec before it maps the program. */
enum weir_history_kind {
    WEIR_HISTORY_FORK,
    WEIR_HISTORY_EXEC,
    WEIR_HISTORY_MAP,
    WEIR_HISTORY_CUT,
};

struct weir_history_change {
    uint64_t time_ns;
    uint64_t start, end; /* FORK and EXEC: of all addresses */
    uint64_t page_offset;
    uint32_t file;
    pid_t parent; /* FORK */
    enum weir_history_kind kind;
    bool is_settled;                 /* FORK: `maps` stand for the parent's at that time */
    struct weir_task_mappings *maps; /* shared; NULL: none */
};

struct weir_history_process {
    struct weir_history_process *next; /* in its bucket */
    pid_t pid;
    uint32_t count, room;            /* of log */
    struct weir_history_change *log; /* owned; ascending by time and kind */
    struct weir_task_mappings *maps; /* shared; NULL: none */
    uint64_t maps_ns;                /* time of the newest change in maps */
    uint64_t floor_ns;               /* of the newest exec or fork in maps: before that nothing is known */
    uint64_t unknown_from_ns, unknown_until_ns;
    /* Writer only. */
    uint64_t begun_ns; /* newest fork or exec */
    uint64_t heard_ns; /* newest record */
    bool has_ended;    /* its first thread has, since begun_ns */

    atomic_bool is_asked; /* set by readers once has_ended: other threads may still run. Relaxed: a hint */
};

struct weir_history_shard {
    _Alignas(WEIR_CACHE_LINE_BYTES) pthread_rwlock_t lock; /* (history-shard) */
    struct weir_history_process *buckets[WEIR_HISTORY_BUCKETS];
};

struct weir_mapping_history {
    uint64_t newest_ns; /* of all records; writer only, as all fields before shards */
    uint64_t fold_ns;   /* when to fold next */
    uint64_t press_ns;  /* when to fold next for want of memory */
    struct weir_mapping_history_counts counts;
    struct weir_history_shard shards[WEIR_HISTORY_SHARDS];
};

struct weir_history_shard *weir_history_shard_of(struct weir_mapping_history *history, pid_t pid);

/* Returns process pid; NULL: unknown. The writer, or a reader that holds its shard. */
struct weir_history_process *weir_history_process_find(struct weir_mapping_history *history, pid_t pid);

/* Frees a process that is in no bucket. */
void weir_history_process_free(struct weir_mapping_history *history, struct weir_history_process *process);

/* ---- mapping_history_fold.c ---- */

/* Moves the first `count` changes of a process's log into its maps. Locks its shard. */
void weir_history_fold(struct weir_mapping_history *history, struct weir_history_process *process, uint32_t count);

/* Moves changes up to newest_ns - span_ns of all processes into their maps, and frees processes that have ended. */
void weir_history_fold_all(struct weir_mapping_history *history, uint64_t span_ns);

/* Puts a change that is not newer than the maps of its process into them. The caller holds the shard. */
void weir_history_fold_late(struct weir_mapping_history *history, struct weir_history_process *process,
                            const struct weir_history_change *change);

/* Makes a process unknown from a time on, because a change found no room. The caller holds the shard. */
void weir_history_refuse(struct weir_mapping_history *history, struct weir_history_process *process, uint64_t time_ns);

#endif

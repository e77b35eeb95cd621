/*
 * Tasks over time: the names of each task, and the mappings of each process, from all side records of a recording. A
 * sample then finds its name and mappings by its time, wherever the sample lies in the file.
 *
 * Three phases. (1) note: side records and the tasks of samples, in the order of the file; one thread. (2) build: one
 * thread. (3) find: any number of threads, nothing changes.
 *
 * The rules are perf's. A child has its parent's name and mappings at the fork. A new program's mappings cover the old
 * ones. A task has its first known name from its beginning. Source: machine__process_*_event(), thread__fork() and
 * ____thread__set_comm() in tools/perf/util of Linux 6.1.
 *
 * Memory: 64 bytes a side record, at most WEIR_TASK_RECORDS_MAX of them, and n log n of a process' n mappings.
 */
#ifndef WEIR_REPORT_TASK_HISTORY_H
#define WEIR_REPORT_TASK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/map_index.h"
#include "report/row_table.h"
#include "report/string_table.h"

#define WEIR_TASK_RECORDS_MAX (16u << 20)
#define WEIR_PROCESS_NONE     UINT32_MAX
#define WEIR_PROCESS_KERNEL   0u

enum weir_task_event_kind {
    WEIR_TASK_COMM,
    WEIR_TASK_FORK,
    WEIR_TASK_MAP,
};

struct weir_task_event {
    uint64_t time;
    uint32_t pid, tid;
    uint8_t kind;   /* enum weir_task_event_kind */
    bool copies;    /* FORK: the child has its parent's mappings */
    uint32_t order; /* of its noting, which sets it */
    union {
        uint32_t comm; /* COMM: number of a string */
        struct {
            uint32_t ppid, ptid;
        };                       /* FORK */
        struct weir_mapping map; /* MAP; its time is the event's */
    };
};

/* A task while it had one name. */
struct weir_task {
    uint32_t pid, tid;
    uint64_t since;
    uint32_t comm;  /* number of a string */
    uint32_t order; /* of its adding */
    bool has_comm;  /* false: comm is ":TID" */
};

struct weir_process {
    uint32_t pid;
    uint64_t since;
    uint32_t previous;    /* number of the process that had the pid before; WEIR_PROCESS_NONE: none */
    uint32_t parent;      /* number; WEIR_PROCESS_NONE: none is known */
    uint64_t parent_time; /* mappings of the parent up to then are this process' too */
    struct weir_map_index maps;
};

struct weir_task_history {
    struct weir_string_table *strings; /* borrowed */
    struct weir_task_event *events;    /* owned; until build */
    size_t event_count, event_capacity;
    uint64_t events_dropped; /* beyond WEIR_TASK_RECORDS_MAX */

    struct weir_row_table sampled; /* (pid, tid) of samples, until build */

    struct weir_task *tasks; /* owned; by tid, then by time */
    size_t task_count, task_capacity;
    struct weir_row_table task_ranges; /* tid; first task << 32 | count */

    struct weir_process *processes; /* owned. The first is the kernel */
    size_t process_count, process_capacity;
    struct weir_row_table newest_process; /* pid; number */
};

/* Makes an empty history. strings: borrowed. Does not allocate. */
void weir_task_history_init(struct weir_task_history *history, struct weir_string_table *strings, uint64_t seed);
void weir_task_history_fini(struct weir_task_history *history);

/* Notes an event, whose time must be set; pid of a mapping of the kernel: WEIR_TASK_KERNEL. 0 or -ENOMEM. */
int weir_task_history_note(struct weir_task_history *history, const struct weir_task_event *event);

/* Notes that a task has a sample. 0 or -ENOMEM. */
int weir_task_history_sampled(struct weir_task_history *history, uint32_t pid, uint32_t tid);

#define WEIR_TASK_KERNEL UINT32_MAX /* in place of a process id: the kernel's own mappings */

/* Builds; releases the events. 0 or -ENOMEM. */
int weir_task_history_build(struct weir_task_history *history);

/* The task of a sample, and the span of time for which that answer holds: since <= time < until. */
struct weir_task_found {
    uint32_t task;    /* WEIR_ROW_NONE: the task was never noted */
    uint32_t process; /* WEIR_PROCESS_NONE: it has mapped nothing */
    uint64_t since, until;
};

struct weir_task_found weir_task_history_find(const struct weir_task_history *history, uint32_t pid, uint32_t tid,
                                              uint64_t time);

/* Searches the mappings of a process; of its parents, as they were at its forks, where it has none of its own. */
struct weir_map_found weir_task_history_map(const struct weir_task_history *history, uint32_t process, uint64_t address,
                                            uint64_t time);

#endif

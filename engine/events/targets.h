/*
 * The tasks to attach to: -p and -u become all threads of processes; -t names threads. Main thread, set-up only.
 *
 * Threads may start while weir attaches. A new thread inherits the events of its creator that are open by then. So weir
 * lists the threads, opens all events (disabled), and lists the threads again. When weir_targets_count_new() finds no
 * new thread, every later thread inherits all events, and none has them twice. Otherwise weir opens all events again
 * for the new list.
 */
#ifndef WEIR_ENGINE_EVENTS_TARGETS_H
#define WEIR_ENGINE_EVENTS_TARGETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpuset.h"
#include "base/error.h"

enum weir_target_kind {
    WEIR_TARGET_ALL,       /* every task of the recorded CPUs */
    WEIR_TARGET_PROCESSES, /* -p, or the workload: all threads of each */
    WEIR_TARGET_THREADS,   /* -t */
    WEIR_TARGET_USER,      /* -u: all threads of all processes of a user */
};

struct weir_target_spec {
    enum weir_target_kind kind;
    const pid_t *ids; /* borrowed; of processes or threads */
    size_t id_count;
    uid_t uid;
};

struct weir_targets {
    pid_t *tids; /* owned; `count` targets, ascending; -1 alone for "all tasks". Their siblings, ascending, follow. */
    size_t count;
    /* -t: the other threads of the same processes. Nobody asked for their samples, but they map code that the targets
     * run. */
    size_t sibling_count;
    pid_t *pids; /* owned; the processes of these tasks, each once; NULL for "all tasks" */
    size_t pid_count;
    uint64_t listed_ticks; /* CLOCK_BOOTTIME before the listing, in the ticks of /proc/PID/stat */
};

/* Lists all processes, in no order. The caller frees *pids. proc_root NULL: "/proc". 0 or the -errno of reading it. */
int weir_targets_list_processes(pid_t **pids, size_t *count, const char *proc_root);

/*
 * Lists the tasks. proc_root NULL: "/proc". Threads that end meanwhile are left out. 0; -ESRCH: err names a process or
 * thread that does not exist, or the user who has no tasks; -EACCES; -ENOMEM. On failure *targets is unchanged.
 */
int weir_targets_find(struct weir_targets *targets, const struct weir_target_spec *spec, const char *proc_root,
                      struct weir_error *err);

/* Makes the list for "all tasks", whose only entry is -1. 0 or -ENOMEM. */
int weir_targets_init_all(struct weir_targets *targets);

/* Lists all threads of the processes, each once. proc_root NULL: "/proc". Threads that end meanwhile are left out. 0;
 * -ESRCH: err names a pid that does not exist; -EACCES; -ENOMEM. */
int weir_targets_init_pids(struct weir_targets *targets, const pid_t *pids, size_t count, const char *proc_root,
                           struct weir_error *err);

void weir_targets_fini(struct weir_targets *targets);

/* The number of tasks and siblings in `now` that are not in `before`. */
size_t weir_targets_count_new(const struct weir_targets *before, const struct weir_targets *now);

/* Parses "123,456" (-p and -t). The caller frees *pids. 0; -EINVAL with err (the column of the wrong number); -ENOMEM.
 */
int weir_targets_parse_pids(const char *list, pid_t **pids, size_t *count, struct weir_error *err);

/*
 * Parses the argument of -u: the name of a user or his number; a name that is a number comes first, as in perf. Unlike
 * in perf, a number need not have a name: users of containers have none outside. Reads the user database (getpwnam(3)).
 * 0; -ENOENT with err: no such user; -EIO and others: the database cannot be read. On failure *uid is unchanged.
 */
int weir_targets_parse_user(const char *text, uid_t *uid, struct weir_error *err);

#endif

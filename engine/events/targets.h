/*
 * Which tasks to attach to: -p and -u become all threads of processes, -t is taken as it is. Main thread, set-up only.
 *
 * Threads that start while weir attaches. A thread inherits the events of the one that makes it, but only those that
 * are open by then. So the list is made, everything is opened (and counts nothing yet), and the list is made again:
 * when nobody is new, every thread that came since has inherited all events, and none was opened for twice. Otherwise
 * everything is opened again for the new list. weir_targets_count_new() tells.
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
    pid_t *tids; /* owned; ascending; -1 alone for "all tasks" */
    size_t count;
    pid_t *pids; /* owned; the processes that they are of, each once; NULL for "all tasks" */
    size_t pid_count;
    uint64_t listed_ticks; /* CLOCK_BOOTTIME before, as in /proc/PID/stat */
};

/* Lists all processes, in no order. *pids is to be freed by the caller. proc_root NULL: "/proc". 0 or -errno of reading
 * that. */
int weir_targets_list_processes(pid_t **pids, size_t *count, const char *proc_root);

/*
 * Lists the tasks. proc_root NULL: "/proc". 0, -ESRCH (err names a process or thread that does not exist, or the user
 * who has none), -EACCES, -ENOMEM. Threads that end meanwhile are simply not there. *targets is untouched on failure.
 */
int weir_targets_find(struct weir_targets *targets, const struct weir_target_spec *spec, const char *proc_root,
                      struct weir_error *err);

/* The single entry -1. 0 or -ENOMEM. */
int weir_targets_init_all(struct weir_targets *targets);

/* All threads of the processes, each once. proc_root NULL: "/proc". 0, -ESRCH (a pid that does not exist: err names
 * it), -EACCES, -ENOMEM. Threads that end meanwhile are simply not there. */
int weir_targets_init_pids(struct weir_targets *targets, const pid_t *pids, size_t count, const char *proc_root,
                           struct weir_error *err);

void weir_targets_fini(struct weir_targets *targets);

/* How many tasks of `now` are not in `before`. */
size_t weir_targets_count_new(const struct weir_targets *before, const struct weir_targets *now);

/* Parses "123,456" (perf's -p and -t). *pids owned by the caller. 0, -EINVAL with err (what and column), -ENOMEM. */
int weir_targets_parse_pids(const char *list, pid_t **pids, size_t *count, struct weir_error *err);

/*
 * Parses the argument of -u: the name of a user or his number, names first, as perf. A number needs no name (perf asks
 * for one): users of containers have none outside. Reads the user database (getpwnam(3)). 0, -ENOENT with err (no such
 * user), or -EIO and the like when the database cannot be read. *uid is untouched on failure.
 */
int weir_targets_parse_user(const char *text, uid_t *uid, struct weir_error *err);

#endif

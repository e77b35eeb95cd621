/* Which tasks to attach to: -p lists become all threads of those processes. Main thread, set-up only. */
#ifndef WEIR_ENGINE_TARGETS_H
#define WEIR_ENGINE_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct weir_targets {
    pid_t *tids; /* owned; ascending; -1 alone for "all tasks" */
    size_t count;
};

/* The single entry -1. 0 or -ENOMEM. */
int weir_targets_init_all(struct weir_targets *targets);

/* All threads of the processes, each once. proc_root NULL: "/proc". 0, -ESRCH (a pid that does not exist: err names
 * it), -EACCES, -ENOMEM. Threads that end meanwhile are simply not there. */
int weir_targets_init_pids(struct weir_targets *targets, const pid_t *pids, size_t count, const char *proc_root,
                           struct weir_error *err);

void weir_targets_fini(struct weir_targets *targets);

/* Parses "123,456" (perf's -p). *pids owned by the caller. 0, -EINVAL with err (what and column), -ENOMEM. */
int weir_targets_parse_pids(const char *list, pid_t **pids, size_t *count, struct weir_error *err);

#endif

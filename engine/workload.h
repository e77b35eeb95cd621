/*
 * The command that `weir record COMMAND` runs: forked early, held until events are open, then let go.
 *
 *   parent                         child
 *   prepare: fork, two pipes  ->   blocks on the "go" pipe
 *   (opens events on its pid)
 *   start: one byte          ->    execvp; on failure writes errno to the "cork" pipe (CLOEXEC: closes on success)
 *   start returns the errno or 0 once the exec has happened
 *
 * Source of the protocol: evlist__prepare_workload(), tools/perf/util/evlist.c, Linux 6.12. Differences: the exec error
 * comes back over the pipe instead of SIGUSR1. Main thread only. weir never signals a running workload on its own
 * failure (DESIGN invariant 7): cancel() only ends a child that was never let go.
 */
#ifndef WEIR_ENGINE_WORKLOAD_H
#define WEIR_ENGINE_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct weir_workload {
    pid_t pid;         /* 0: none */
    int go_fd;         /* owned; writing a byte releases the child; closing it ends it; -1 */
    int exec_error_fd; /* owned; read end; -1 */
    bool reaped;
    int status; /* of waitpid(2), once reaped */
};

#define WEIR_WORKLOAD_INIT  \
    {                       \
        0, -1, -1, false, 0 \
    }

/* Forks the child, which gets the signal mask `child_mask` and default dispositions (SIGPIPE, SIGXFSZ, SIGUSR2 back to
 * default), no fd of ours (all CLOEXEC), its own scheduling untouched by ours. argv NULL-terminated, borrowed.
 * 0, or -errno with err (fork, pipe). */
int weir_workload_prepare(struct weir_workload *workload, char *const *argv, const sigset_t *child_mask,
                          struct weir_error *err);

/* Lets it exec. 0 once exec happened, or the -errno of exec with err ("cannot run 'foo'", hint with the nearest reason:
 * not found in PATH, not executable, is a directory, bad interpreter). */
int weir_workload_start(struct weir_workload *workload, struct weir_error *err);

/* Reaps it without blocking. True when it has ended (now or before). Call after SIGCHLD. */
bool weir_workload_poll(struct weir_workload *workload);

/* The one case where perf signals the workload: recording ended by itself or by a signal while it still runs. SIGTERM,
 * then waits for it. Status as it ended. */
void weir_workload_terminate(struct weir_workload *workload);

/* Ends a child that was never started and releases everything. NULL and empty are allowed. */
void weir_workload_fini(struct weir_workload *workload);

#endif

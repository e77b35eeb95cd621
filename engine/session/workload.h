/*
 * The command that `weir record COMMAND` runs: forked early, held until events are open, then let go.
 *
 *   parent                             child
 *   prepare: fork                  ->  blocks in a read of the go socket
 *   (opens events on its pid)
 *   start: one byte to go          ->  execvp; on failure writes its errno to the exec-error pipe
 *   start reads exec-error until   <-  (both are close-on-exec: a successful exec closes them)
 *   an errno or the end of file
 *   fini without start: SIGKILL    ->  is gone, nothing was run
 *
 * The go channel is a socket pair, not a pipe, so that a child that was killed meanwhile gives EPIPE and no SIGPIPE.
 * If weir itself dies before start, the kernel closes go and the child ends: no command ever runs unobserved.
 *
 * Source of the protocol: evlist__prepare_workload(), tools/perf/util/evlist.c, Linux 6.12. Differences: the exec error
 * comes back over the pipe instead of SIGUSR1. Main thread only; a process that calls prepare() has one thread then.
 * weir never signals a running workload on its own failure: fini() only ends a child that was never let go.
 */
#ifndef WEIR_ENGINE_SESSION_WORKLOAD_H
#define WEIR_ENGINE_SESSION_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct weir_workload {
    pid_t pid;         /* 0: none */
    int go_fd;         /* owned; a byte releases the child, its end of file ends it; -1 once started */
    int exec_error_fd; /* owned; read end; -1 once started */
    bool reaped;
    int status; /* of waitpid(2), once reaped */

    /* Set by the caller before prepare(): its standard output goes where its standard error goes. Ours is the
     * recording's. */
    bool off_stdout;
    const char *environment; /* likewise, borrowed: "NAME=VALUE" that it gets besides ours; "" or NULL: nothing */
    const sigset_t *ignored; /* likewise, borrowed: see prepare(); NULL: none */
};

#define WEIR_WORKLOAD_INIT                     \
    {                                          \
        0, -1, -1, false, 0, false, NULL, NULL \
    }

/*
 * Forks the child, which gets the signal mask `child_mask` and the dispositions that weir was started with: SIGPIPE,
 * SIGXFSZ, SIGUSR2 and SIGCHLD ignored if they are in `ignored`, else at default; what else weir's parent ignored, as
 * nohup does, stays ignored. It gets no fd of ours (all CLOEXEC), its own scheduling untouched by ours. Until its exec
 * its comm is "weir-exec". argv NULL-terminated, not empty, borrowed for the call. In weir itself a SIGCHLD that was
 * inherited as ignored is set to default: no exit status could be had otherwise.
 * 0, or -errno with err (fork, pipe, socketpair), and then the workload is as it was.
 */
int weir_workload_prepare(struct weir_workload *workload, char *const *argv, const sigset_t *child_mask,
                          struct weir_error *err);

/*
 * Lets it exec; blocks until that is decided. argv as given to prepare(), for err.
 * 0 once exec happened, or the -errno of exec with err ("cannot run 'foo'", hint with the nearest reason: not found in
 * PATH, not executable, is a directory, bad interpreter), -ESRCH when the waiting child was killed before. After a
 * failure the child has been reaped.
 */
int weir_workload_start(struct weir_workload *workload, char *const *argv, struct weir_error *err);

/* Reaps it without blocking. True when it has ended (now or before), or when there is none. Call after SIGCHLD. */
bool weir_workload_poll(struct weir_workload *workload);

/* Whether it was reaped, killed by one of the signals that a program's own mistakes raise. */
bool weir_workload_has_crashed(const struct weir_workload *workload);

/* The one case where perf signals the workload: recording ended by itself or by a signal while it still runs. SIGTERM,
 * and SIGCONT in case it is stopped. Does not wait for its end. One that was never let go is ended as by fini(). */
void weir_workload_ask_to_end(struct weir_workload *workload);

/* Ends a child that was never started and releases everything. NULL and empty are allowed. */
void weir_workload_fini(struct weir_workload *workload);

#endif

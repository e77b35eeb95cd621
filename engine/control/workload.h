/*
 * The command of `weir record COMMAND`. weir forks it early, holds it until events are open, and then lets it execute.
 *
 *   parent                             child
 *   prepare: fork                  ->  blocks in a read of the go socket
 *   (opens events on its pid)
 *   start: one byte to go          ->  execvp; on failure writes its errno to the exec-error pipe
 *   start reads exec-error until   <-  (both are close-on-exec: a successful exec closes them)
 *   an errno or the end of file
 *   fini without start: SIGKILL    ->  is gone, nothing was run
 *
 * The go channel is a socket pair, not a pipe: for a child that was killed meanwhile, weir gets EPIPE and no SIGPIPE.
 * If weir itself dies before start, the kernel closes go and the child ends: no command ever runs unobserved.
 *
 * Source of the protocol: evlist__prepare_workload(), tools/perf/util/evlist.c, Linux 6.12. Unlike there, the exec
 * error comes back over a pipe instead of by SIGUSR1.
 *
 * Main thread only; the process has no other thread when it calls weir_workload_prepare(). weir never signals a running
 * workload because of its own failure. weir_workload_fini() ends only a child that never started the command.
 */
#ifndef WEIR_ENGINE_CONTROL_WORKLOAD_H
#define WEIR_ENGINE_CONTROL_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct weir_workload {
    pid_t pid;         /* 0: no child */
    int go_fd;         /* owned; a byte releases the child, the end of file ends it; -1 once started */
    int exec_error_fd; /* owned; read end; -1 once started */
    bool reaped;
    int status; /* of waitpid(2), once reaped */

    /* Set by the caller before weir_workload_prepare(): the standard output of the child goes to its standard error,
     * because the recording goes to weir's standard output. */
    bool off_stdout;
    const char *environment; /* set before prepare, borrowed: "NAME=VALUE" to add for the child; "" or NULL: nothing */
    const sigset_t *ignored; /* set before prepare, borrowed: signals that the child ignores; NULL: none */
};

#define WEIR_WORKLOAD_INIT                     \
    {                                          \
        0, -1, -1, false, 0, false, NULL, NULL \
    }

/*
 * Forks the child. The child gets the signal mask `child_mask`, and the signal dispositions with which weir started.
 * SIGPIPE, SIGXFSZ, SIGUSR2 and SIGCHLD are ignored if they are in `ignored`, else at default. Other signals that
 * weir's parent ignored, as nohup does, stay ignored. The child inherits no descriptor of weir (all are CLOEXEC), and
 * weir does not change its scheduling. Until its exec its comm is "weir-exec".
 *
 * argv is NULL-terminated, not empty, and borrowed for the call. In weir itself, prepare sets an inherited ignored
 * SIGCHLD to default: weir could not get an exit status otherwise. Returns 0; or -errno with err (fork, pipe,
 * socketpair), and then the workload is unchanged.
 */
int weir_workload_prepare(struct weir_workload *workload, char *const *argv, const sigset_t *child_mask,
                          struct weir_error *err);

/*
 * Lets the child exec, and blocks until exec has succeeded or failed. argv as given to weir_workload_prepare(), for
 * err.
 *
 * Returns 0 once exec has happened; -ESRCH when the waiting child was killed before; or the -errno of exec with err.
 * err says "cannot run 'foo'". A hint names the likely reason: not found in PATH, not executable, a directory, a bad
 * interpreter. After a failure the child has been reaped.
 */
int weir_workload_start(struct weir_workload *workload, char *const *argv, struct weir_error *err);

/* Reaps the child without blocking. Returns true when the child has ended, now or before, or when there is none. Call
 * after SIGCHLD. */
bool weir_workload_poll(struct weir_workload *workload);

/* Whether the child was reaped, and a signal killed it that a program's own mistakes raise. */
bool weir_workload_has_crashed(const struct weir_workload *workload);

/* Sends SIGTERM to the workload, and SIGCONT in case it is stopped. Only in this case perf signals the workload, too:
 * recording has ended, by itself or by a signal, and the workload still runs. Does not wait for its end. A child that
 * never started is ended as by weir_workload_fini(). */
void weir_workload_ask_to_end(struct weir_workload *workload);

/* Ends a child that never started, and releases everything. workload may be NULL or empty. */
void weir_workload_fini(struct weir_workload *workload);

#endif

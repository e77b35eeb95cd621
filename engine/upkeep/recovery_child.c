/* The process that plans a recovery, and the wait for its end. recovery_answer.h has the form of its answer. */
#include "engine/upkeep/recovery_child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/upkeep/recovery_answer.h"
#include "engine/upkeep/sandbox.h"

static void answer(int fd, const struct weir_recovery_options *options, const struct weir_notice_sink *notices)
{
    struct weir_sandbox_gate sandbox = {.kind = WEIR_SANDBOX_RECOVERY, .notices = notices};
    struct weir_input_gate gate = weir_sandbox_input_gate(&sandbox);
    gate.progress = options->progress;
    struct weir_recovery_options bound = *options;
    struct weir_recovery recovery = {0};
    struct weir_error err = {0};
    bound.gate = &gate;
    int result = weir_recovery_plan(&recovery, &bound, &err);
    weir_recovery_answer_write(fd, result, &recovery, &err); /* a parent that has gone needs no answer */
    weir_recovery_fini(&recovery);
}

static int fail_child(const char *path, int status, struct weir_error *err)
{
    if (WIFSIGNALED(status))
        return weir_error_set(err, -EBADMSG, "%s: the process reading it was killed by signal %d (%s)", path,
                              WTERMSIG(status), strsignal(WTERMSIG(status)));
    return weir_error_set(err, -EBADMSG, "%s: the process reading it gave no answer", path);
}

int weir_recovery_child_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                             const struct weir_notice_sink *notices, struct weir_error *err)
{
    int ends[2], status = 0, planned = 0;
    *recovery = (struct weir_recovery){0};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return weir_error_set_errno(err, -errno, "cannot recover %s", options->path);
    pid_t child = fork();
    if (child < 0) {
        int result = -errno;
        close(ends[0]);
        close(ends[1]);
        return weir_error_set_errno(err, result, "cannot start a process that reads %s", options->path);
    }
    if (child == 0) {
        close(ends[0]);
        answer(ends[1], options, notices);
        _exit(0);
    }
    close(ends[1]);
    int result = weir_recovery_answer_read(ends[0], options->path, &planned, recovery, err);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (result == -EBADMSG)
        return fail_child(options->path, status, err);
    return result < 0 ? weir_error_set_errno(err, result, "cannot recover %s", options->path) : planned;
}

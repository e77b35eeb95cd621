/*
 * The command of `weir record COMMAND` (workload.h has the protocol). The parent is the main thread of a process
 * without other threads. The child makes only async-signal-safe calls and execvp(3), which takes no lock in glibc.
 */
#include "engine/control/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"

#define COMM_BEFORE_EXEC    "weir-exec"     /* at most 15 bytes: TASK_COMM_LEN */
#define PATH_DEFAULT        "/bin:/usr/bin" /* execvp(3), ENVIRONMENT */
#define SCRIPT_HEAD_BYTES   256             /* BINPRM_BUF_SIZE: the part of a script that the kernel reads */
#define STATUS_EXEC_FAILED  127             /* nobody sees the status: the errno has gone through the pipe */
#define STATUS_NEVER_NEEDED 0

/* Both channels during the fork. */
struct channels {
    int go[2];         /* [0] the child's, [1] weir's */
    int exec_error[2]; /* [0] weir's, [1] the child's */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_channels(struct channels *channels)
{
    for (size_t i = 0; i < 2; i++) {
        close_fd(&channels->go[i]);
        close_fd(&channels->exec_error[i]);
    }
}

static int open_channels(struct channels *channels)
{
    *channels = (struct channels){{-1, -1}, {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels->go) < 0 ||
        pipe2(channels->exec_error, O_CLOEXEC) < 0) {
        int result = -errno;
        close_channels(channels);
        return result;
    }
    return 0;
}

/* ---- the child ---- */

static void restore_signals(const sigset_t *mask, const sigset_t *ignored)
{
    static const int ours[] = {SIGPIPE, SIGXFSZ, SIGUSR2, SIGCHLD};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ours); i++) {
        bool is_ignored = ignored && sigismember(ignored, ours[i]) == 1;
        const struct sigaction action = {.sa_handler = is_ignored ? SIG_IGN : SIG_DFL};
        sigaction(ours[i], &action, NULL);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static ssize_t read_uninterrupted(int fd, void *data, size_t bytes)
{
    ssize_t got;
    do
        got = read(fd, data, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

static _Noreturn void run_child(struct channels *channels, char *const *argv, const sigset_t *mask,
                                const struct weir_workload *asked)
{
    prctl(PR_SET_NAME, COMM_BEFORE_EXEC);
    close_fd(&channels->go[1]); /* otherwise the child's own copy would keep the end of file away */
    restore_signals(mask, asked->ignored);
    if (asked->off_stdout)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    if (asked->environment && asked->environment[0])
        putenv((char *)(uintptr_t)asked->environment); /* changes the child's memory only */

    char byte;
    if (read_uninterrupted(channels->go[0], &byte, 1) != 1)
        _exit(STATUS_NEVER_NEEDED);

    execvp(argv[0], argv);
    int code = -errno;
    while (write(channels->exec_error[1], &code, sizeof(code)) < 0 && errno == EINTR)
        ;
    _exit(STATUS_EXEC_FAILED);
}

/* ---- the parent ---- */

/* Waits for the child however long it takes. */
static void reap(struct weir_workload *workload)
{
    pid_t pid;
    do
        pid = waitpid(workload->pid, &workload->status, 0);
    while (pid < 0 && errno == EINTR);
    weir_assert(pid == workload->pid); /* ECHILD: other code of this process has reaped the child */
    workload->reaped = true;
}

static bool was_inherited_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

int weir_workload_prepare(struct weir_workload *workload, char *const *argv, const sigset_t *child_mask,
                          struct weir_error *err)
{
    weir_assert(argv[0]);
    struct channels channels;
    int result = open_channels(&channels);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot open the pipes to '%s'", argv[0]);

    if (was_inherited_ignored(SIGCHLD))
        signal(SIGCHLD, SIG_DFL);
    pid_t pid = fork();
    if (pid < 0) {
        result = weir_error_set_errno(err, -errno, "cannot fork to run '%s'", argv[0]);
        weir_error_hint(err, "the limit on processes may be reached: ulimit -u, or pids.max of the cgroup");
        close_channels(&channels);
        return result;
    }
    if (pid == 0)
        run_child(&channels, argv, child_mask, workload);

    close_fd(&channels.go[0]);
    close_fd(&channels.exec_error[1]);
    *workload = (struct weir_workload){.pid = pid, .go_fd = channels.go[1], .exec_error_fd = channels.exec_error[0]};
    return 0;
}

/* Finds the path that execvp(3) finds for a command: the first that exists, executable or not. False: none exists. */
static bool find_command(const char *name, char *path, size_t bytes)
{
    if (strchr(name, '/'))
        return (size_t)snprintf(path, bytes, "%s", name) < bytes && access(path, F_OK) == 0;

    const char *folder = getenv("PATH");
    if (!folder)
        folder = PATH_DEFAULT;
    for (;;) {
        int length = (int)strcspn(folder, ":");
        int used = snprintf(path, bytes, "%.*s%s%s", length, folder, length ? "/" : "", name);
        if ((size_t)used < bytes && access(path, F_OK) == 0)
            return true;
        if (folder[length] == '\0')
            return false;
        folder += length + 1;
    }
}

/* Returns the interpreter in the first line of a script; NULL for another kind of file. head holds the line and the
 * result. */
static const char *read_interpreter(const char *path, char head[SCRIPT_HEAD_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block weir */
    if (fd < 0)
        return NULL;
    ssize_t got = read_uninterrupted(fd, head, SCRIPT_HEAD_BYTES - 1);
    close(fd);
    if (got < 2 || memcmp(head, "#!", 2) != 0)
        return NULL;
    head[got] = '\0';
    char *start = head + 2 + strspn(head + 2, " \t");
    start[strcspn(start, " \t\n")] = '\0';
    return start;
}

static void hint_not_found(struct weir_error *err, const char *name, const char *path)
{
    char head[SCRIPT_HEAD_BYTES];
    const char *interpreter = path ? read_interpreter(path, head) : NULL;
    if (!name[0])
        weir_error_hint(err, "the command is an empty word: a variable of the shell may be unset");
    else if (!path && strchr(name, '/'))
        weir_error_hint(err, "there is no such file");
    else if (!path)
        weir_error_hint(err, "it is in no folder of PATH: give its path, as in ./%s", name);
    else if (!interpreter)
        weir_error_hint(err, "the dynamic loader that %s asks for is not there: file %s", path, path);
    else if (strchr(interpreter, '\r'))
        weir_error_hint(err, "the first line of %s ends in a carriage return: sed -i 's/\\r$//' %s", path, path);
    else
        weir_error_hint(err, "%s is a script for '%s', which is not there", path, interpreter);
}

/* Whether the file system of the path executes nothing, whatever the mode of the file. */
static bool is_on_noexec(const char *path)
{
    struct statvfs status;
    return statvfs(path, &status) == 0 && (status.f_flag & ST_NOEXEC);
}

static void hint_denied(struct weir_error *err, const char *path)
{
    struct stat status;
    if (!path || stat(path, &status) < 0)
        weir_error_hint(err, "a folder on the way to it may not be entered");
    else if (S_ISDIR(status.st_mode))
        weir_error_hint(err, "%s is a directory", path);
    else if (!is_on_noexec(path) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        weir_error_hint(err, "it is not executable: chmod +x %s", path);
    else
        weir_error_hint(err,
                        "it or its interpreter lies on a file system that is mounted noexec, or may not be executed");
}

static int set_exec_error(struct weir_error *err, int code, const char *name)
{
    weir_error_set_errno(err, code, "cannot run '%s'", name);
    char space[PATH_MAX];
    const char *path = find_command(name, space, sizeof(space)) ? space : NULL;
    if (code == -ENOENT)
        hint_not_found(err, name, path);
    else if (code == -EACCES)
        hint_denied(err, path);
    return code;
}

int weir_workload_start(struct weir_workload *workload, char *const *argv, struct weir_error *err)
{
    weir_assert(workload->go_fd >= 0);

    int result = 0, code;
    if (send(workload->go_fd, "", 1, MSG_NOSIGNAL) != 1)
        result = weir_error_set(err, -ESRCH, "the process that was to run '%s' was killed before it could", argv[0]);
    else if (read_uninterrupted(workload->exec_error_fd, &code, sizeof(code)) == sizeof(code))
        result = set_exec_error(err, code, argv[0]);

    close_fd(&workload->go_fd);
    close_fd(&workload->exec_error_fd);
    if (result < 0 && !workload->reaped)
        reap(workload);
    return result;
}

bool weir_workload_poll(struct weir_workload *workload)
{
    if (workload->pid == 0 || workload->reaped)
        return true;
    pid_t pid = waitpid(workload->pid, &workload->status, WNOHANG);
    weir_assert(pid >= 0);
    workload->reaped = pid == workload->pid;
    return workload->reaped;
}

/* Ends a child that never started. SIGKILL, because the child may be stopped or block SIGTERM; it has nothing to clean
 * up. */
static void end_held(struct weir_workload *workload)
{
    close_fd(&workload->go_fd);
    close_fd(&workload->exec_error_fd);
    if (workload->reaped)
        return;
    kill(workload->pid, SIGKILL);
    reap(workload);
}

bool weir_workload_has_crashed(const struct weir_workload *workload)
{
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    for (size_t i = 0; workload->reaped && i < WEIR_ARRAY_COUNT(signals); i++) {
        if (WIFSIGNALED(workload->status) && WTERMSIG(workload->status) == signals[i])
            return true;
    }
    return false;
}

void weir_workload_ask_to_end(struct weir_workload *workload)
{
    if (workload->go_fd >= 0) {
        end_held(workload);
        return;
    }
    if (weir_workload_poll(workload))
        return;
    kill(workload->pid, SIGTERM);
    kill(workload->pid, SIGCONT);
}

void weir_workload_fini(struct weir_workload *workload)
{
    if (!workload)
        return;
    if (workload->go_fd >= 0)
        end_held(workload);
    *workload = (struct weir_workload)WEIR_WORKLOAD_INIT;
}

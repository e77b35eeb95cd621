/* Files are made and renamed here; the child only writes. */
#include "report/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/new_file.h"
#include "base/write_whole.h"

#define FILE_MODE    0666
#define SPOOL_FOLDER "/var/tmp"
#define COPY_BYTES   65536

static int run_child(const struct weir_report_maker *maker, int fd, int *status, struct weir_error *err)
{
    int ended = 0;
    pid_t child = fork();
    if (child < 0)
        return weir_error_set_errno(err, -errno, "cannot start the process that reads the recording");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a report that nobody names is not worth its time */
        _exit(maker->make(maker->ctx, fd));
    }
    if (maker->serve)
        maker->serve(maker->ctx);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGPIPE)
        return -EPIPE;
    if (WIFSIGNALED(ended))
        return weir_error_set(err, -EBADMSG, "the process that reads the recording was killed by signal %d (%s)",
                              WTERMSIG(ended), strsignal(WTERMSIG(ended)));
    *status = WEXITSTATUS(ended);
    return 0;
}

/* A device or a FIFO is written to, not replaced. */
static int run_into_present(const struct weir_report_maker *maker, const char *path, int *status,
                            struct weir_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", path);
    int result = run_child(maker, fd, status, err);
    close(fd);
    return result;
}

static int run_in_directory(const struct weir_report_maker *maker, int directory_fd, const char *name, const char *path,
                            int *status, struct weir_error *err)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES];
    int fd = weir_new_file_open(directory_fd, FILE_MODE, hidden);
    if (fd < 0)
        return weir_error_set_errno(err, fd, "cannot create %s", path);
    int result = run_child(maker, fd, status, err);
    bool made = result == 0 && *status == 0;
    int ended = weir_new_file_end(directory_fd, fd, hidden, made ? name : NULL);
    return made && ended < 0 ? weir_error_set_errno(err, ended, "cannot write %s", path) : result;
}

static int run_into_new(const struct weir_report_maker *maker, const char *path, int *status, struct weir_error *err)
{
    const char *name;
    int directory_fd = weir_directory_open_parent(path, &name);
    if (directory_fd < 0)
        return weir_error_set_errno(err, directory_fd, "cannot create %s", path);
    int result = run_in_directory(maker, directory_fd, name, path, status, err);
    close(directory_fd);
    return result;
}

int weir_report_file_run(const struct weir_report_maker *maker, const char *path, int *status, struct weir_error *err)
{
    struct stat present;
    if (!path)
        return run_child(maker, STDOUT_FILENO, status, err);
    bool exists = stat(path, &present) == 0;
    if (exists && S_ISDIR(present.st_mode))
        return weir_error_set_errno(err, -EISDIR, "cannot write %s", path);
    if (exists && !S_ISREG(present.st_mode))
        return run_into_present(maker, path, status, err);
    return run_into_new(maker, path, status, err);
}

static int copy_all(int from, int to)
{
    char bytes[COPY_BYTES];
    ssize_t got;
    while ((got = read(from, bytes, sizeof(bytes))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        int result = weir_write_whole(to, bytes, (size_t)got);
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_report_spool(int fd, struct weir_error *err)
{
    const char *folder = getenv("TMPDIR");
    folder = folder && folder[0] ? folder : SPOOL_FOLDER;
    int copy = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (copy < 0)
        return weir_error_set_errno(err, -errno, "cannot create a file in %s, as a stream has to be read twice",
                                    folder);
    int result = copy_all(fd, copy);
    if (result < 0) {
        weir_error_set_errno(err, result, "cannot copy the stream to %s", folder);
        weir_error_hint(err, "TMPDIR names a folder with more room");
        close(copy);
    }
    return result < 0 ? result : copy;
}

/* Files are made and renamed here; the child only writes. */
#include "report/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_MODE    0666
#define SPOOL_FOLDER "/var/tmp"
#define COPY_BYTES   65536

static int run_child(const struct weir_report_maker *maker, int fd, int *status, struct weir_error *err)
{
    int ended = 0;
    pid_t child = fork();
    if (child < 0)
        return weir_error_set_errno(err, -errno, "cannot start the process that makes the report");
    if (child == 0)
        _exit(maker->make(maker->ctx, fd));
    if (maker->serve)
        maker->serve(maker->ctx);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGPIPE)
        return -EPIPE;
    if (WIFSIGNALED(ended))
        return weir_error_set(err, -EBADMSG, "the process that makes the report was killed by signal %d (%s)",
                              WTERMSIG(ended), strsignal(WTERMSIG(ended)));
    *status = WEXITSTATUS(ended);
    return 0;
}

/* mkstemp(3) makes files that only their owner may read: a report is as any other output. */
static void allow_as_usual(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(fd, FILE_MODE & ~mask);
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

int weir_report_file_run(const struct weir_report_maker *maker, const char *path, int *status, struct weir_error *err)
{
    char temporary[PATH_MAX];
    struct stat present;
    if (!path)
        return run_child(maker, STDOUT_FILENO, status, err);
    if (stat(path, &present) == 0 && S_ISDIR(present.st_mode))
        return weir_error_set_errno(err, -EISDIR, "cannot write %s", path);
    if (stat(path, &present) == 0 && !S_ISREG(present.st_mode))
        return run_into_present(maker, path, status, err);
    if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary))
        return weir_error_set_errno(err, -ENAMETOOLONG, "cannot create %.64s...", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return weir_error_set_errno(err, -errno, "cannot create %s", path);
    allow_as_usual(fd);
    int result = run_child(maker, fd, status, err);
    if (close(fd) < 0 && result == 0 && *status == 0)
        result = weir_error_set_errno(err, -errno, "cannot write %s", path);
    if (result == 0 && *status == 0 && rename(temporary, path) < 0)
        result = weir_error_set_errno(err, -errno, "cannot name %s", path);
    if (result < 0 || *status != 0)
        unlink(temporary);
    return result;
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
        for (ssize_t done = 0; done < got;) {
            ssize_t written = write(to, bytes + done, (size_t)(got - done));
            if (written < 0 && errno != EINTR)
                return -errno;
            done += written > 0 ? written : 0;
        }
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

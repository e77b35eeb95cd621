/*
 * The stream of an output: which descriptors are taken, and how they are opened so that a write never blocks for long.
 * Set-up only.
 *
 * Whether a descriptor blocks is a property of its open file description. Standard output shares the description with
 * the shell and with all other writers, so setting O_NONBLOCK would change it for all of them. Instead a pipe is opened
 * once more, through /proc/self/fd, which gives a description of our own (proc(5), pipe(7)). Where that fails, and for
 * sockets, bytes go out in pieces for which poll(2) has found room. A regular file or a device is written at the place
 * and with the flags of the shell (">", ">>").
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/output_file_internal.h"

#define STREAM_NAME         "-"
#define PIPE_MAX_FILE       "/proc/sys/fs/pipe-max-size"
#define PIPE_BYTES_FALLBACK (1 << 20) /* the default of fs.pipe-max-size */
#define PIPE_BYTES_LEAST    (1 << 16) /* of a new pipe */

int weir_output_file_check_stream(int fd, struct weir_error *err)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return weir_error_set_errno(err, -errno, "cannot write the recording to standard output");
    if ((flags & O_ACCMODE) == O_RDONLY)
        return weir_error_set(err, -EBADF, "standard output is not open for writing");
    if (isatty(fd)) {
        weir_error_set(err, -ENOTTY, "refusing to write binary data to a terminal");
        weir_error_hint(err, "write to a file (-o perf.data) or to a pipe: weir record -o - ... | perf report -i -");
        return -ENOTTY;
    }
    return 0;
}

static int read_pipe_max(void)
{
    char text[32] = "";
    int fd = open(PIPE_MAX_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    long bytes = length > 0 ? strtol(text, NULL, 10) : 0;
    return bytes > 0 && bytes <= INT_MAX ? (int)bytes : PIPE_BYTES_FALLBACK;
}

/* Enlarges a pipe: the more it holds, the longer its consumer may be busy. An unprivileged user may have used up the
 * share of all pipes (EPERM). */
static void enlarge_pipe(int fd)
{
    int present = fcntl(fd, F_GETPIPE_SZ);
    for (int bytes = read_pipe_max(); bytes > present && bytes > PIPE_BYTES_LEAST; bytes /= 2) {
        if (fcntl(fd, F_SETPIPE_SZ, bytes) >= 0)
            return;
    }
}

/* Opens a description of our own that does not block. The descriptor, or -1. */
static int open_again(int fd)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int weir_output_file_open_stream(struct weir_output_file *file, int fd, size_t *piece, struct weir_error *err)
{
    *file = (struct weir_output_file){.dir_fd = -1, .fd = -1, .published = true, .stream = true};
    int rc = weir_output_file_check_stream(fd, err);
    if (rc < 0)
        return rc;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return weir_error_set_errno(err, -errno, "cannot inspect standard output");

    bool in_pieces = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
    if (S_ISFIFO(st.st_mode)) {
        enlarge_pipe(fd);
        file->fd = open_again(fd);
        in_pieces = file->fd < 0;
    }
    if (file->fd < 0)
        file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    file->path = strdup(STREAM_NAME);
    if (file->fd < 0 || !file->path) {
        rc = weir_error_set_errno(err, file->path ? -errno : -ENOMEM, "cannot set up the output stream");
        weir_output_file_fini(file);
        return rc;
    }
    *piece = in_pieces ? PIPE_BUF : 0;
    return 0;
}

/* The real file operations of an output. Any thread; all may block. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io/io_ops.h"

/* Whether a file lives in the page cache. Such a file gains nothing from O_DIRECT, which tmpfs accepts since 6.6, nor
 * from fallocate(2), which would zero pages that are about to be written. */
static bool is_memory_file(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static bool is_device(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

static int file_open_direct(void *ctx, int fd)
{
    (void)ctx;
    if (is_memory_file(fd) || is_device(fd))
        return -EOPNOTSUPP;

    /* A second open file description: O_DIRECT set by F_SETFL would hold for the first description too. */
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int direct = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
    return direct < 0 ? -errno : direct;
}

static bool file_is_sink(void *ctx, int fd)
{
    (void)ctx;
    return is_device(fd);
}

static ssize_t file_pwritev(void *ctx, int fd, const struct iovec *parts, int part_count, off_t offset)
{
    (void)ctx;
    ssize_t written = pwritev(fd, parts, part_count, offset);
    return written < 0 ? -errno : written;
}

static ssize_t file_copy_range(void *ctx, int from, off_t *from_at, int to, off_t *to_at, size_t bytes)
{
    (void)ctx;
    ssize_t copied = copy_file_range(from, from_at, to, to_at, bytes, 0);
    return copied < 0 ? -errno : copied;
}

static int file_fallocate(void *ctx, int fd, off_t offset, off_t bytes)
{
    (void)ctx;
    int rc;
    do {
        rc = fallocate(fd, 0, offset, bytes);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

static int file_ftruncate(void *ctx, int fd, off_t bytes)
{
    (void)ctx;
    if (ftruncate(fd, bytes) == 0)
        return 0;
    int rc = -errno;
    return rc == -EINVAL && is_device(fd) ? 0 : rc;
}

/* sync: fsync(2) or fdatasync(2). */
static int sync_with(int (*sync)(int fd), int fd)
{
    int rc;
    do {
        rc = sync(fd) < 0 ? -errno : 0;
    } while (rc == -EINTR);
    return rc == -EINVAL && is_device(fd) ? 0 : rc;
}

static int file_fsync(void *ctx, int fd)
{
    (void)ctx;
    return sync_with(fsync, fd);
}

static int file_fdatasync(void *ctx, int fd)
{
    (void)ctx;
    return sync_with(fdatasync, fd);
}

static void file_close(void *ctx, int fd)
{
    (void)ctx;
    close(fd);
}

static ssize_t file_writev(void *ctx, int fd, const struct iovec *parts, int part_count)
{
    (void)ctx;
    ssize_t written = writev(fd, parts, part_count);
    return written < 0 ? -errno : written;
}

static int file_wait_for_room(void *ctx, int fd, unsigned wait_ms)
{
    (void)ctx;
    struct pollfd stream = {.fd = fd, .events = POLLOUT};
    return poll(&stream, 1, (int)wait_ms) > 0; /* EINTR counts as no room yet */
}

const struct weir_io_file_ops weir_io_file_real = {
    .open_direct = file_open_direct,
    .is_sink = file_is_sink,
    .pwritev = file_pwritev,
    .copy_range = file_copy_range,
    .fallocate = file_fallocate,
    .ftruncate = file_ftruncate,
    .fsync = file_fsync,
    .fdatasync = file_fdatasync,
    .close = file_close,
    .writev = file_writev,
    .wait_for_room = file_wait_for_room,
};

/* Tries out the system calls that an output would use. Source: io_uring_setup(2), open(2) on O_TMPFILE and O_DIRECT,
 * statvfs(3). */
#include "io/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PROBE_DEPTH 2
#define FILE_MODE   0600

int weir_io_probe_uring(void)
{
    struct io_uring ring;
    int result = io_uring_queue_init(PROBE_DEPTH, &ring, 0);
    if (result == 0)
        io_uring_queue_exit(&ring);
    return result;
}

static int probe_nameless(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_DIRECT | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

static int probe_named(int dir_fd)
{
    char name[64];
    snprintf(name, sizeof(name), ".weir-%d-probe", (int)getpid());
    int fd = openat(dir_fd, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return -errno;
    int direct = openat(dir_fd, name, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    int result = direct < 0 ? -errno : 0;
    unlinkat(dir_fd, name, 0);
    close(fd);
    if (direct >= 0)
        close(direct);
    return result;
}

/* The current directory may have been removed. */
static bool is_removed(int dir_fd)
{
    struct stat status;
    return fstat(dir_fd, &status) == 0 && status.st_nlink == 0;
}

int weir_io_probe_direct(const char *folder)
{
    int dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    int result = probe_nameless(dir_fd);
    /* O_TMPFILE itself may be refused: a hidden name serves then, as in io/output_file.c. */
    if (result == -EOPNOTSUPP || result == -EISDIR || result == -EINVAL || result == -ENOENT)
        result = probe_named(dir_fd);
    if (result < 0 && is_removed(dir_fd)) /* EPERM by ext4 */
        result = -ENOENT;
    close(dir_fd);
    return result;
}

char *weir_io_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int weir_io_probe_space(const char *folder, uint64_t *free_bytes)
{
    struct statvfs space;
    if (statvfs(folder, &space) < 0)
        return -errno;
    *free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    return 0;
}

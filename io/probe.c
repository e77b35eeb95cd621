/* Trying out what an output would use. Source: io_uring_setup(2), open(2) on O_TMPFILE and O_DIRECT, statvfs(3). */
#include "io/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PROBE_DEPTH 2

int weir_io_probe_uring(void)
{
    struct io_uring ring;
    int result = io_uring_queue_init(PROBE_DEPTH, &ring, 0);
    if (result == 0)
        io_uring_queue_exit(&ring);
    return result;
}

int weir_io_probe_direct(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

int weir_io_probe_space(const char *folder, uint64_t *free_bytes)
{
    struct statvfs space;
    if (statvfs(folder, &space) < 0)
        return -errno;
    *free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    return 0;
}

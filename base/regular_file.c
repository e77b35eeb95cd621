/* Regular files only, see regular_file.h. Any thread. Source: open(2) on O_PATH, proc(5) on PID/fd. */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int weir_regular_file_open(int dir_fd, const char *path, struct stat *status)
{
    char anew[32];
    int place = openat(dir_fd, path, O_PATH | O_CLOEXEC); /* the path only: no driver notices */
    if (place < 0)
        return -errno;
    int fd = -1, result = fstat(place, status) < 0 ? -errno : 0;
    if (result == 0 && !S_ISREG(status->st_mode))
        result = -ENODATA;
    if (result == 0) {
        snprintf(anew, sizeof(anew), "/proc/self/fd/%d", place);
        fd = open(anew, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        result = fd < 0 ? -errno : 0;
    }
    close(place);
    return result < 0 ? result : fd;
}

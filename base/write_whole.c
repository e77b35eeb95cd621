/* See write_whole.h. Any thread. */
#include "base/write_whole.h"

#include <errno.h>
#include <unistd.h>

int weir_write_whole(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t written = write(fd, (const uint8_t *)data + done, bytes - done);
        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

int weir_write_whole_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t written = pwrite(fd, (const uint8_t *)data + done, bytes - done, (off_t)(offset + done));
        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

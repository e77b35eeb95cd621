/* See read_whole.h. Any thread. */
#include "base/read_whole.h"

#include <errno.h>
#include <unistd.h>

ssize_t weir_read_whole(int fd, void *data, size_t bytes)
{
    ssize_t got = 1;
    size_t done = 0;
    while (got != 0 && done < bytes) {
        got = read(fd, (uint8_t *)data + done, bytes - done);
        if (got < 0 && errno != EINTR)
            return -errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

ssize_t weir_read_whole_at(int fd, void *data, size_t bytes, uint64_t offset)
{
    ssize_t got = 1;
    size_t done = 0;
    while (got != 0 && done < bytes && offset + done <= INT64_MAX) {
        got = pread(fd, (uint8_t *)data + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return -errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

bool weir_read_exactly_at(int fd, void *data, size_t bytes, uint64_t offset)
{
    return weir_read_whole_at(fd, data, bytes, offset) == (ssize_t)bytes;
}

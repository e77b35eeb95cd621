/* See write_whole.h. Any thread. */
#include "base/write_whole.h"

#include <errno.h>
#include <stdint.h>
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

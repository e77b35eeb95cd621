/*
 * Room for the end of a file, held by a nameless file beside it until the end is written: see weir_output_set_aside().
 * Set-up and end only; the thread that owns the output.
 *
 * The data would use up room right behind it in the file itself, and room far behind it would stay allocated after a
 * kill. A nameless file vanishes with its descriptor.
 */
#include <fcntl.h>
#include <sys/statvfs.h>

#include "base/assert.h"
#include "base/bits.h"
#include "io/output_internal.h"

#define FILE_MODE  0600
#define FREE_SHARE 16

uint64_t weir_output_set_aside(struct weir_output *output, uint64_t bytes, uint64_t least)
{
    const struct weir_output_writes *writes = &output->writes;
    int dir_fd = output->file.dir_fd;
    struct statvfs space;
    weir_assert(output->reserve_fd < 0 && !output->finished);
    if (dir_fd < 0 || fstatvfs(dir_fd, &space) < 0)
        return 0;
    uint64_t share = (uint64_t)space.f_bavail * space.f_frsize / FREE_SHARE;
    output->tail_least = output->tail_least_beyond = least;
    bytes = weir_align_down(weir_min_u64(bytes, share), WEIR_OUTPUT_BLOCK_BYTES);
    if (bytes == 0)
        return 0;

    int fd = openat(dir_fd, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, FILE_MODE); /* nobody can name it */
    if (fd < 0)
        return 0;
    if (writes->file_ops->fallocate(writes->ctx, fd, 0, (off_t)bytes) < 0) {
        writes->file_ops->close(writes->ctx, fd);
        return 0;
    }
    output->reserve_fd = fd;
    output->tail_least_beyond = least - weir_min_u64(least, bytes);
    return bytes;
}

bool weir_output_give_back(struct weir_output *output)
{
    const struct weir_output_writes *writes = &output->writes;
    if (output->reserve_fd < 0)
        return false;
    writes->file_ops->ftruncate(writes->ctx, output->reserve_fd,
                                0); /* frees the room at once: some file systems close in the background */
    writes->file_ops->close(writes->ctx, output->reserve_fd);
    output->reserve_fd = -1;
    return true;
}

/*
 * Whether another process has removed or cut the file of an output. The thread that owns the output, while it writes
 * and at the end.
 *
 * A file that is cut and then written behind the cut has a hole (lseek(2), SEEK_HOLE). An output itself never makes a
 * hole on ext4, XFS, btrfs and tmpfs. On other file systems blocks of zeros may become holes, so there only the size
 * and the first bytes of the file tell.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bits.h"
#include "io/output_internal.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

static bool keeps_zeros(int fd)
{
    static const long systems[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC};
    struct statfs status;
    bool is_known = false;
    if (fstatfs(fd, &status) < 0)
        return false;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(systems); i++)
        is_known |= status.f_type == systems[i];
    return is_known;
}

void weir_output_note_file_system(struct weir_output *output)
{
    output->keeps_zeros = keeps_zeros(output->file.fd);
}

/* Returns the first byte of [0, end) that is missing; end: none is. */
static uint64_t first_missing(const struct weir_output *output, uint64_t bytes, uint64_t end)
{
    int fd = output->file.fd;
    uint8_t first = 0;
    if (bytes < end)
        return bytes;
    if (pread(fd, &first, sizeof(first), 0) == (ssize_t)sizeof(first) && first == 0)
        return 0; /* every head begins with letters */
    off_t hole = output->keeps_zeros ? lseek(fd, 0, SEEK_HOLE) : -1;
    return hole >= 0 ? weir_min_u64((uint64_t)hole, end) : end;
}

int weir_output_check_kept(const struct weir_output *output, struct weir_error *err)
{
    const struct weir_output_file *file = &output->file;
    struct stat status;
    if (file->stream || !file->published || fstat(file->fd, &status) < 0 || !S_ISREG(status.st_mode))
        return 0;
    if (status.st_nlink == 0)
        return weir_error_set(err, -ENOENT, "'%s' was removed while recording: what was recorded is lost", file->path);
    uint64_t missing = first_missing(output, (uint64_t)status.st_size, output->stable_end);
    if (missing == output->stable_end)
        return 0;
    return weir_error_set(err, -ENODATA, "'%s' was cut at %" PRIu64 " bytes while recording: what stood behind is lost",
                          file->path, missing);
}

/* A file that was cut and written on has a hole from the cut to the block where the writer was. That block is at or
 * behind the end of the last look: so the block in front of that end tells. */
static int look(struct weir_output *output)
{
    struct stat status;
    uint64_t end = output->stable_end, from = output->looked_end;
    if (output->file.stream || fstat(output->file.fd, &status) < 0 || !S_ISREG(status.st_mode))
        return 0;
    if (status.st_nlink == 0)
        return output->looked_named || output->file.beside ? -ENOENT : 0;
    output->looked_named = true;
    output->looked_end = end;
    if ((uint64_t)status.st_size < end)
        return -ENODATA;
    uint64_t back = weir_min_u64(from, (uint64_t)status.st_blksize + 1);
    off_t hole = from > 0 && output->keeps_zeros ? lseek(output->file.fd, (off_t)(from - back), SEEK_HOLE) : -1;
    return hole >= 0 && (uint64_t)hole < end ? -ENODATA : 0;
}

int weir_output_look(struct weir_output *output)
{
    int result = output->told_taken ? 0 : look(output);
    output->told_taken |= result < 0;
    return result;
}

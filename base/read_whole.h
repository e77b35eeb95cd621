/* Reads all of a block, or the bytes that come before the end. Any thread. */
#ifndef WEIR_BASE_READ_WHOLE_H
#define WEIR_BASE_READ_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads bytes from the position of fd, which may take several calls of read(2). Returns the count, which is less than
 * bytes at the end only, or -errno of read(2): part of the block may be read then. Blocks as read(2) does. */
ssize_t weir_read_whole(int fd, void *data, size_t bytes);

/* Does as weir_read_whole(), by pread(2) at an offset of a file. No byte is read beyond INT64_MAX. */
ssize_t weir_read_whole_at(int fd, void *data, size_t bytes, uint64_t offset);

/* Does as weir_read_whole_at(), and returns whether all bytes were read. */
bool weir_read_exactly_at(int fd, void *data, size_t bytes, uint64_t offset);

#endif

/* Writes all of a block. Any thread. */
#ifndef WEIR_BASE_WRITE_WHOLE_H
#define WEIR_BASE_WRITE_WHOLE_H

#include <stddef.h>
#include <stdint.h>

/* Writes bytes to fd at its position, which may take several calls of write(2). 0, or -errno of write(2): part of the
 * block may be written then. Blocks as write(2) does. */
int weir_write_whole(int fd, const void *data, size_t bytes);

/* Does as weir_write_whole(), by pwrite(2) at an offset of a file. */
int weir_write_whole_at(int fd, const void *data, size_t bytes, uint64_t offset);

#endif

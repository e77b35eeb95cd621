/* Writes all of a block. Any thread. */
#ifndef WEIR_BASE_WRITE_WHOLE_H
#define WEIR_BASE_WRITE_WHOLE_H

#include <stddef.h>

/* Writes bytes to fd at its position, which may take several calls of write(2). 0, or -errno of write(2): part of the
 * block may be written then. Blocks as write(2) does. */
int weir_write_whole(int fd, const void *data, size_t bytes);

#endif

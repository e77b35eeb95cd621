/* What the output would find in a folder and in this kernel, without an output. Any thread; blocks on the file system.
 */
#ifndef WEIR_IO_PROBE_H
#define WEIR_IO_PROBE_H

#include <stdint.h>

/* Whether io_uring can be had: 0, or -errno of io_uring_setup(2). */
int weir_io_probe_uring(void);

/* Whether a file can be made in folder, without a name or with a hidden one, and opened with O_DIRECT: 0, or -errno of
 * open(2): -EINVAL, where the file system does not do O_DIRECT; -ENOENT also for a folder that was removed. Nothing
 * stays. */
int weir_io_probe_direct(const char *folder);

/* What an unprivileged writer may still write there. 0, or -errno of statvfs(3). */
int weir_io_probe_space(const char *folder, uint64_t *free_bytes);

#endif

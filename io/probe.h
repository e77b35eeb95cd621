/* Finds out what a folder and this kernel offer to an output, without an output. Any thread; blocks on the file system.
 */
#ifndef WEIR_IO_PROBE_H
#define WEIR_IO_PROBE_H

#include <stdint.h>

/* Whether the kernel grants io_uring: 0, or -errno of io_uring_setup(2). */
int weir_io_probe_uring(void);

/* Whether a file can be made in folder, nameless or with a hidden name, and opened with O_DIRECT: 0, or -errno of
 * open(2): -EINVAL, where the file system has no O_DIRECT; -ENOENT also for a removed folder. Leaves nothing behind. */
int weir_io_probe_direct(const char *folder);

/* Returns the folder that the last component of path stands in, owned by the caller. NULL: no memory. */
char *weir_io_folder_of(const char *path);

/* Reads how many bytes an unprivileged writer may still write there. 0, or -errno of statvfs(3). */
int weir_io_probe_space(const char *folder, uint64_t *free_bytes);

#endif

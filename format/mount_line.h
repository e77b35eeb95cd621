/* Lines of /proc/mounts (proc_pid_mounts(5)), as getmntent_r(3) reads them. */
#ifndef WEIR_FORMAT_MOUNT_LINE_H
#define WEIR_FORMAT_MOUNT_LINE_H

#include <limits.h>

/* Buffer size for a line: source and mount point, each byte of which the kernel may write as four (seq_path()), and
 * options. A longer line loses its end, which holds options of other file systems. */
#define WEIR_MOUNT_LINE_BYTES (9 * PATH_MAX)

#endif

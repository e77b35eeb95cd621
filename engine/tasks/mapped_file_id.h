/* Finds the very file that was mapped, and reads its build id. Any thread; may block as file systems do. */
#ifndef WEIR_ENGINE_TASKS_MAPPED_FILE_ID_H
#define WEIR_ENGINE_TASKS_MAPPED_FILE_ID_H

#include <stdint.h>

#include "engine/tasks/mapped_files.h"

struct weir_mapped_file_roots {
    const char *proc; /* NULL: /proc */
    const char *sys;  /* NULL: /sys */
    int64_t begin_s;  /* CLOCK_REALTIME when recording began; for weir_mapped_file_open() */
};

/*
 * Opens the mapped file for reading. It tries, in this order:
 *
 *   - the name, here and in the file-system root of the task that mapped it (containers), if device and inode are those
 *     of the mapping;
 *   - the mapping itself (/proc/PID/map_files), with CAP_CHECKPOINT_RESTORE and while the mapping is there: it leads to
 *     deleted files, too;
 *   - the name, if the file was not changed since begin_s: overlay and btrfs number files differently in maps and in
 *     stat(2).
 *
 * Returns a descriptor of a regular file, or -errno.
 */
int weir_mapped_file_open(const struct weir_mapped_file *file, const char *name,
                          const struct weir_mapped_file_roots *roots);

/* Reads the build id of an object of any kind. 0; -ENODATA: it has none; -errno: its file cannot be opened or read. */
int weir_mapped_file_read_id(const struct weir_mapped_file *file, const char *name,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id *id);

#endif

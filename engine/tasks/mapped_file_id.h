/* Reading the build id of a mapped file: finding the very file that was mapped, then its note. */
#ifndef WEIR_ENGINE_TASKS_MAPPED_FILE_ID_H
#define WEIR_ENGINE_TASKS_MAPPED_FILE_ID_H

#include <stdint.h>

#include "engine/tasks/mapped_files.h"

struct weir_mapped_file_roots {
    const char *proc; /* NULL: /proc */
    const char *sys;  /* NULL: /sys */
    int64_t begin_s;  /* CLOCK_REALTIME when recording began, see weir_mapped_file_open() */
};

/*
 * Opens the file that was mapped, for reading. Its name is looked up here and in the file-system root of the task that
 * mapped it (containers); a file counts as found when device and inode are those of the mapping. Otherwise the mapping
 * itself is opened, which works as long as it is there, also for deleted files, and with CAP_CHECKPOINT_RESTORE. Last,
 * a file of that name is taken that was not changed since begin_s: overlay and btrfs number files differently in maps
 * and in stat(2). Returns a descriptor of a regular file, or -errno. May block as the file system does.
 */
int weir_mapped_file_open(const struct weir_mapped_file *file, const char *name,
                          const struct weir_mapped_file_roots *roots);

/* The build id of the object, whatever its kind. 0; -ENODATA: it has none; -errno: its file cannot be had. May block.
 * file and name are borrowed; nothing is written there. */
int weir_mapped_file_read_id(const struct weir_mapped_file *file, const char *name,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id *id);

#endif

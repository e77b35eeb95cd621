/*
 * `weir recover` turns an unfinished, cut or damaged recording into one that perf reads whole. It handles files, and
 * streams that were saved to a file, for which the output is a file with head and features. It also handles directories
 * of perf's parallel layout, each file of which then ends with its last whole record. It also copies the kernel's image
 * (--kcore).
 *
 * Another process plans the recovery (format/recovery.h, engine/upkeep/recovery_child.h); this module adds the
 * machine's description and writes to the disk. Main thread; blocks.
 */
#ifndef WEIR_ENGINE_UPKEEP_RECOVER_H
#define WEIR_ENGINE_UPKEEP_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "format/recovery.h"

struct weir_recover_options {
    const char *input_path;                 /* borrowed, as all pointers here */
    const char *output_path;                /* created, never overwritten; NULL: in place */
    bool assume_same_boot;                  /* see format/recovery.h */
    const char *tracefs_root;               /* NULL: the mounted tracefs; tests give a copy */
    const char *proc_root;                  /* NULL: "/proc"; tests give a copy */
    const struct weir_notice_sink *notices; /* may be NULL */
    struct weir_input_progress progress;    /* of the plan; its process is a child, in which tell() is called */
};

/*
 * Recovers a recording. *recovery is the plan as carried out; release it with weir_recovery_fini().
 *
 * In place (without output_path), only files that have to change are opened for writing. New bytes go behind the data
 * first, then the header, with fsync(2) in between.
 *
 * 0; or with err, and the new output is removed (a directory, too): the errors of weir_recovery_child_plan(), -EEXIST
 * (the output exists), -errno of writing; in place also -EBUSY (a recorder still writes the file), -ESTALE (another
 * file has got its name), -ELOOP and -EINVAL (a file that has to change is a symbolic link, or has other hard links).
 */
int weir_recover_run(const struct weir_recover_options *options, struct weir_recovery *recovery,
                     struct weir_error *err);

#endif

/*
 * `weir recover`: a file that was never finished, or is cut or damaged, becomes one that perf reads whole; likewise a
 * directory of perf's parallel layout, each file of which is ended with its last whole record, and a stream that was
 * saved to a file. A copy of the kernel (--kcore) goes along. Joins format/recovery.h, which plans it in a process of
 * its own (engine/upkeep/recovery_child.h), with the machine's description and the disk. Main thread; blocks.
 */
#ifndef WEIR_ENGINE_UPKEEP_RECOVER_H
#define WEIR_ENGINE_UPKEEP_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "format/recovery.h"

struct weir_recover_options {
    const char *input_path;                 /* borrowed, as all here */
    const char *output_path;                /* made, never overwritten; NULL: in place */
    bool assume_same_boot;                  /* see format/recovery.h */
    const char *tracefs_root;               /* NULL: found; tests give a copy */
    const char *proc_root;                  /* NULL: "/proc"; likewise */
    const struct weir_notice_sink *notices; /* may be NULL */
};

/*
 * Recovers. *recovery is what was planned and done, to be freed with weir_recovery_fini(). Without output_path only a
 * file that has to change is written to: first behind its data, then its header, fsync(2) between. 0; or with err, and
 * an output that was begun is removed (a directory too): as weir_recovery_child_plan(), -EEXIST (the output exists),
 * -errno of writing; in place -EBUSY (a recorder still writes it), -ELOOP and -EINVAL (it or one of the files of a
 * directory that have to change is a symbolic link, or has other names).
 */
int weir_recover_run(const struct weir_recover_options *options, struct weir_recovery *recovery,
                     struct weir_error *err);

#endif

/* Whether a recording was made by the kernel that runs now, since it was booted. One thread; reads files. */
#ifndef WEIR_FORMAT_SAME_BOOT_H
#define WEIR_FORMAT_SAME_BOOT_H

#include "base/error.h"
#include "format/perf_input.h"

/*
 * Compares the kernel's map in the recording with the one that would be recorded now, and the time of the file's last
 * change with that of the boot. proc_root: NULL is "/proc". 0; or with err -ESTALE (what differs, or cannot be
 * compared) or -ENOMEM.
 */
int weir_same_boot_check(const char *path, const char *proc_root, struct weir_error *err);

/* Only the time of the file's last change: for a recording of no kernel, which has no map of one. As check(). */
int weir_same_boot_check_file(const char *path, const char *proc_root, struct weir_error *err);

/* Whether this boot has lasted as long as the newest sample says, by the clock of events that name none. 0, or -ESTALE
 * with err. */
int weir_same_boot_check_newest(uint64_t newest_ns, struct weir_error *err);

#endif

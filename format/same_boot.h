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

#endif

/* Checks that the running kernel made a recording since its boot. One thread; reads files. */
#ifndef WEIR_FORMAT_SAME_BOOT_H
#define WEIR_FORMAT_SAME_BOOT_H

#include "base/error.h"
#include "format/perf_input.h"

/*
 * Compares the kernel's map in the recording with the map that weir or perf would record now. Compares the time of the
 * file's last change with the time of the boot. proc_root: NULL is "/proc". 0; or with err -ESTALE (they differ, or
 * cannot be compared) or -ENOMEM.
 */
int weir_same_boot_check(const char *path, const char *proc_root, struct weir_error *err);

/* Checks the time of the file's last change only, for a recording without the kernel's map. Results as
 * weir_same_boot_check(). */
int weir_same_boot_check_file(const char *path, const char *proc_root, struct weir_error *err);

/* Checks that the newest sample is not in the future, by the clock of events that name no clock. 0, or -ESTALE with
 * err. */
int weir_same_boot_check_newest(uint64_t newest_ns, struct weir_error *err);

#endif

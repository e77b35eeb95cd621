/*
 * Tracepoints as tracefs describes them (Documentation/trace/events.rst).
 */
#ifndef WEIR_FORMAT_TRACEFS_H
#define WEIR_FORMAT_TRACEFS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Finds a mounted tracefs: /sys/kernel/tracing, then /sys/kernel/debug/tracing, then /proc/mounts. Does not mount.
 * Writes its path into path. 0; -ENODEV (none mounted: err's hint has the mount command); -EACCES (we may not enter:
 * the hint names chmod or root); -ENAMETOOLONG.
 */
int weir_tracefs_find(char *path, size_t bytes, struct weir_error *err);

/*
 * Reads events/SYSTEM/NAME/id. root: from weir_tracefs_find(), or a copy (tests). 0 and *id; -ENOENT (no such
 * tracepoint: the hint names the nearest one), -EACCES, -EINVAL (not a number, or system or name contain '/' or are
 * empty).
 */
int weir_tracefs_event_id(const char *root, const char *system, const char *name, uint64_t *id, struct weir_error *err);

/* Sets the hint for -EACCES: the command that makes all files of a tracepoint recording readable. */
void weir_tracefs_hint_unreadable(struct weir_error *err, const char *root);

/* Calls visit for every SYSTEM, NAME below events/ until it returns non-zero, which is then returned. Order: as the
 * directory gives them. 0 or -errno of opendir(3). */
int weir_tracefs_visit(const char *root, int (*visit)(void *ctx, const char *system, const char *name), void *ctx);

#endif

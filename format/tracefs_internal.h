/* tracefs with its mount points as parameters, for tests. */
#ifndef WEIR_FORMAT_TRACEFS_INTERNAL_H
#define WEIR_FORMAT_TRACEFS_INTERNAL_H

#include "format/tracefs.h"

/*
 * Does as weir_tracefs_find() over these candidates (NULL-terminated, tried in order), then over the mounts file
 * (format of proc_pid_mounts(5)). A candidate counts only if it is a mounted tracefs.
 */
int weir_tracefs_find_among(const char *const *candidates, const char *mounts, char *path, size_t bytes,
                            struct weir_error *err);

/* Checks a path component. 0, or -EINVAL: it would lead out of its folder, being empty, ".", ".." or with a '/'. */
int weir_tracefs_check_name(const char *kind, const char *name, struct weir_error *err);

#endif

/*
 * Where the control groups are mounted that perf events go by: those of version 1 with the controller perf_event, else
 * version 2, where it is always there (cgroups(7)). Source: cgroupfs_find_mountpoint(), tools/lib/api/fs/cgroup.c,
 * Linux 6.1, which takes the last mount of version 2 instead of the first: a part of the hierarchy may be mounted once
 * more, behind the whole. Any thread; reads a file.
 */
#ifndef WEIR_FORMAT_CGROUP_MOUNT_H
#define WEIR_FORMAT_CGROUP_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/* mounts: a file as /proc/mounts is. True, and the folder in `path`, a string that is not empty; false, and path as it
 * was: the file cannot be read, or has none whose path has room. Allocates (stdio). */
bool weir_cgroup_mount_find(const char *mounts, char path[PATH_MAX]);

#endif

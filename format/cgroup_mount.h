/*
 * Finds the mounted hierarchy of control groups that perf events use: version 1 with the controller perf_event,
 * otherwise version 2, which always has it (cgroups(7)). Any thread; reads a file.
 *
 * Source: cgroupfs_find_mountpoint(), tools/lib/api/fs/cgroup.c, Linux 6.1. perf takes the last mount of version 2;
 * weir takes the first, because a part of the hierarchy may be mounted again after the whole.
 */
#ifndef WEIR_FORMAT_CGROUP_MOUNT_H
#define WEIR_FORMAT_CGROUP_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/* Finds the hierarchy. mounts: a file with the form of /proc/mounts. True: path has its folder, which is not empty.
 * False: the file cannot be read, or names no hierarchy whose path fits; path is unchanged. Allocates (stdio). */
bool weir_cgroup_mount_find(const char *mounts, char path[PATH_MAX]);

#endif

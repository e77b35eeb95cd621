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
#include <stdint.h>

/* Finds the hierarchy. mounts: a file with the form of /proc/mounts. True: path has its folder, which is not empty.
 * False: the file cannot be read, or names no hierarchy whose path fits; path is unchanged. Allocates (stdio). */
bool weir_cgroup_mount_find(const char *mounts, char path[PATH_MAX]);

/* Reads the id of the cgroup of a folder, the number in PERF_SAMPLE_CGROUP: name_to_handle_at(2) gives it. dir_fd: an
 * open descriptor of the folder. 0; -EOPNOTSUPP: the file system has no handles; or another -errno of the call. */
int weir_cgroup_read_id(int dir_fd, uint64_t *id);

/* Opens the folder at path, and reads its cgroup's id. 0 or the -errno of open(2) or weir_cgroup_read_id(). */
int weir_cgroup_find_id(const char *path, uint64_t *id);

#endif

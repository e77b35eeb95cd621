/*
 * How much memory the cgroups of this process leave it: the least limit of its own and of all above it, in the
 * hierarchy of version 1 that has the memory controller, else in that of version 2.
 *
 * What a process maps is charged to its cgroup when it is touched, and when there is no more the kernel ends a process
 * of the group. Rings of perf events are not charged (rb_alloc_page() in kernel/events/ring_buffer.c of Linux 6.18 asks
 * for no accounting).
 *
 * Source: cgroups(7); /proc/PID/cgroup and mountinfo in proc(5); Documentation/admin-guide/cgroup-v1/memory.rst and
 * cgroup-v2.rst. One thread; blocks on small files of procfs and cgroupfs.
 */
#ifndef WEIR_TOPOLOGY_MEMORY_LIMIT_H
#define WEIR_TOPOLOGY_MEMORY_LIMIT_H

#include <limits.h>
#include <stdint.h>

#define WEIR_MEMORY_UNLIMITED UINT64_MAX

struct weir_memory_limit {
    uint64_t bytes;      /* WEIR_MEMORY_UNLIMITED: there is none, or none that is told */
    char file[PATH_MAX]; /* that says so; "" without */
};

/* Finds it. root: "" for this machine. What cannot be read limits nothing. 0 or -ENOMEM. */
int weir_memory_limit_read(struct weir_memory_limit *limit, const char *root);

#endif

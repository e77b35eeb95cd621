/*
 * The memory that the cgroups of this process allow: the least limit of its own cgroup and of all cgroups above. The
 * hierarchy of version 1 counts if it has the memory controller, otherwise the one of version 2.
 *
 * The kernel charges a page to the cgroup when the process touches it. When the limit is reached, the kernel kills a
 * process of the cgroup. The kernel does not charge rings of perf events (rb_alloc_page() in
 * kernel/events/ring_buffer.c of Linux 6.18 asks for no accounting).
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
    uint64_t bytes;      /* WEIR_MEMORY_UNLIMITED: no limit, or an unknown one */
    char file[PATH_MAX]; /* the file with the limit; "": no limit */
};

/* Finds the limit. root: "" for this machine. A file that cannot be read sets no limit. 0 or -ENOMEM. */
int weir_memory_limit_read(struct weir_memory_limit *limit, const char *root);

#endif

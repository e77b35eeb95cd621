/*
 * Putting a plan into effect on this machine: threads onto CPUs, memory onto nodes.
 */
#ifndef WEIR_TOPOLOGY_PLACEMENT_H
#define WEIR_TOPOLOGY_PLACEMENT_H

#include <stddef.h>

#include "base/cpuset.h"

/* Binds the calling thread to the CPUs of set (sched_setaffinity(2)); an empty set leaves it as it is.
 * 0, -EINVAL (no CPU of set is allowed: the thread keeps what it had) or -ENOMEM. */
int weir_thread_pin(const struct weir_cpuset *set);

/*
 * Maps `bytes` of zeroed memory (rounded up to 2 MiB, the start aligned to 2 MiB) that the kernel places on `node`
 * (mbind(2) with MPOL_PREFERRED; node < 0 or a machine without NUMA: no policy) with transparent huge pages asked for
 * (madvise(2) MADV_HUGEPAGE), and faults it in, so that the data path never takes a page fault.
 * *out is owned by the caller, to be given back with weir_node_memory_unmap(). 0, -ENOMEM or the errno of mmap(2).
 * Blocks while the kernel zeroes the pages.
 */
int weir_node_memory_map(void **out, size_t bytes, int node);
void weir_node_memory_unmap(void *memory, size_t bytes);

#endif

/*
 * Putting a plan into effect on this machine: threads onto CPUs, memory onto nodes. Any thread; set-up only.
 */
#ifndef WEIR_TOPOLOGY_PLACEMENT_H
#define WEIR_TOPOLOGY_PLACEMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cpuset.h"

/*
 * Binds the calling thread to the CPUs of set (sched_setaffinity(2)), of which those that are offline or outside of its
 * cpuset(7) are left out; an empty set leaves the thread as it is.
 * 0, -EINVAL (nothing was left: the thread keeps what it had) or another errno of the call (a seccomp filter's).
 */
int weir_thread_pin(const struct weir_cpuset *set);

/* The same for a thread of this process by its id. */
int weir_thread_pin_other(pid_t tid, const struct weir_cpuset *set);

/* Replaces set by the CPUs that the calling thread may run on (sched_getaffinity(2): its mask within its cpuset).
 * 0, -ENOMEM or another errno of the call; set unchanged on failure. */
int weir_thread_affinity(struct weir_cpuset *set);

/* The same of any task by its id. -ESRCH: it has ended. */
int weir_thread_affinity_other(pid_t tid, struct weir_cpuset *set);

#define WEIR_NODE_MEMORY_ALIGN_BYTES (2ul << 20) /* a transparent huge page of x86-64 and of arm64 with 4 KiB pages */

/*
 * Reserves `bytes` of zeroed memory (rounded up to 2 MiB, the start aligned to 2 MiB) that the kernel places on `node`
 * (mbind(2) with MPOL_PREFERRED; node < 0: no policy) with transparent huge pages asked for (madvise(2) MADV_HUGEPAGE).
 * No page is there yet: weir_node_memory_fault_in() makes them, before the data path uses them.
 * Node and huge pages are wishes: where the kernel refuses them (no NUMA, seccomp in containers, a node that went away)
 * the pages lie where the calling thread runs, so pin it to the node first.
 * *out is owned by the caller, to be given back with weir_node_memory_unmap() and the same `bytes`.
 * 0, -EINVAL (bytes is 0), -ENOMEM or the errno of mmap(2).
 */
int weir_node_memory_reserve(void **out, size_t bytes, int node);

/*
 * Makes the pages of [memory, memory + bytes), so that the data path never takes a page fault there (madvise(2)
 * MADV_POPULATE_WRITE; kernels before 5.14: by touching them). memory lies at a page boundary of what reserve() gave;
 * what it holds stays. Any thread. 0 or -ENOMEM. Blocks while the kernel zeroes the pages.
 */
int weir_node_memory_fault_in(void *memory, size_t bytes);

/* NULL is allowed. */
void weir_node_memory_unmap(void *memory, size_t bytes);

#endif

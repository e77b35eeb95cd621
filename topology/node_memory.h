/* Memory on a NUMA node. Any thread; set-up only. */
#ifndef WEIR_TOPOLOGY_NODE_MEMORY_H
#define WEIR_TOPOLOGY_NODE_MEMORY_H

#include <stddef.h>

#define WEIR_NODE_MEMORY_ALIGN_BYTES (2ul << 20) /* a transparent huge page of x86-64 and of arm64 with 4 KiB pages */

/*
 * Reserves zeroed memory of `bytes`, rounded up to 2 MiB and aligned to 2 MiB. The kernel prefers `node` for its pages
 * (mbind(2) with MPOL_PREFERRED; node < 0: no policy) and is asked for transparent huge pages (madvise(2)
 * MADV_HUGEPAGE). No page exists yet: weir_node_memory_fault_in() makes the pages, before the data path uses them.
 *
 * A kernel may refuse node and huge pages (no NUMA, seccomp in containers, a node that went away). The pages then lie
 * on the node of the thread that touches them first, so pin that thread to the node.
 *
 * The caller owns *out and releases it with weir_node_memory_unmap() and the same `bytes`.
 * 0, -EINVAL (bytes is 0), -ENOMEM or the errno of mmap(2).
 */
int weir_node_memory_reserve(void **out, size_t bytes, int node);

/*
 * Makes the pages of [memory, memory + bytes), so that the data path never takes a page fault there. Uses madvise(2)
 * MADV_POPULATE_WRITE; on kernels before 5.14 touches each page. memory is a page boundary inside of a reservation; its
 * contents stay. Any thread. 0 or -ENOMEM. Blocks while the kernel zeroes the pages.
 */
int weir_node_memory_fault_in(void *memory, size_t bytes);

/* Unmaps a reservation of `bytes`. memory may be NULL. */
void weir_node_memory_unmap(void *memory, size_t bytes);

#endif

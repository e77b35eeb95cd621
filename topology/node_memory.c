/*
 * Memory on a NUMA node, in huge pages where the kernel grants them. Any thread, before data flows.
 *
 * Source: mbind(2), madvise(2). Alignment comes from mapping more than is needed and unmapping both ends.
 */
#include "topology/node_memory.h"

#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "topology/topology.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h, Linux 5.14 */
#endif

#define BITS_PER_LONG (sizeof(unsigned long) * CHAR_BIT)

/* Returns 0 when bytes cannot be rounded up. */
static size_t mapping_bytes(size_t bytes)
{
    size_t padded;
    if (__builtin_add_overflow(bytes, 2 * WEIR_NODE_MEMORY_ALIGN_BYTES, &padded))
        return 0;
    return weir_align_up(bytes, WEIR_NODE_MEMORY_ALIGN_BYTES);
}

/* Maps size bytes (a multiple of the alignment) at an aligned address: maps one alignment more and unmaps both ends.
 * munmap(2) of an end fails only at the limit of mappings. The untouched pages then cost address space, no memory. */
static int map_aligned(uint8_t **out, size_t size)
{
    const size_t align = WEIR_NODE_MEMORY_ALIGN_BYTES;
    uint8_t *start = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return -errno;

    size_t head = weir_align_up((uintptr_t)start, align) - (uintptr_t)start;
    if (head > 0)
        munmap(start, head);
    munmap(start + head + size, align - head);
    *out = start + head;
    return 0;
}

/* Asks the kernel for pages on node. A refusal changes nothing: see the header. */
static void prefer_node(uint8_t *memory, size_t size, int node)
{
    unsigned long mask[WEIR_NODE_LIMIT / BITS_PER_LONG] = {0};
    if (node < 0 || node >= (int)WEIR_NODE_LIMIT)
        return;
    mask[(size_t)node / BITS_PER_LONG] = 1ul << ((size_t)node % BITS_PER_LONG);
    /* The kernel takes one bit less than maxnode says (mbind(2), BUGS of get_nodes() in mm/mempolicy.c). */
    (void)mbind(memory, size, MPOL_PREFERRED, mask, WEIR_NODE_LIMIT + 1, 0);
}

static void touch_pages(uint8_t *memory, size_t size)
{
    long page_bytes = sysconf(_SC_PAGESIZE);
    for (size_t offset = 0; offset < size; offset += (size_t)page_bytes)
        *(volatile uint8_t *)(memory + offset) |= 0; /* NOLINT(clang-analyzer-core.NullDereference): mapped above */
}

int weir_node_memory_fault_in(void *memory, size_t bytes)
{
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
        return -ENOMEM;
    touch_pages(memory, bytes);
    return 0;
}

int weir_node_memory_reserve(void **out, size_t bytes, int node)
{
    if (bytes == 0)
        return -EINVAL;
    size_t size = mapping_bytes(bytes);
    if (size == 0)
        return -ENOMEM;

    uint8_t *memory = NULL;
    int result = map_aligned(&memory, size);
    if (result < 0)
        return result;
    prefer_node(memory, size, node);
    (void)madvise(memory, size, MADV_HUGEPAGE); /* EINVAL where the kernel was built without */
    *out = memory;
    return 0;
}

void weir_node_memory_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, mapping_bytes(bytes));
}

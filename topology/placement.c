/*
 * Threads onto CPUs, memory onto NUMA nodes. Any thread, before data flows.
 *
 * Source: sched_setaffinity(2), mbind(2), madvise(2); alignment by over-mapping and trimming.
 */
#include "topology/placement.h"

#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "topology/topology.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h, Linux 5.14 */
#endif

#define BITS_PER_LONG (sizeof(unsigned long) * CHAR_BIT)

/*
 * The words of a struct weir_cpuset are the kernel's CPU mask as they stand: bit n of a little endian array of words,
 * whose length is free (unlike cpu_set_t's). The kernel ignores bits beyond its own CPUs.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "64-bit words must read as an array of long");

int weir_thread_pin_other(pid_t tid, const struct weir_cpuset *set)
{
    if (weir_cpuset_is_empty(set))
        return 0;
    size_t bytes = set->word_count * sizeof(set->words[0]);
    return sched_setaffinity(tid, bytes, (const cpu_set_t *)set->words) < 0 ? -errno : 0;
}

int weir_thread_pin(const struct weir_cpuset *set)
{
    return weir_thread_pin_other(0, set);
}

/* EINVAL says that the mask is shorter than the kernel's: the one way to learn that length. */
int weir_thread_affinity_other(pid_t tid, struct weir_cpuset *set)
{
    int result = -EINVAL;
    for (unsigned limit = CPU_SETSIZE; result == -EINVAL && limit <= WEIR_CPU_LIMIT; limit *= 2) {
        struct weir_cpuset found = WEIR_CPUSET_INIT;
        result = weir_cpuset_add(&found, limit - 1); /* makes room for all below */
        if (result < 0)
            return result;
        size_t bytes = found.word_count * sizeof(found.words[0]);
        result = sched_getaffinity(tid, bytes, (cpu_set_t *)found.words) < 0 ? -errno : 0;
        if (result == 0) {
            weir_cpuset_fini(set);
            *set = found;
        } else {
            weir_cpuset_fini(&found);
        }
    }
    return result;
}

int weir_thread_affinity(struct weir_cpuset *set)
{
    return weir_thread_affinity_other(0, set);
}

/* 0 when bytes cannot be rounded up. */
static size_t mapping_bytes(size_t bytes)
{
    size_t padded;
    if (__builtin_add_overflow(bytes, 2 * WEIR_NODE_MEMORY_ALIGN_BYTES, &padded))
        return 0;
    return weir_align_up(bytes, WEIR_NODE_MEMORY_ALIGN_BYTES);
}

/* Maps size bytes (a multiple of the alignment) at an aligned address: one alignment more, the ends given back.
 * munmap(2) of an end fails only at the limit of mappings; then the untouched pages cost address space and no more. */
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

/* Asks for the pages on node. Refusals are passed over: see the header. */
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

/* Memory onto nodes: against the running kernel, and against one that refuses. */
#include "topology/node_memory.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/io/refuse_call.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_BYTES ((size_t)WEIR_NODE_MEMORY_ALIGN_BYTES)
#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))

/* Pages of [memory, memory + bytes) that are in memory; the test fails when part of it is not mapped. */
static size_t resident_pages(void *memory, size_t bytes)
{
    size_t pages = bytes / PAGE_BYTES, resident = 0;
    unsigned char *present = calloc(pages, 1);
    cr_assert_not_null(present);
    cr_assert_eq(mincore(memory, bytes, present), 0);
    for (size_t i = 0; i < pages; i++)
        resident += present[i] & 1;
    free(present);
    return resident;
}

/* As the chunk pool does, but all of it at once. */
static void *map_memory(size_t bytes, int node)
{
    void *memory = NULL;
    cr_assert_eq(weir_node_memory_reserve(&memory, bytes, node), 0);
    cr_assert_eq(weir_node_memory_fault_in(memory, weir_align_up(bytes, HUGE_BYTES)), 0);
    return memory;
}

Test(node_memory, no_bytes_are_refused)
{
    void *memory = NULL;
    cr_expect_eq(weir_node_memory_reserve(&memory, 0, -1), -EINVAL);
    cr_expect_null(memory);
}

Test(node_memory, more_bytes_than_there_are_addresses_are_refused)
{
    void *memory = NULL;
    cr_expect_eq(weir_node_memory_reserve(&memory, SIZE_MAX, -1), -ENOMEM);
    cr_expect_eq(weir_node_memory_reserve(&memory, SIZE_MAX - 4 * HUGE_BYTES, -1), -ENOMEM);
    cr_expect_null(memory);
}

Test(node_memory, nothing_is_unmapped)
{
    weir_node_memory_unmap(NULL, HUGE_BYTES);
}

Test(node_memory, memory_is_aligned_rounded_up_zeroed_and_faulted_in)
{
    void *memory = map_memory(HUGE_BYTES + 1, -1);
    cr_expect_eq((uintptr_t)memory % HUGE_BYTES, 0);
    cr_expect_eq(resident_pages(memory, 2 * HUGE_BYTES), 2 * HUGE_BYTES / PAGE_BYTES);
    const uint64_t *words = memory;
    uint64_t any = 0;
    for (size_t i = 0; i < 2 * HUGE_BYTES / sizeof(*words); i++)
        any |= words[i];
    cr_expect_eq(any, 0);
    weir_node_memory_unmap(memory, HUGE_BYTES + 1);
}

Test(node_memory, unmapped_memory_is_gone_whole)
{
    unsigned char present[1];
    void *memory = map_memory(HUGE_BYTES + 1, -1);
    weir_node_memory_unmap(memory, HUGE_BYTES + 1);
    for (size_t offset = 0; offset < 2 * HUGE_BYTES; offset += HUGE_BYTES - PAGE_BYTES) {
        errno = 0;
        cr_expect_eq(mincore((char *)memory + offset, PAGE_BYTES, present), -1);
        cr_expect_eq(errno, ENOMEM);
    }
}

/* Pages of this process, as /proc/self/statm counts them. */
static size_t address_space_pages(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    cr_assert_not_null(file);
    size_t pages = 0;
    cr_assert_eq(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages;
}

Test(node_memory, alignment_costs_no_address_space)
{
    size_t before = address_space_pages(); /* also makes the stream's buffer before what is measured */
    before = address_space_pages();
    void *memory = map_memory(HUGE_BYTES, -1);
    cr_expect_eq(address_space_pages() - before, HUGE_BYTES / PAGE_BYTES);
    weir_node_memory_unmap(memory, HUGE_BYTES);
    cr_expect_eq(address_space_pages(), before);
}

/* The node of the page at memory, or a skip where the kernel has no NUMA or a filter refuses. */
static int node_of_page(void *memory)
{
    int node = -1;
    if (get_mempolicy(&node, NULL, 0, memory, MPOL_F_NODE | MPOL_F_ADDR) < 0)
        cr_skip_test("needs get_mempolicy(2): %s", strerror(errno));
    return node;
}

Test(node_memory, memory_prefers_the_node_asked_for_and_lies_there)
{
    void *memory = map_memory(HUGE_BYTES, 0);
    cr_expect_eq(node_of_page(memory), 0);

    unsigned long nodes[1024 / 64] = {0};
    int mode = -1;
    cr_assert_eq(get_mempolicy(&mode, nodes, 1024, memory, MPOL_F_ADDR), 0);
    cr_expect_eq(mode, MPOL_PREFERRED);
    cr_expect_eq(nodes[0], 1);
    weir_node_memory_unmap(memory, HUGE_BYTES);
}

static void expect_default_policy(int node)
{
    void *memory = map_memory(HUGE_BYTES, node);
    node_of_page(memory); /* skips without NUMA */
    int mode = -1;
    cr_assert_eq(get_mempolicy(&mode, NULL, 0, memory, MPOL_F_ADDR), 0);
    cr_expect_eq(mode, MPOL_DEFAULT);
    cr_expect_eq(resident_pages(memory, HUGE_BYTES), HUGE_BYTES / PAGE_BYTES);
    weir_node_memory_unmap(memory, HUGE_BYTES);
}

Test(node_memory, without_a_node_the_policy_is_the_threads)
{
    expect_default_policy(-1);
}

Test(node_memory, node_that_does_not_exist_leaves_memory_usable)
{
    expect_default_policy(1023);
    expect_default_policy(1000000);
}

Test(node_memory, kernel_without_populate_still_gives_memory_that_is_faulted_in)
{
    refuse_call_with(SYS_madvise, 2, MADV_POPULATE_WRITE, EINVAL);
    void *memory = map_memory(HUGE_BYTES, -1);
    cr_expect_eq(resident_pages(memory, HUGE_BYTES), HUGE_BYTES / PAGE_BYTES);
    weir_node_memory_unmap(memory, HUGE_BYTES);
}

Test(node_memory, memory_that_cannot_be_faulted_in_is_told_and_given_back)
{
    size_t before = address_space_pages();
    before = address_space_pages();
    refuse_call_with(SYS_madvise, 2, MADV_POPULATE_WRITE, ENOMEM);
    void *memory = NULL;
    cr_assert_eq(weir_node_memory_reserve(&memory, HUGE_BYTES, -1), 0);
    cr_expect_eq(weir_node_memory_fault_in(memory, HUGE_BYTES), -ENOMEM);
    weir_node_memory_unmap(memory, HUGE_BYTES);
    cr_expect_eq(address_space_pages(), before);
}

Test(node_memory, kernel_without_huge_pages_or_policies_gives_plain_memory)
{
    refuse_call_with(SYS_madvise, 2, MADV_HUGEPAGE, EINVAL);
    refuse_call(SYS_mbind, EPERM);
    void *memory = map_memory(HUGE_BYTES, 0);
    cr_expect_eq((uintptr_t)memory % HUGE_BYTES, 0);
    cr_expect_eq(resident_pages(memory, HUGE_BYTES), HUGE_BYTES / PAGE_BYTES);
    weir_node_memory_unmap(memory, HUGE_BYTES);
}

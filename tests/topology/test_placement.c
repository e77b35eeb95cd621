/* Threads onto CPUs, memory onto nodes: against the running kernel, and against one that refuses. */
#include "topology/placement.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <numaif.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_BYTES ((size_t)WEIR_NODE_MEMORY_ALIGN_BYTES)
#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))

static struct weir_cpuset current_affinity(void)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_thread_affinity(&set), 0);
    return set;
}

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

Test(placement, pinning_to_a_cpu_that_does_not_exist_is_refused_and_keeps_the_affinity)
{
    struct weir_cpuset before = current_affinity(), absent = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_add(&absent, WEIR_CPU_LIMIT - 1), 0);
    cr_expect_eq(weir_thread_pin(&absent), -EINVAL);
    struct weir_cpuset after = current_affinity();
    cr_expect(weir_cpuset_equal(&before, &after));
    weir_cpuset_fini(&before);
    weir_cpuset_fini(&absent);
    weir_cpuset_fini(&after);
}

Test(placement, pinning_to_no_cpu_keeps_the_affinity)
{
    struct weir_cpuset before = current_affinity(), none = WEIR_CPUSET_INIT;
    cr_expect_eq(weir_thread_pin(&none), 0);
    struct weir_cpuset after = current_affinity();
    cr_expect(weir_cpuset_equal(&before, &after));
    weir_cpuset_fini(&before);
    weir_cpuset_fini(&after);
}

Test(placement, pinned_thread_runs_there_and_is_told_so)
{
    struct weir_cpuset before = current_affinity();
    WEIR_CPUSET_FOREACH(cpu, &before) {
        struct weir_cpuset one = WEIR_CPUSET_INIT;
        cr_assert_eq(weir_cpuset_add(&one, (unsigned)cpu), 0);
        cr_assert_eq(weir_thread_pin(&one), 0);
        struct weir_cpuset after = current_affinity();
        cr_expect(weir_cpuset_equal(&after, &one));
        cr_expect_eq(sched_getcpu(), cpu);
        weir_cpuset_fini(&one);
        weir_cpuset_fini(&after);
    }
    weir_cpuset_fini(&before);
}

Test(placement, cpus_that_do_not_exist_are_left_out_of_a_pin)
{
    struct weir_cpuset before = current_affinity(), wish = WEIR_CPUSET_INIT;
    int cpu = weir_cpuset_next(&before, 0);
    cr_assert_eq(weir_cpuset_add(&wish, (unsigned)cpu), 0);
    cr_assert_eq(weir_cpuset_add(&wish, WEIR_CPU_LIMIT - 1), 0);
    cr_expect_eq(weir_thread_pin(&wish), 0);
    struct weir_cpuset after = current_affinity();
    cr_expect_eq(weir_cpuset_count(&after), 1);
    cr_expect(weir_cpuset_has(&after, (unsigned)cpu));
    weir_cpuset_fini(&before);
    weir_cpuset_fini(&wish);
    weir_cpuset_fini(&after);
}

/* As the chunk pool does, but all of it at once. */
static void *map_memory(size_t bytes, int node)
{
    void *memory = NULL;
    cr_assert_eq(weir_node_memory_reserve(&memory, bytes, node), 0);
    cr_assert_eq(weir_node_memory_fault_in(memory, weir_align_up(bytes, HUGE_BYTES)), 0);
    return memory;
}

Test(placement, no_bytes_are_refused)
{
    void *memory = NULL;
    cr_expect_eq(weir_node_memory_reserve(&memory, 0, -1), -EINVAL);
    cr_expect_null(memory);
}

Test(placement, more_bytes_than_there_are_addresses_are_refused)
{
    void *memory = NULL;
    cr_expect_eq(weir_node_memory_reserve(&memory, SIZE_MAX, -1), -ENOMEM);
    cr_expect_eq(weir_node_memory_reserve(&memory, SIZE_MAX - 4 * HUGE_BYTES, -1), -ENOMEM);
    cr_expect_null(memory);
}

Test(placement, nothing_is_unmapped)
{
    weir_node_memory_unmap(NULL, HUGE_BYTES);
}

Test(placement, memory_is_aligned_rounded_up_zeroed_and_faulted_in)
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

Test(placement, unmapped_memory_is_gone_whole)
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

Test(placement, alignment_costs_no_address_space)
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

Test(placement, memory_prefers_the_node_asked_for_and_lies_there)
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

Test(placement, without_a_node_the_policy_is_the_threads)
{
    expect_default_policy(-1);
}

Test(placement, node_that_does_not_exist_leaves_memory_usable)
{
    expect_default_policy(1023);
    expect_default_policy(1000000);
}

/* Makes a system call fail with error from now on: all calls (argument_index < 0), or those with that argument. */
static void refuse_call(unsigned number, int argument_index, uint32_t argument, int error)
{
    size_t offset = offsetof(struct seccomp_data, args) + 8 * (size_t)(argument_index < 0 ? 0 : argument_index);
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0, argument_index < 0 ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        cr_skip_test("needs seccomp filters: %s", strerror(errno));
}

Test(placement, kernel_without_populate_still_gives_memory_that_is_faulted_in)
{
    refuse_call(SYS_madvise, 2, MADV_POPULATE_WRITE, EINVAL);
    void *memory = map_memory(HUGE_BYTES, -1);
    cr_expect_eq(resident_pages(memory, HUGE_BYTES), HUGE_BYTES / PAGE_BYTES);
    weir_node_memory_unmap(memory, HUGE_BYTES);
}

Test(placement, memory_that_cannot_be_faulted_in_is_told_and_given_back)
{
    size_t before = address_space_pages();
    before = address_space_pages();
    refuse_call(SYS_madvise, 2, MADV_POPULATE_WRITE, ENOMEM);
    void *memory = NULL;
    cr_assert_eq(weir_node_memory_reserve(&memory, HUGE_BYTES, -1), 0);
    cr_expect_eq(weir_node_memory_fault_in(memory, HUGE_BYTES), -ENOMEM);
    weir_node_memory_unmap(memory, HUGE_BYTES);
    cr_expect_eq(address_space_pages(), before);
}

Test(placement, kernel_without_huge_pages_or_policies_gives_plain_memory)
{
    refuse_call(SYS_madvise, 2, MADV_HUGEPAGE, EINVAL);
    refuse_call(SYS_mbind, -1, 0, EPERM);
    void *memory = map_memory(HUGE_BYTES, 0);
    cr_expect_eq((uintptr_t)memory % HUGE_BYTES, 0);
    cr_expect_eq(resident_pages(memory, HUGE_BYTES), HUGE_BYTES / PAGE_BYTES);
    weir_node_memory_unmap(memory, HUGE_BYTES);
}

Test(placement, refused_affinity_calls_are_passed_on)
{
    refuse_call(SYS_sched_setaffinity, -1, 0, EPERM);
    refuse_call(SYS_sched_getaffinity, -1, 0, ENOSYS);
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_add(&set, 0), 0);
    cr_expect_eq(weir_thread_pin(&set), -EPERM);
    cr_expect_eq(weir_thread_affinity(&set), -ENOSYS);
    cr_expect_eq(weir_cpuset_count(&set), 1); /* unchanged */
    weir_cpuset_fini(&set);
}

/* What a kernel of more CPUs than the first try has room for answers. */
Test(placement, mask_that_never_suffices_ends_the_search)
{
    refuse_call(SYS_sched_getaffinity, -1, 0, EINVAL);
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_expect_eq(weir_thread_affinity(&set), -EINVAL);
    cr_expect_null(set.words);
}

Test(placement, mask_longer_than_cpu_set_t_is_asked_for)
{
    refuse_call(SYS_sched_getaffinity, 1, CPU_SETSIZE / 8, EINVAL);
    struct weir_cpuset set = current_affinity();
    cr_expect_eq(set.word_count, 2 * CPU_SETSIZE / 64);
    cr_expect_not(weir_cpuset_is_empty(&set));
    cr_expect_not(weir_cpuset_has(&set, 2 * CPU_SETSIZE - 1));
    weir_cpuset_fini(&set);
}

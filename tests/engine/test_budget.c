/* What recordings of various sizes take, and what is told of it. */
#include "engine/plan/budget.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/drain/chunk.h"

#define MIB 1048576ull

static const struct weir_budget_input small = {
    .places = 2,
    .readers = 2,
    .descriptors = 4,
    .ring_bytes = 512 << 10,
    .sideband_ring_bytes = 256 << 10,
    .pool_bytes = 64 * MIB,
    .pool_grows = true,
    .sideband = true,
    .page_bytes = 4096,
};

/* 1024 CPUs, a reader for each, three events: what is chosen on a machine of 4 TiB. */
static const struct weir_budget_input large = {
    .places = 1024,
    .readers = 1024,
    .descriptors = 4 * 1024,
    .ring_bytes = 8 * MIB,
    .sideband_ring_bytes = MIB,
    .pool_bytes = 4096 * MIB,
    .pool_grows = true,
    .sideband = true,
    .page_bytes = 4096,
};

static struct weir_budget compute(const struct weir_budget_input *input)
{
    struct weir_budget budget;
    weir_budget_compute(&budget, input);
    return budget;
}

Test(budget, parts_add_up_and_none_is_forgotten)
{
    struct weir_budget budget = compute(&small);
    cr_expect_eq(budget.ring_bytes, 2 * (768 * 1024 + 2 * 4096));
    cr_expect_eq(budget.pool_bytes, 64 * MIB);
    cr_expect_eq(budget.pool_ready_bytes, 8 * MIB);
    cr_expect_eq(budget.side_bytes, 2 * MIB);
    cr_expect_eq(budget.table_bytes, 4 * (4 + 16) + 8 * 16);
    cr_expect_eq(budget.stack_bytes, 9 * 256 * 1024);
    cr_expect_eq(budget.total_bytes,
                 budget.ring_bytes + budget.pool_bytes + budget.side_bytes + budget.table_bytes + budget.stack_bytes);
    cr_expect_eq(weir_budget_fds(small.descriptors, small.readers), 4 + 2 * 2 + 64);
}

Test(budget, what_is_touched_at_the_start_has_to_fit_into_the_memory_cgroup)
{
    struct weir_budget budget = compute(&small);
    cr_assert_gt(budget.least_bytes, budget.pool_ready_bytes);
    cr_expect_lt(budget.least_bytes, 16 * MIB);
    struct weir_error err = {0};
    struct weir_memory_limit limit = {.bytes = WEIR_MEMORY_UNLIMITED};
    cr_expect_eq(weir_budget_check(&budget, &limit, &err), 0);
    limit.bytes = budget.least_bytes;
    cr_expect_eq(weir_budget_check(&budget, &limit, &err), 0,
                 "the pool's rest comes when there is need, and rings are free");
    limit = (struct weir_memory_limit){.bytes = 10 * MIB, .file = "/sys/fs/cgroup/a/memory.max"};
    cr_expect_eq(weir_budget_check(&budget, &limit, &err), -ENOMEM);
    cr_expect_str_eq(err.what, "recording begins with 13 MiB of memory, and its cgroup has at most 10 MiB");
    cr_expect_str_eq(err.hint, "a smaller --buffer-size or -M, fewer readers (--threads=core or =numa), or sudo sh -c "
                               "'echo 134217728 >/sys/fs/cgroup/a/memory.max'");
}

Test(budget, pool_of_a_named_size_is_ready_as_a_whole_and_no_thread_has_no_copies)
{
    struct weir_budget_input input = small;
    input.pool_grows = false;
    input.sideband = false;
    struct weir_budget budget = compute(&input);
    cr_expect_eq(budget.pool_ready_bytes, 64 * MIB);
    cr_expect_eq(budget.side_bytes, 0);
}

Test(budget, pool_has_two_chunks_for_each_reader_at_least)
{
    struct weir_budget_input input = small;
    input.readers = 100;
    input.pool_bytes = MIB;
    cr_expect_eq(compute(&input).pool_bytes, 200 * WEIR_CHUNK_MIN_BYTES);
}

Test(budget, it_is_what_the_pool_takes)
{
    static const struct {
        uint64_t bytes;
        unsigned readers;
    } cases[] = {{MIB, 1}, {MIB, 7}, {5 * MIB + 77, 3}, {64 * MIB, 2}, {100 * MIB, 64}, {3 * MIB, 100}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct weir_pool_share share = {.node = -1, .readers = cases[i].readers};
        struct weir_pool pool;
        cr_assert_eq(weir_pool_init(&pool, cases[i].bytes, 0, WEIR_CHUNK_MAX_BYTES, 0, &share, 1, NULL), 0);
        cr_expect_eq(weir_pool_whole_bytes(cases[i].bytes, cases[i].readers),
                     (uint64_t)pool.chunk_count * pool.chunk_bytes);
        weir_pool_fini(&pool);
    }
}

/* 1/64 of memory for rings, 4 GiB for the pool, and less than 1 GiB for all else. */
Test(budget, at_1024_cpus_it_is_as_stated)
{
    struct weir_budget budget = compute(&large);
    cr_expect_eq(budget.ring_bytes, 1024 * (9 * MIB + 8192));
    cr_expect_eq(budget.pool_bytes, 4096 * MIB);
    cr_expect_eq(budget.pool_ready_bytes, 4096 * MIB);
    cr_expect_eq(budget.side_bytes, 512 * MIB);
    cr_expect_lt(budget.table_bytes, MIB);
    cr_expect_eq(budget.stack_bytes, (1024 + 7) * 256 * 1024);
    cr_expect_lt(budget.total_bytes, 14ull << 30);
    cr_expect_eq(weir_budget_fds(large.descriptors, large.readers), 4 * 1024 + 2 * 1024 + 64);
}

/* ---- what is told ---- */

struct told {
    enum weir_notice_level level[4];
    char lines[4][256];
    unsigned count;
};

static void keep(void *ctx, enum weir_notice_level level, const char *line)
{
    struct told *told = ctx;
    cr_assert_lt(told->count, 4);
    told->level[told->count] = level;
    snprintf(told->lines[told->count++], sizeof(told->lines[0]), "%s", line);
}

static struct told tell(const struct weir_budget_input *input, uint64_t nofile, uint64_t nofile_max)
{
    struct told told = {.count = 0};
    const struct weir_notice_sink sink = {keep, &told};
    const struct weir_kernel_limits limits = {.nofile = nofile, .nofile_max = nofile_max};
    struct weir_budget budget = compute(input);
    weir_budget_tell(&budget, input, &sink);
    weir_budget_tell_fds(weir_budget_fds(input->descriptors, input->readers), &limits, &sink);
    cr_assert_eq(told.count, 3);
    return told;
}

Test(budget, too_few_descriptors_are_warned_of_with_the_number_and_the_knob)
{
    struct told told = tell(&large, 1024, 4096);
    cr_expect_eq(told.level[2], WEIR_NOTICE_WARNING);
    cr_expect_str_eq(told.lines[2], "6208 file descriptors may be needed, and at most 4096 are allowed: "
                                    "sudo prlimit --pid $$ --nofile=6208, or fewer events or CPUs (-C)");
}

Test(budget, limit_that_can_be_raised_or_is_enough_is_no_warning)
{
    struct told told = tell(&large, 1024, 6208);
    cr_expect_eq(told.level[2], WEIR_NOTICE_VERBOSE);
    cr_expect_str_eq(told.lines[2], "files: 6208 descriptors; the limit of 1024 is raised");
    told = tell(&large, 6208, 6208);
    cr_expect_str_eq(told.lines[2], "files: 6208 descriptors, within the limit");
}

Test(budget, aux_areas_count_as_rings_do)
{
    struct weir_budget_input input = small;
    input.aux_area_bytes = 4 * MIB;
    struct weir_budget with = compute(&input), without = compute(&small);
    cr_expect_eq(with.ring_bytes, without.ring_bytes + 2 * 4 * MIB);
    cr_expect_eq(with.total_bytes, without.total_bytes + 2 * 4 * MIB);
    cr_expect_eq(with.least_bytes, without.least_bytes); /* the kernel's */
}

Test(budget, stage_counts_at_the_start_and_in_all)
{
    struct weir_budget_input input = small;
    input.stage_threads = 3;
    input.stage = (struct weir_chunk_stage_memory){.least = 60 * MIB, .most = 84 * MIB};
    struct weir_budget with = compute(&input), without = compute(&small);
    cr_expect_eq(with.least_bytes, without.least_bytes + 60 * MIB);
    cr_expect_eq(with.total_bytes, without.total_bytes + 84 * MIB + 3 * 256 * 1024);
    struct told told = {.count = 0};
    weir_budget_tell(&with, &input, &(const struct weir_notice_sink){keep, &told});
    cr_assert_eq(told.count, 3);
    cr_expect_str_eq(told.lines[2],
                     "memory: of that, 84 MiB for the 3 threads that work on chunks, 60 of it at the start");
}

Test(budget, memory_is_told_in_two_lines)
{
    struct told told = tell(&large, 8192, 8192);
    cr_expect_str_eq(told.lines[0],
                     "memory: rings 9224 MiB (8192 KiB data and 1024 KiB sideband for each of 1024), pool "
                     "4096 MiB, of which 4096 at the start");
    cr_expect_str_eq(told.lines[1],
                     "memory: at most 14090 MiB in all: side records 512 MiB, tables 1 MiB, stacks 258 MiB "
                     "besides");
    for (unsigned i = 0; i < 2; i++)
        cr_expect_eq(told.level[i], WEIR_NOTICE_VERBOSE);
}

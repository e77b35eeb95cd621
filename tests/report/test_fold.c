/* Folding: nothing is lost of counts and weights, however many threads fold and however coarse time becomes. */
#include "report/fold.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SAMPLES 20000

struct sums {
    uint64_t count, weight, by_stack[8];
};

static struct sums sums_of(const struct weir_fold *fold)
{
    struct sums sums = {0};
    uint64_t time = 0;
    for (size_t i = 0; i < fold->cell_count; i++) {
        const struct weir_cell *cell = &fold->cells[i];
        cr_assert(cell->time >= time, "cells are not in order of time");
        time = cell->time;
        sums.count += cell->count;
        sums.weight += cell->weight;
        /* the symbol of the outermost frame */
        uint32_t stack = cell->stack;
        while (weir_stack_parent(fold, stack) != WEIR_STACK_NONE)
            stack = weir_stack_parent(fold, stack);
        sums.by_stack[weir_frame_symbol(weir_stack_frame(fold, stack))] += cell->count;
    }
    return sums;
}

/* Folds SAMPLES samples, some in each fold, and merges. samples: as the plan is told. */
static struct sums run(uint64_t samples, unsigned folds, size_t cells_max, bool *is_exact)
{
    const struct weir_fold_plan plan = {.samples = samples, .span = 1000000, .folds = folds, .seed = 3},
                                whole = {.samples = samples, .span = 1000000, .folds = 1, .seed = 3};
    struct weir_fold parts[4], fold;
    weir_fold_init(&fold, &whole);
    for (unsigned i = 0; i < folds; i++) {
        weir_fold_init(&parts[i], &plan);
        parts[i].cells_max = cells_max;
    }
    srand(5);
    for (unsigned i = 0; i < SAMPLES; i++) {
        struct weir_fold *part = &parts[i % folds];
        uint32_t stack = weir_fold_push(part, WEIR_STACK_NONE, weir_frame_of(1, i % 8));
        for (unsigned depth = 0; depth < 3; depth++)
            stack = weir_fold_push(part, stack, weir_frame_of(2, (uint32_t)rand() % 4));
        const struct weir_cell cell = {.time = (uint64_t)rand() % 1000000,
                                       .task = i % 3,
                                       .stack = stack,
                                       .cpu = (uint16_t)(i % 5),
                                       .count = 1,
                                       .weight = i % 7};
        cr_assert_eq(weir_fold_add(part, &cell), 0);
        cr_assert_eq(weir_fold_sum(part, 0, i % 3, weir_frame_of(2, 1), &(struct weir_cell){.count = 1, .weight = 2}),
                     0);
    }
    for (unsigned i = 0; i < folds; i++) {
        cr_assert_eq(weir_fold_merge(&fold, &parts[i]), 0);
        weir_fold_fini(&parts[i]);
    }
    cr_assert_eq(weir_fold_finish(&fold), 0);
    struct sums sums = sums_of(&fold);
    *is_exact = fold.is_exact;
    cr_expect_eq(fold.sums.count, 3);
    uint64_t summed = 0;
    for (uint32_t i = 0; i < fold.sums.count; i++)
        summed += weir_row(&fold.sums, i)[2];
    cr_expect_eq(summed, SAMPLES);
    cr_expect_eq(fold.stacks.count, 8 + 8 * 4 + 8 * 16 + 8 * 64);
    weir_fold_fini(&fold);
    return sums;
}

static void expect_all(struct sums sums)
{
    uint64_t weight = 0;
    for (unsigned i = 0; i < SAMPLES; i++)
        weight += i % 7;
    cr_expect_eq(sums.count, SAMPLES);
    cr_expect_eq(sums.weight, weight);
    for (unsigned i = 0; i < 8; i++)
        cr_expect_eq(sums.by_stack[i], SAMPLES / 8);
}

Test(fold, few_samples_are_kept_each)
{
    bool is_exact;
    expect_all(run(SAMPLES, 3, WEIR_FOLD_CELLS_MAX, &is_exact));
    cr_expect(is_exact);
}

Test(fold, many_samples_are_counted_by_time)
{
    bool is_exact;
    expect_all(run(WEIR_FOLD_EXACT_MAX + 1ull, 4, WEIR_FOLD_CELLS_MAX, &is_exact));
    cr_expect_not(is_exact);
}

Test(fold, time_becomes_coarse_at_the_bound)
{
    bool is_exact;
    expect_all(run(WEIR_FOLD_EXACT_MAX + 1ull, 3, 500, &is_exact));
    cr_expect_not(is_exact);
}

Test(fold, calls_beyond_the_bound_are_left_out_from_the_inside)
{
    const struct weir_fold_plan plan = {.samples = 1, .span = 1, .folds = 1, .seed = 3};
    struct weir_fold fold;
    weir_fold_init(&fold, &plan);
    fold.stacks_max = 2;
    uint32_t outer = weir_fold_push(&fold, WEIR_STACK_NONE, 1);
    uint32_t inner = weir_fold_push(&fold, outer, 2);
    cr_expect_eq(weir_fold_push(&fold, inner, 3), inner);
    cr_expect_eq(weir_fold_push(&fold, outer, 2), inner);
    cr_expect(fold.is_cut);
    weir_fold_fini(&fold);
}

/* Makes views of cells. */
#include "report/cell_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define DEPTH_FIRST 128u

static int compare_cells(const void *a, const void *b)
{
    const struct weir_cell *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Adds up cells that are alike in that step, in place. */
static int merge(struct weir_cell_view *view, uint64_t step, uint64_t seed)
{
    struct weir_row_table table;
    weir_assert(step > 0);
    weir_row_table_init(&table, 2, 3, seed); /* the key, and the number of the cell */
    size_t kept = 0;
    int result = 0;
    for (size_t i = 0; result == 0 && i < view->count; i++) {
        struct weir_cell cell = view->cells[i];
        cell.time = cell.time / step * step;
        const uint64_t key[] = {cell.time / step << 32 | cell.stack,
                                (uint64_t)cell.task << 32 | (uint32_t)cell.event << 16 | cell.cpu};
        uint32_t number = weir_row_table_add(&table, key);
        if (number == WEIR_ROW_NONE) {
            result = -ENOMEM;
        } else if (number == kept) {
            view->cells[kept++] = cell;
        } else {
            view->cells[number].count += cell.count;
            view->cells[number].weight += cell.weight;
        }
    }
    weir_row_table_fini(&table);
    view->count = result == 0 ? kept : view->count;
    view->step = step;
    return result;
}

/* The caller of a stack at that depth, or the stack itself if it is not deeper. */
static uint32_t cut_stack(const struct weir_fold *fold, const uint32_t *depths, uint32_t stack, uint32_t depth)
{
    while (stack != WEIR_STACK_NONE && depths[stack] > depth)
        stack = weir_stack_parent(fold, stack);
    return stack;
}

static void cut_stacks(struct weir_cell_view *view, const struct weir_fold *fold, const uint32_t *depths,
                       uint32_t depth)
{
    for (size_t i = 0; i < view->count; i++)
        view->cells[i].stack = cut_stack(fold, depths, view->cells[i].stack, depth);
    view->is_cut = true;
}

/* Numbers the stacks that cells have, and their callers: callers have lower numbers in the fold, too. */
static void number_stacks(struct weir_cell_view *view, const struct weir_fold *fold)
{
    memset(view->stacks, 0xff, fold->stacks.count * sizeof(*view->stacks));
    for (size_t i = 0; i < view->count; i++) {
        for (uint32_t stack = view->cells[i].stack; stack != WEIR_STACK_NONE && view->stacks[stack] != 0;
             stack = weir_stack_parent(fold, stack))
            view->stacks[stack] = 0;
    }
    view->stack_count = 0;
    for (size_t i = 0; i < fold->stacks.count; i++) {
        if (view->stacks[i] == 0)
            view->stacks[i] = (uint32_t)view->stack_count++;
    }
}

static void measure_depths(const struct weir_fold *fold, uint32_t *depths)
{
    for (size_t i = 0; i < fold->stacks.count; i++) {
        uint32_t parent = weir_stack_parent(fold, (uint32_t)i);
        depths[i] = parent == WEIR_STACK_NONE ? 1 : depths[parent] + 1;
    }
}

static int reduce(struct weir_cell_view *view, const struct weir_fold *fold, const uint32_t *depths)
{
    int result = 0;
    uint32_t depth = DEPTH_FIRST;
    uint64_t last = view->count > 0 ? view->cells[view->count - 1].time : 0;
    for (number_stacks(view, fold); view->stack_count > WEIR_VIEW_STACKS_MAX && depth > 1; depth /= 2) {
        cut_stacks(view, fold, depths, depth);
        number_stacks(view, fold);
    }
    while (result == 0 && view->count > WEIR_VIEW_CELLS_MAX) {
        if (view->step <= last) {
            result = merge(view, 2 * view->step, fold->sums.seed);
        } else if (depth >= 1) {
            cut_stacks(view, fold, depths, depth);
            result = merge(view, view->step, fold->sums.seed);
            depth /= 2;
        } else {
            break; /* as many tasks and CPUs */
        }
    }
    number_stacks(view, fold);
    return result;
}

int weir_cell_view_init(struct weir_cell_view *view, const struct weir_fold *fold)
{
    *view = (struct weir_cell_view){.step = fold->step, .is_cut = fold->is_cut, .count = fold->cell_count};
    view->cells = calloc(fold->cell_count + 1, sizeof(*view->cells));
    view->stacks = calloc(fold->stacks.count + 1, sizeof(*view->stacks));
    uint32_t *depths = calloc(fold->stacks.count + 1, sizeof(*depths));
    int result = view->cells && view->stacks && depths ? 0 : -ENOMEM;
    if (result == 0) {
        if (fold->cell_count > 0)
            memcpy(view->cells, fold->cells, fold->cell_count * sizeof(*view->cells));
        measure_depths(fold, depths);
        result = reduce(view, fold, depths);
    }
    if (result == 0 && view->count > 0)
        qsort(view->cells, view->count, sizeof(*view->cells), compare_cells);
    free(depths);
    return result;
}

void weir_cell_view_fini(struct weir_cell_view *view)
{
    free(view->cells);
    free(view->stacks);
    *view = (struct weir_cell_view){0};
}

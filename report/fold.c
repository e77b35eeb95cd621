/* Folding, and merging the folds of threads. */
#include "report/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"

#define STEPS_FIRST 4096u /* of the whole span */
#define STEP_UNIT   1000u /* ns: what forms show times in */

void weir_fold_init(struct weir_fold *fold, const struct weir_fold_plan *plan)
{
    *fold = (struct weir_fold){
        .is_exact = plan->samples <= WEIR_FOLD_EXACT_MAX,
        .step = 1,
        .stacks_max = WEIR_FOLD_STACKS_MAX / plan->folds,
        .cells_max = WEIR_FOLD_CELLS_MAX / plan->folds,
    };
    if (!fold->is_exact)
        fold->step = (plan->span / STEPS_FIRST / STEP_UNIT + 1) * STEP_UNIT;
    weir_row_table_init(&fold->stacks, 2, 2, plan->seed);
    weir_row_table_init(&fold->sums, 2, 4, plan->seed);
    weir_row_table_init(&fold->merged, 2, 4, plan->seed);
    fold->steps = plan->span / fold->step + 1;
}

void weir_fold_fini(struct weir_fold *fold)
{
    weir_row_table_fini(&fold->stacks);
    weir_row_table_fini(&fold->sums);
    weir_row_table_fini(&fold->merged);
    free(fold->cells);
    *fold = (struct weir_fold){0};
}

uint32_t weir_fold_push(struct weir_fold *fold, uint32_t parent, weir_frame frame)
{
    const uint64_t key[] = {parent, frame};
    if (fold->stacks.count < fold->stacks_max)
        return weir_row_table_add(&fold->stacks, key);
    uint32_t found = weir_row_table_find(&fold->stacks, key);
    if (found != WEIR_ROW_NONE)
        return found;
    fold->is_cut = true;
    return parent;
}

int weir_fold_sum(struct weir_fold *fold, uint32_t event, uint32_t comm, weir_frame frame, const struct weir_cell *cell)
{
    const uint64_t key[] = {(uint64_t)event << 32 | comm, frame};
    uint32_t number = weir_row_table_add(&fold->sums, key);
    if (number == WEIR_ROW_NONE)
        return -ENOMEM;
    uint64_t *row = weir_row(&fold->sums, number);
    row[2] += cell->count;
    row[3] += cell->weight;
    return 0;
}

/* ---- cells ---- */

static void pack(const struct weir_cell *cell, uint64_t step, uint64_t key[2])
{
    key[0] = cell->time / step << 32 | cell->stack;
    key[1] = (uint64_t)cell->task << 32 | (uint32_t)cell->event << 16 | cell->cpu;
}

static struct weir_cell unpack(const uint64_t *row, uint64_t step)
{
    return (struct weir_cell){
        .time = (row[0] >> 32) * step,
        .stack = (uint32_t)row[0],
        .task = (uint32_t)(row[1] >> 32),
        .event = (uint16_t)(row[1] >> 16),
        .cpu = (uint16_t)row[1],
        .count = row[2],
        .weight = row[3],
    };
}

static int append_cell(struct weir_fold *fold, const struct weir_cell *cell)
{
    struct weir_cell *cells = weir_array_grow(fold->cells, sizeof(*cells), fold->cell_count, 1, &fold->cell_capacity);
    if (!cells)
        return -ENOMEM;
    fold->cells = cells;
    cells[fold->cell_count++] = *cell;
    return 0;
}

static int merge_cell(struct weir_row_table *table, const struct weir_cell *cell, uint64_t step)
{
    uint64_t key[2];
    pack(cell, step, key);
    uint32_t number = weir_row_table_add(table, key);
    if (number == WEIR_ROW_NONE)
        return -ENOMEM;
    uint64_t *row = weir_row(table, number);
    row[2] += cell->count;
    row[3] += cell->weight;
    return 0;
}

static int double_step(struct weir_fold *fold)
{
    struct weir_row_table coarse;
    weir_row_table_init(&coarse, 2, 4, fold->merged.seed);
    uint64_t step = 2 * fold->step;
    int result = 0;
    for (size_t i = 0; result == 0 && i < fold->merged.count; i++) {
        struct weir_cell cell = unpack(weir_row(&fold->merged, (uint32_t)i), fold->step);
        result = merge_cell(&coarse, &cell, step);
    }
    weir_row_table_fini(&fold->merged);
    fold->merged = coarse;
    fold->step = step;
    fold->steps = (fold->steps + 1) / 2;
    return result;
}

int weir_fold_add(struct weir_fold *fold, const struct weir_cell *cell)
{
    if (fold->is_exact)
        return append_cell(fold, cell);
    /* Half of the cells become free, or time has one step only: then there is a cell per task, stack and CPU. */
    bool is_full = fold->merged.count >= fold->cells_max;
    while (is_full && fold->merged.count > fold->cells_max / 2 && fold->steps > 1) {
        int result = double_step(fold);
        if (result < 0)
            return result;
    }
    return merge_cell(&fold->merged, cell, fold->step);
}

/* ---- merging ---- */

static int merge_sums(struct weir_fold *fold, const struct weir_fold *other)
{
    for (size_t i = 0; i < other->sums.count; i++) {
        const uint64_t *from = weir_row(&other->sums, (uint32_t)i);
        uint32_t number = weir_row_table_add(&fold->sums, from);
        if (number == WEIR_ROW_NONE)
            return -ENOMEM;
        uint64_t *row = weir_row(&fold->sums, number);
        row[2] += from[2];
        row[3] += from[3];
    }
    return 0;
}

/* Callers have lower numbers than their callees. So each caller is already there when it is needed. */
static int merge_stacks(struct weir_fold *fold, const struct weir_fold *other, uint32_t *numbers)
{
    for (size_t i = 0; i < other->stacks.count; i++) {
        const uint64_t *row = weir_row(&other->stacks, (uint32_t)i);
        uint32_t parent = (uint32_t)row[0];
        numbers[i] = weir_fold_push(fold, parent == WEIR_STACK_NONE ? parent : numbers[parent], row[1]);
        if (numbers[i] == WEIR_STACK_NONE)
            return -ENOMEM;
    }
    return 0;
}

static int merge_cells(struct weir_fold *fold, const struct weir_fold *other, const uint32_t *numbers)
{
    int result = 0;
    size_t count = other->is_exact ? other->cell_count : other->merged.count;
    while (result == 0 && fold->step < other->step)
        result = double_step(fold);
    for (size_t i = 0; result == 0 && i < count; i++) {
        struct weir_cell cell =
            other->is_exact ? other->cells[i] : unpack(weir_row(&other->merged, (uint32_t)i), other->step);
        cell.stack = cell.stack == WEIR_STACK_NONE ? cell.stack : numbers[cell.stack];
        result = weir_fold_add(fold, &cell);
    }
    return result;
}

int weir_fold_merge(struct weir_fold *fold, const struct weir_fold *other)
{
    uint32_t *numbers = calloc(other->stacks.count + 1, sizeof(*numbers));
    int result = numbers ? merge_sums(fold, other) : -ENOMEM;
    if (result == 0)
        result = merge_stacks(fold, other, numbers);
    if (result == 0)
        result = merge_cells(fold, other, numbers);
    free(numbers);
    fold->is_cut |= other->is_cut;
    return result;
}

static int compare_cells(const void *a, const void *b)
{
    const struct weir_cell *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

int weir_fold_finish(struct weir_fold *fold)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < fold->merged.count; i++) {
        struct weir_cell cell = unpack(weir_row(&fold->merged, (uint32_t)i), fold->step);
        result = append_cell(fold, &cell);
    }
    weir_row_table_fini(&fold->merged);
    if (result == 0 && fold->cell_count > 0)
        qsort(fold->cells, fold->cell_count, sizeof(*fold->cells), compare_cells);
    return result;
}

/*
 * Samples folded into few numbers: a tree of stacks, cells of samples that are alike, and sums by task name and frame.
 *
 * A frame is a symbol of an object. A stack is a node of the tree: its own frame, and the stack that called it. A cell
 * counts samples of the same time, CPU, task, event and stack; up to WEIR_FOLD_EXACT_MAX samples have a cell each.
 *
 * One thread per fold; threads fold apart, and one of them merges. Bounds: WEIR_FOLD_STACKS_MAX nodes, beyond which
 * calls are left out from the inside, and WEIR_FOLD_CELLS_MAX cells, beyond which their time becomes coarser.
 */
#ifndef WEIR_REPORT_FOLD_H
#define WEIR_REPORT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/row_table.h"

#define WEIR_FOLD_EXACT_MAX  262144u
#define WEIR_FOLD_STACKS_MAX (4u << 20)
#define WEIR_FOLD_CELLS_MAX  (2u << 20)
#define WEIR_STACK_NONE      UINT32_MAX
#define WEIR_CPU_UNKNOWN     0xffffu

/* A frame: number of an object and of its symbol (WEIR_SYMBOL_NONE: unknown). */
typedef uint64_t weir_frame;

static inline weir_frame weir_frame_of(uint32_t object, uint32_t symbol)
{
    return (uint64_t)object << 32 | symbol;
}

static inline uint32_t weir_frame_object(weir_frame frame)
{
    return (uint32_t)(frame >> 32);
}

static inline uint32_t weir_frame_symbol(weir_frame frame)
{
    return (uint32_t)frame;
}

struct weir_cell {
    uint64_t time; /* since the first; a multiple of the fold's step */
    uint32_t task, stack;
    uint16_t event, cpu; /* cpu WEIR_CPU_UNKNOWN: unknown */
    uint64_t count, weight;
};

struct weir_fold {
    uint64_t step;  /* of the cells' times; 1 if they are exact */
    bool is_exact;  /* a cell is a sample */
    bool is_cut;    /* calls were left out */
    uint64_t steps; /* all times are below steps * step */
    size_t stacks_max, cells_max;

    struct weir_row_table stacks; /* parent, frame */
    struct weir_row_table sums;   /* event << 32 | comm, frame; samples, weight */
    struct weir_row_table merged; /* unless exact: step number << 32 | stack, task << 32 | event << 16 | cpu; samples,
                                     weight */
    struct weir_cell *cells;      /* owned; if exact */
    size_t cell_count, cell_capacity;
};

/* What all folds of a recording share. */
struct weir_fold_plan {
    uint64_t samples, span; /* span: of the clock, from the first sample to the last */
    unsigned folds;         /* how many share the bounds */
    uint64_t seed;
};

/* Makes an empty fold. Does not allocate. */
void weir_fold_init(struct weir_fold *fold, const struct weir_fold_plan *plan);
void weir_fold_fini(struct weir_fold *fold);

/* Returns the stack in which frame is called by parent (WEIR_STACK_NONE: by nobody); beyond the bound, parent.
 * WEIR_STACK_NONE: no memory either. */
uint32_t weir_fold_push(struct weir_fold *fold, uint32_t parent, weir_frame frame);

/* Adds one sample's cell; its time need not be a multiple of the step. 0 or -ENOMEM. */
int weir_fold_add(struct weir_fold *fold, const struct weir_cell *cell);

/* Adds to the sum of an event, a task's name and the frame of the sample's own address. 0 or -ENOMEM. */
int weir_fold_sum(struct weir_fold *fold, uint32_t event, uint32_t comm, weir_frame frame,
                  const struct weir_cell *cell);

/* Adds all of another fold of the same plan. 0 or -ENOMEM. */
int weir_fold_merge(struct weir_fold *fold, const struct weir_fold *other);

/* Turns what was added into cells, by time. 0 or -ENOMEM. Nothing may be added afterwards. */
int weir_fold_finish(struct weir_fold *fold);

/* Returns the frame of a stack, and its caller. */
static inline weir_frame weir_stack_frame(const struct weir_fold *fold, uint32_t stack)
{
    return weir_row(&fold->stacks, stack)[1];
}

static inline uint32_t weir_stack_parent(const struct weir_fold *fold, uint32_t stack)
{
    return (uint32_t)weir_row(&fold->stacks, stack)[0];
}

#endif

/*
 * A bounded view of a fold's cells: as many as a page can hold. The step of time is doubled until the cells are few
 * enough. If one step for all time still has too many cells, stacks are cut to their outermost calls. Counts and
 * weights stay whole. One thread; allocates.
 */
#ifndef WEIR_REPORT_CELL_VIEW_H
#define WEIR_REPORT_CELL_VIEW_H

#include "report/fold.h"

#define WEIR_VIEW_CELLS_MAX  262144u
#define WEIR_VIEW_STACKS_MAX (1u << 20)

struct weir_cell_view {
    struct weir_cell *cells; /* owned; by time */
    size_t count;
    uint64_t step;
    bool is_cut;      /* stacks are cut */
    uint32_t *stacks; /* owned; by number of a stack of the fold: its number here, callers first; WEIR_STACK_NONE: the
                         view has no such stack */
    size_t stack_count;
};

/* Makes the view of a finished fold. 0 or -ENOMEM. Release it with weir_cell_view_fini() in any case. */
int weir_cell_view_init(struct weir_cell_view *view, const struct weir_fold *fold);
void weir_cell_view_fini(struct weir_cell_view *view);

#endif

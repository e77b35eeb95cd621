/*
 * The screen of `weir top`: depends on its model alone, and draws by ncurses. Main thread; the terminal is open
 * (newterm(3)).
 *
 *     command line of the recording
 *     state, time, rates, sizes, losses
 *     memory, readers' waits, latency of the output
 *     the heat map
 *     the CPU under the cursor
 *     a message, or the keys
 */
#ifndef WEIR_CLI_TOP_SCREEN_H
#define WEIR_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/status_view.h"

enum weir_top_metric {
    WEIR_TOP_FILL,
    WEIR_TOP_RATE,
    WEIR_TOP_LOSSES,
};

struct weir_top_model {
    const char *title; /* borrowed; fit for a terminal */
    const struct weir_status_view *now,
        *before; /* borrowed; NULL: nothing was told yet. before: for the rates; may be now */
    enum weir_top_metric metric;
    size_t cursor;       /* index of the heat map's cells */
    const char *message; /* borrowed; "": the keys are shown */
};

enum weir_top_move {
    WEIR_TOP_LEFT,
    WEIR_TOP_RIGHT,
    WEIR_TOP_UP,
    WEIR_TOP_DOWN,
    WEIR_TOP_HOME,
    WEIR_TOP_END,
};

/* Draws all. */
void weir_top_screen_draw(const struct weir_top_model *model);

/* Moves the cursor as it is drawn on the present size of the terminal. */
void weir_top_screen_move(struct weir_top_model *model, enum weir_top_move move);

#endif

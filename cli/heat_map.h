/*
 * Where the cells of a heat map stand: a cell for each place of a recording, in groups by node and package, in a
 * rectangle of a terminal. Pure; any thread.
 *
 * If there are rows enough, each group begins a row, behind its label. Otherwise the groups follow one another, apart
 * by a column, and the map may have more rows than the rectangle: the caller scrolls.
 */
#ifndef WEIR_CLI_HEAT_MAP_H
#define WEIR_CLI_HEAT_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/status_view.h"

#define WEIR_HEAT_LABEL_COLUMNS 9u /* "n12 p3   " */

struct weir_heat_cell {
    unsigned place; /* index in the view */
    unsigned row, column;
    bool begins_group;
};

struct weir_heat_map {
    struct weir_heat_cell *cells; /* owned; in the order of node, package and id */
    size_t count;
    unsigned rows;
    bool labeled; /* cells that begin a group have a label at the start of their row */
};

/* Lays out the places of view in so many columns and rows (each at least 1). 0 or -ENOMEM. */
int weir_heat_map_init(struct weir_heat_map *map, const struct weir_status_view *view, unsigned columns, unsigned rows);

/* NULL-safe. */
void weir_heat_map_fini(struct weir_heat_map *map);

/* Returns the cell that a step of so many rows from this cell leads to: that in the row, or the nearest one there. */
size_t weir_heat_map_step_rows(const struct weir_heat_map *map, size_t cell, int rows);

#endif

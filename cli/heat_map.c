/* Lays out a heat map. Pure; any thread. */
#include "cli/heat_map.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b, void *ctx)
{
    const struct weir_status_view *view = ctx;
    const struct weir_heat_cell *one = a, *other = b;
    const struct weir_place_view *x = &view->places[one->place], *y = &view->places[other->place];
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void mark_groups(struct weir_heat_map *map, const struct weir_status_view *view)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct weir_place_view *place = &view->places[map->cells[i].place];
        const struct weir_place_view *before = i > 0 ? &view->places[map->cells[i - 1].place] : NULL;
        map->cells[i].begins_group = !before || before->node != place->node || before->package != place->package;
    }
}

/* Begins a row for each group. Returns the number of rows. */
static unsigned lay_labeled(struct weir_heat_map *map, unsigned columns)
{
    unsigned row = 0, column = 0;
    for (size_t i = 0; i < map->count; i++) {
        struct weir_heat_cell *cell = &map->cells[i];
        if (i > 0 && (cell->begins_group || WEIR_HEAT_LABEL_COLUMNS + column >= columns)) {
            row++;
            column = 0;
        }
        cell->row = row;
        cell->column = WEIR_HEAT_LABEL_COLUMNS + column++;
    }
    return row + 1;
}

static unsigned lay_flowing(struct weir_heat_map *map, unsigned columns)
{
    unsigned row = 0, column = 0;
    for (size_t i = 0; i < map->count; i++) {
        struct weir_heat_cell *cell = &map->cells[i];
        if (i > 0 && cell->begins_group && column > 0)
            column++;
        if (column >= columns) {
            row++;
            column = 0;
        }
        cell->row = row;
        cell->column = column++;
    }
    return row + 1;
}

int weir_heat_map_init(struct weir_heat_map *map, const struct weir_status_view *view, unsigned columns, unsigned rows)
{
    *map = (struct weir_heat_map){.count = view->place_count};
    if (map->count == 0)
        return 0;
    map->cells = calloc(map->count, sizeof(*map->cells));
    if (!map->cells)
        return -ENOMEM;
    for (size_t i = 0; i < map->count; i++)
        map->cells[i].place = (unsigned)i;
    qsort_r(map->cells, map->count, sizeof(*map->cells), compare, (void *)view);
    mark_groups(map, view);
    map->labeled = columns > WEIR_HEAT_LABEL_COLUMNS;
    map->rows = map->labeled ? lay_labeled(map, columns) : 0;
    if (!map->labeled || map->rows > rows) {
        map->labeled = false;
        map->rows = lay_flowing(map, columns);
    }
    return 0;
}

void weir_heat_map_fini(struct weir_heat_map *map)
{
    if (!map)
        return;
    free(map->cells);
    *map = (struct weir_heat_map){0};
}

size_t weir_heat_map_step_rows(const struct weir_heat_map *map, size_t cell, int rows)
{
    int row = (int)map->cells[cell].row + rows;
    unsigned column = map->cells[cell].column;
    if (row < 0 || row >= (int)map->rows)
        return cell;
    size_t best = cell;
    for (size_t i = 0; i < map->count; i++) {
        const struct weir_heat_cell *other = &map->cells[i];
        if (other->row == (unsigned)row && (best == cell || other->column <= column))
            best = i;
    }
    return best;
}

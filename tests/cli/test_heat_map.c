/* Where the cells of the heat map stand. */
#include "cli/heat_map.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct weir_status_view machine(unsigned cpus, unsigned nodes)
{
    struct weir_status_view view = {.places = calloc(cpus, sizeof(*view.places)), .place_count = cpus};
    for (unsigned i = 0; i < cpus; i++)
        view.places[i] = (struct weir_place_view){.id = i, .node = i % nodes, .package = i % nodes / 2};
    return view;
}

/* Each cell has a place and a position of its own. */
static void expect_apart(const struct weir_heat_map *map, unsigned columns)
{
    bool *taken = calloc((size_t)map->rows * columns, sizeof(*taken)), *shown = calloc(map->count, sizeof(*shown));
    for (size_t i = 0; i < map->count; i++) {
        const struct weir_heat_cell *cell = &map->cells[i];
        cr_assert_lt(cell->row, map->rows);
        cr_assert_lt(cell->column, columns);
        cr_assert_not(taken[cell->row * columns + cell->column]);
        cr_assert_not(shown[cell->place]);
        taken[cell->row * columns + cell->column] = shown[cell->place] = true;
    }
    free(taken);
    free(shown);
}

Test(heat_map, no_places_need_no_cells)
{
    struct weir_status_view view = {0};
    struct weir_heat_map map;
    cr_assert_eq(weir_heat_map_init(&map, &view, 80, 18), 0);
    cr_expect_eq(map.count, 0);
    weir_heat_map_fini(&map);
    weir_heat_map_fini(NULL);
}

Test(heat_map, thousand_cpus_fit_a_terminal_of_80_by_24)
{
    static const unsigned nodes[] = {1, 2, 4, 8, 16, 64};
    for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        struct weir_status_view view = machine(1024, nodes[i]);
        struct weir_heat_map map;
        cr_assert_eq(weir_heat_map_init(&map, &view, 80, 18), 0);
        cr_expect_leq(map.rows, 18, "%u nodes: %u rows", nodes[i], map.rows);
        cr_expect_eq(map.labeled, nodes[i] <= 16);
        expect_apart(&map, 80);
        weir_heat_map_fini(&map);
        free(view.places);
    }
}

Test(heat_map, terminal_that_is_too_small_has_more_rows_to_scroll)
{
    for (unsigned columns = 1; columns <= 40; columns++) {
        struct weir_status_view view = machine(1024, 8);
        struct weir_heat_map map;
        cr_assert_eq(weir_heat_map_init(&map, &view, columns, 18), 0);
        cr_expect_not(map.labeled);
        cr_expect_geq(map.rows, (1024 + columns - 1) / columns);
        expect_apart(&map, columns);
        weir_heat_map_fini(&map);
        free(view.places);
    }
}

Test(heat_map, groups_stand_together_in_order_of_node_and_package)
{
    struct weir_status_view view = machine(12, 4);
    struct weir_heat_map map;
    static const unsigned places[] = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
    cr_assert_eq(weir_heat_map_init(&map, &view, 80, 18), 0);
    for (unsigned i = 0; i < 12; i++) {
        cr_expect_eq(map.cells[i].place, places[i]);
        cr_expect_eq(map.cells[i].row, i / 3);
        cr_expect_eq(map.cells[i].begins_group, i % 3 == 0);
    }
    weir_heat_map_fini(&map);
    free(view.places);
}

Test(heat_map, steps_between_rows_keep_the_column_where_there_is_one)
{
    struct weir_status_view view = machine(5, 1);
    struct weir_heat_map map;
    cr_assert_eq(weir_heat_map_init(&map, &view, 2, 3), 0); /* 01, 23, 4 */
    cr_assert_eq(map.rows, 3);
    cr_expect_eq(weir_heat_map_step_rows(&map, 1, 1), 3);
    cr_expect_eq(weir_heat_map_step_rows(&map, 3, 1), 4);
    cr_expect_eq(weir_heat_map_step_rows(&map, 4, 1), 4);
    cr_expect_eq(weir_heat_map_step_rows(&map, 4, -1), 2);
    cr_expect_eq(weir_heat_map_step_rows(&map, 0, -1), 0);
    weir_heat_map_fini(&map);
    free(view.places);
}

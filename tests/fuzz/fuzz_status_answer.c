/* The answer of a recording to `status -v`, as weir status and weir top take it: whatever was answered, the views and
 * the heat map stay in their bounds. */
#include <string.h>

#include "base/assert.h"
#include "cli/heat_map.h"
#include "cli/recordings.h"
#include "cli/status_view.h"
#include "tests/fuzz/fuzz.h"

static void lay_out(const struct weir_status_view *view, unsigned columns, unsigned rows)
{
    struct weir_heat_map map;
    if (weir_heat_map_init(&map, view, columns, rows) < 0)
        return;
    weir_assert(map.count == view->place_count);
    for (size_t i = 0; i < map.count; i++) {
        weir_assert(map.cells[i].row < map.rows && map.cells[i].column < columns);
        weir_assert(map.cells[i].place < map.count);
    }
    if (map.count > 0)
        weir_assert(weir_heat_map_step_rows(&map, map.count / 2, 1) < map.count);
    weir_heat_map_fini(&map);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    struct weir_buf answer = WEIR_BUF_INIT;
    struct weir_error err = {0};
    struct weir_status_view view;
    weir_buf_append(&answer, data, bytes);
    int result = weir_recordings_conclude(&answer, &err);
    weir_assert((result == 0) == (err.code == 0));
    if (weir_status_view_parse(&view, weir_buf_str(&answer), answer.used) == 0) {
        weir_assert(strlen(view.state) < sizeof(view.state) && strlen(view.pressure) < sizeof(view.pressure));
        weir_assert((view.places != NULL) == (view.place_count > 0));
        lay_out(&view, 80, 18);
        lay_out(&view, 1, 1);
    }
    weir_status_view_fini(&view);
    weir_buf_fini(&answer);
}

const struct fuzz_target fuzz_target = {.run = run};

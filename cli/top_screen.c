/* Draws `weir top`. Main thread. */
#ifdef WEIR_NCURSES

#include "cli/top_screen.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/heat_map.h"
#include "cli/status_text.h"

#define HEAD_ROWS    4 /* above the map, with its title */
#define FOOT_ROWS    2 /* below the map */
#define LINE_BYTES   512
#define BYTES_PER_MB 1e6
#define LEVELS       10
#define PER_MILLE    1000
#define WARM_LEVEL   5
#define HOT_LEVEL    8

enum color {
    COOL = 1, /* pairs are numbered from 1 */
    WARM,
    HOT,
};

static const char keys_long[] = "f fill  r rate  l losses  s snapshot  w rotate  e on/off  x stop  n next  q";
static const char keys_short[] = "f r l  s w e x  n  q quit";

/* ---- lines ---- */

static void put(int row, const char *text)
{
    if (row < 0 || row >= LINES)
        return;
    move(row, 0);
    clrtoeol();
    addnstr(text, COLS - 1);
}

static double seconds_between(const struct weir_top_model *model)
{
    const struct weir_status_view *now = model->now, *before = model->before;
    return now->elapsed_ms > before->elapsed_ms ? (double)(now->elapsed_ms - before->elapsed_ms) / 1000.0 : 0;
}

static double rate(const struct weir_top_model *model, uint64_t now, uint64_t before)
{
    double seconds = seconds_between(model);
    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

static void draw_totals(const struct weir_top_model *model)
{
    const struct weir_status_view *now = model->now, *before = model->before;
    char line[LINE_BYTES], duration[16], number[16], lost[16];
    snprintf(line, sizeof(line), "%s %s  lost %s  %s/s  %.1f MB/s  %.0f MB  files %" PRIu64 "  snapshots %" PRIu64,
             now->state, weir_status_text_duration(duration, now->elapsed_ms * WEIR_NS_PER_MS),
             weir_status_text_number(lost, (double)(now->lost + now->shed)),
             weir_status_text_number(number, rate(model, now->samples, before->samples)),
             rate(model, now->bytes, before->bytes) / BYTES_PER_MB, (double)now->bytes / BYTES_PER_MB, now->files,
             now->snapshots);
    if (now->has_lease) {
        size_t used = strlen(line);
        snprintf(line + used, sizeof(line) - used, "  lease %s",
                 weir_status_text_duration(duration, now->lease_left_ms * WEIR_NS_PER_MS));
    }
    if (now->lost + now->shed > 0)
        attron(COLOR_PAIR(HOT));
    put(1, line);
    attroff(COLOR_PAIR(HOT));
}

static void draw_parts(const struct weir_top_model *model)
{
    const struct weir_status_view *now = model->now, *before = model->before;
    char line[LINE_BYTES];
    int used = snprintf(line, sizeof(line), "pool %.0f %% (%s)",
                        now->pool_bytes > 0 ? 100.0 * (double)now->pool_used_bytes / (double)now->pool_bytes : 0,
                        now->pressure);
    uint64_t chunks = now->output_chunks - weir_min_u64(before->output_chunks, now->output_chunks);
    if (now->has_output && chunks > 0)
        used += snprintf(
            line + used, sizeof(line) - (size_t)used, "  disk %.1f ms",
            (double)(now->output_latency_us - weir_min_u64(before->output_latency_us, now->output_latency_us)) /
                (double)chunks / 1000.0);
    else if (now->has_output)
        used += snprintf(line + used, sizeof(line) - (size_t)used, "  disk idle");
    snprintf(line + used, sizeof(line) - (size_t)used,
             "  waits for memory %" PRIu64 " (p99 %.1f ms)  looks p99 %.1f ms%s", now->waits,
             (double)now->wait_p99_us / 1000.0, (double)now->gap_p99_us / 1000.0,
             now->output_error ? "  OUTPUT FAILED" : "");
    put(2, line);
}

/* ---- cells ---- */

static const struct weir_place_view *place_before(const struct weir_top_model *model, unsigned place)
{
    bool known = place < model->before->place_count && model->before->places[place].id == model->now->places[place].id;
    return known ? &model->before->places[place] : &model->now->places[place];
}

static double place_rate(const struct weir_top_model *model, unsigned place)
{
    return rate(model, model->now->places[place].samples, place_before(model, place)->samples);
}

static double highest_rate(const struct weir_top_model *model)
{
    double highest = 0;
    for (unsigned i = 0; i < model->now->place_count; i++) {
        double of_place = place_rate(model, i);
        highest = of_place > highest ? of_place : highest;
    }
    return highest;
}

static chtype level_cell(double share)
{
    int level = (int)(share * LEVELS);
    level = level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level;
    if (level == 0)
        return '.';
    return (chtype)('0' + level) | COLOR_PAIR(level >= HOT_LEVEL ? HOT : level >= WARM_LEVEL ? WARM : COOL);
}

static chtype cell_of(const struct weir_top_model *model, unsigned place, double highest)
{
    const struct weir_place_view *now = &model->now->places[place];
    if (now->fill_per_mille < 0)
        return '-';
    switch (model->metric) {
    case WEIR_TOP_FILL:
        return level_cell((double)now->fill_per_mille / PER_MILLE);
    case WEIR_TOP_RATE:
        return highest > 0 ? (level_cell(place_rate(model, place) / highest) & A_CHARTEXT) | COLOR_PAIR(COOL) : '.';
    case WEIR_TOP_LOSSES:
        break;
    }
    if (now->lost > place_before(model, place)->lost)
        return '!' | COLOR_PAIR(HOT) | A_BOLD;
    return now->lost > 0 ? '+' | COLOR_PAIR(WARM) : '.';
}

static unsigned map_rows(void)
{
    return LINES > HEAD_ROWS + FOOT_ROWS ? (unsigned)(LINES - HEAD_ROWS - FOOT_ROWS) : 1;
}

static unsigned map_columns(void)
{
    return COLS > 1 ? (unsigned)COLS : 1;
}

static void draw_title(const struct weir_top_model *model, const struct weir_heat_map *map, double highest)
{
    static const char *const names[] = {
        [WEIR_TOP_FILL] = "ring fill, in tenths", [WEIR_TOP_RATE] = "rate", [WEIR_TOP_LOSSES] = "losses"};
    char line[LINE_BYTES], number[16];
    int used = snprintf(line, sizeof(line), "%zu %s: %s", map->count, model->now->of_tasks ? "tasks" : "CPUs",
                        names[model->metric]);
    if (model->metric == WEIR_TOP_RATE)
        snprintf(line + used, sizeof(line) - (size_t)used, ", in tenths of %s/s",
                 weir_status_text_number(number, highest));
    attron(A_BOLD);
    put(3, line);
    attroff(A_BOLD);
}

static void draw_map(const struct weir_top_model *model, const struct weir_heat_map *map, size_t cursor)
{
    double highest = highest_rate(model);
    unsigned rows = map_rows(), at = map->count > 0 ? map->cells[cursor].row : 0;
    unsigned first = map->rows > rows && at >= rows / 2 ? weir_min_u64(at - rows / 2, map->rows - rows) : 0;
    draw_title(model, map, highest);
    for (size_t i = 0; i < map->count; i++) {
        const struct weir_heat_cell *cell = &map->cells[i];
        if (cell->row < first || cell->row - first >= rows)
            continue;
        int row = HEAD_ROWS + (int)(cell->row - first);
        if (map->labeled && cell->begins_group && !model->now->of_tasks) {
            char label[32];
            snprintf(label, sizeof(label), "n%" PRId64 " p%" PRId64, model->now->places[cell->place].node,
                     model->now->places[cell->place].package);
            mvaddnstr(row, 0, label, WEIR_HEAT_LABEL_COLUMNS - 1);
        }
        mvaddch(row, (int)cell->column, cell_of(model, cell->place, highest) | (i == cursor ? A_REVERSE : 0));
    }
}

static void draw_place(const struct weir_top_model *model, unsigned place)
{
    const struct weir_place_view *now = &model->now->places[place];
    char line[LINE_BYTES], where[64] = "", fill[32] = "offline", number[16];
    if (!model->now->of_tasks)
        snprintf(where, sizeof(where), "  node %" PRId64 " package %" PRId64, now->node, now->package);
    if (now->fill_per_mille >= 0)
        snprintf(fill, sizeof(fill), "ring %.1f %%", (double)now->fill_per_mille / 10.0);
    snprintf(line, sizeof(line), "%s %" PRId64 "%s  %s  %s/s  lost %" PRIu64 "  samples %" PRIu64,
             model->now->of_tasks ? "task" : "CPU", now->id, where, fill,
             weir_status_text_number(number, place_rate(model, place)), now->lost, now->samples);
    put(LINES - FOOT_ROWS, line);
}

static void begin_colors(void)
{
    if (!has_colors() || getenv("NO_COLOR"))
        return;
    start_color();
    use_default_colors();
    init_pair(COOL, COLOR_GREEN, -1);
    init_pair(WARM, COLOR_YELLOW, -1);
    init_pair(HOT, COLOR_RED, -1);
}

void weir_top_screen_draw(const struct weir_top_model *model)
{
    begin_colors();
    erase();
    attron(A_REVERSE);
    put(0, model->title);
    attroff(A_REVERSE);
    if (model->now) {
        struct weir_heat_map map;
        draw_totals(model);
        draw_parts(model);
        if (weir_heat_map_init(&map, model->now, map_columns(), map_rows()) == 0 && map.count > 0) {
            size_t cursor = weir_min_u64(model->cursor, map.count - 1);
            draw_map(model, &map, cursor);
            draw_place(model, map.cells[cursor].place);
        }
        weir_heat_map_fini(&map);
    }
    if (model->message[0])
        attron(A_BOLD);
    put(LINES - 1, model->message[0] ? model->message : COLS > (int)sizeof(keys_long) - 1 ? keys_long : keys_short);
    attroff(A_BOLD);
    refresh();
}

void weir_top_screen_move(struct weir_top_model *model, enum weir_top_move move)
{
    struct weir_heat_map map;
    if (!model->now || weir_heat_map_init(&map, model->now, map_columns(), map_rows()) < 0)
        return;
    size_t last = map.count > 0 ? map.count - 1 : 0, cursor = weir_min_u64(model->cursor, last);
    switch (move) {
    case WEIR_TOP_LEFT:
        cursor -= cursor > 0;
        break;
    case WEIR_TOP_RIGHT:
        cursor += cursor < last;
        break;
    case WEIR_TOP_UP:
        cursor = map.count > 0 ? weir_heat_map_step_rows(&map, cursor, -1) : 0;
        break;
    case WEIR_TOP_DOWN:
        cursor = map.count > 0 ? weir_heat_map_step_rows(&map, cursor, 1) : 0;
        break;
    case WEIR_TOP_HOME:
        cursor = 0;
        break;
    case WEIR_TOP_END:
        cursor = last;
        break;
    }
    model->cursor = cursor;
    weir_heat_map_fini(&map);
}

#endif

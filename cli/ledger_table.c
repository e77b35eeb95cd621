/* Two spaces at least stand before each column, and a title may have one: scripts of ours split the lines there. */
#include "cli/ledger_table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"

#define EVENT_COLUMN_MAX   40
#define EVENT_COLUMN_MIN   7 /* "samples" */
#define FIGURE_BYTES       32
#define PLACE_COLUMN       6
#define PLACE_COLUMN_TASKS 9

struct column {
    const char *title;
    size_t offset; /* in a row */
    bool is_always_shown;
};

#define COLUMN(member) offsetof(struct weir_ledger_row, member)

static const struct column columns[] = {
    {"WRITTEN", COLUMN(written), true},
    {"MERGED", COLUMN(merged)},
    {"EVICTED", COLUMN(evicted)},
    {"SHED", COLUMN(shed)},
    {"LOST IN RING", COLUMN(lost_ring_full)},
    {"LOST WRITING", COLUMN(lost_write_failed)},
    {"LOST IN SUMS", COLUMN(lost_in_sums)},
    {"LEFT OUT", COLUMN(left_out)},
    {"CUT OFF", COLUMN(cut_off)},
    {"FILTERED", COLUMN(filtered)},
    {"COUNTED", COLUMN(counted), true},
};
#define COLUMNS WEIR_ARRAY_COUNT(columns)
#define COUNTED (COLUMNS - 1)

struct table {
    struct weir_buf *text;
    int place_width, event_width;
    int widths[COLUMNS]; /* 0: the column is left out */
};

static uint64_t value_of(const struct weir_ledger_row *row, size_t column)
{
    uint64_t value;
    memcpy(&value, (const char *)row + columns[column].offset, sizeof(value));
    return value;
}

static bool is_silent(const struct weir_ledger_row *row)
{
    uint64_t any = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        any |= value_of(row, i);
    return any == 0;
}

/* Writes a figure. The counts of clocks are nanoseconds. */
static const char *figure(const struct weir_ledger_row *row, size_t column, bool is_clock, char text[FIGURE_BYTES])
{
    uint64_t value = value_of(row, column);
    if (column == COUNTED && is_clock)
        snprintf(text, FIGURE_BYTES, "%.3f ms", (double)value / (double)WEIR_NS_PER_MS);
    else
        snprintf(text, FIGURE_BYTES, "%" PRIu64, value);
    return text;
}

static bool is_clock(const struct weir_record_result *result, unsigned event)
{
    return result->event_is_clock && result->event_is_clock[event];
}

static void measure(struct table *table, const struct weir_ledger_row *row, bool clock)
{
    char text[FIGURE_BYTES];
    for (size_t i = 0; i < COLUMNS; i++) {
        if (value_of(row, i) == 0 && !columns[i].is_always_shown)
            continue;
        size_t title = strlen(columns[i].title), width = strlen(figure(row, i, clock, text));
        table->widths[i] = (int)weir_max_u64((uint64_t)table->widths[i], weir_max_u64(title, width));
    }
}

static void append_row(const struct table *table, const char *event, const struct weir_ledger_row *row, bool clock)
{
    char text[FIGURE_BYTES];
    weir_buf_printf(table->text, "  %-*.*s", table->event_width, table->event_width, event);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (table->widths[i] > 0)
            weir_buf_printf(table->text, "  %*s", table->widths[i], figure(row, i, clock, text));
    }
    weir_buf_append_u8(table->text, '\n');
}

static void append_titles(const struct table *table, bool of_tasks)
{
    weir_buf_printf(table->text, "%*s  %-*s", table->place_width, of_tasks ? "TASK" : "CPU", table->event_width,
                    "EVENT");
    for (size_t i = 0; i < COLUMNS; i++) {
        if (table->widths[i] > 0)
            weir_buf_printf(table->text, "  %*s", table->widths[i], columns[i].title);
    }
    weir_buf_append_u8(table->text, '\n');
}

/* Adds up the samples. Counts of clocks and others have no sum. Returns whether it is one of clocks. */
static bool sum_up(const struct weir_record_result *result, struct weir_ledger_row *total)
{
    bool has_clocks = false, has_others = false;
    for (size_t i = 0; i < result->ledger_count; i++) {
        const struct weir_ledger_row *row = &result->ledger[i];
        if (row->event >= result->side_event)
            continue;
        weir_ledger_row_add(total, row);
        *(is_clock(result, row->event) ? &has_clocks : &has_others) = true;
    }
    if (has_clocks && has_others)
        total->counted = 0;
    return has_clocks && !has_others;
}

size_t weir_ledger_table_append(struct weir_buf *text, const struct weir_record_result *result)
{
    struct weir_ledger_row total = {0};
    bool of_tasks = result->ledger_count > 0 && result->ledger[0].cpu < 0, of_clocks = sum_up(result, &total);
    struct table table = {
        .text = text,
        .place_width = of_tasks ? PLACE_COLUMN_TASKS : PLACE_COLUMN,
        .event_width = EVENT_COLUMN_MIN,
    };
    size_t silent = 0;
    for (size_t i = 0; i < result->event_count; i++)
        table.event_width = (int)weir_max_u64((uint64_t)table.event_width, strlen(result->event_names[i]));
    table.event_width = (int)weir_min_u64((uint64_t)table.event_width, EVENT_COLUMN_MAX);
    for (size_t i = 0; i < result->ledger_count; i++)
        measure(&table, &result->ledger[i], is_clock(result, result->ledger[i].event));
    measure(&table, &total, of_clocks);

    append_titles(&table, of_tasks);
    for (size_t i = 0; i < result->ledger_count; i++) {
        const struct weir_ledger_row *row = &result->ledger[i];
        silent += is_silent(row);
        if (is_silent(row))
            continue;
        weir_buf_printf(text, "%*d", table.place_width, row->cpu < 0 ? (int)row->task : row->cpu);
        append_row(&table, result->event_names[row->event], row, is_clock(result, row->event));
    }
    weir_buf_printf(text, "%*s", table.place_width, "all");
    append_row(&table, "samples", &total, of_clocks);
    return silent;
}

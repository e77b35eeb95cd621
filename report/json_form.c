/* The JSON of a report. */
#include "report/json_form.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/text_out.h"
#include "report/cell_view.h"
#include "report/json_tables.h"
#include "report/machine_text.h"

#define UNIT_NS      1000u
#define SUMS_MAX     65536u
#define HEAT_STEPS   2048u
#define HEAT_NEEDED  1024u /* steps of the cells: below them, the heatmaps have columns of their own */
#define HEAT_ROWS    1000000u
#define UNICODE_LINE 0xa8u /* last byte of U+2028, as of U+2029 with 1 more; before it e2 80 */

struct form {
    struct weir_buf *out;
    const struct weir_digest *digest;
    struct weir_json_tables tables;
    struct weir_cell_view view;
};

/* ---- head ---- */

static void append_machine(struct form *form)
{
    static const struct {
        const char *name;
        unsigned feature;
    } texts[] = {
        {"hostname", WEIR_FEATURE_HOSTNAME}, {"osrelease", WEIR_FEATURE_OSRELEASE},      {"arch", WEIR_FEATURE_ARCH},
        {"cpu", WEIR_FEATURE_CPUDESC},       {"recorder_version", WEIR_FEATURE_VERSION},
    };
    struct weir_perf_input *input = form->digest->input;
    weir_buf_printf(form->out, "\"machine\":{");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        weir_buf_printf(form->out, "\"%s\":", texts[i].name);
        weir_machine_text_append(form->out, input, texts[i].feature);
        weir_buf_append_u8(form->out, ',');
    }
    weir_buf_printf(form->out, "\"cpus_online\":");
    weir_machine_online_append(form->out, input);
    weir_buf_printf(form->out, "},\"command\":");
    weir_machine_command_append(form->out, input);
}

/* Appends the lines of a text as strings of an array. */
static void append_lines(struct form *form, const char *line)
{
    for (bool is_first = true; line && *line; is_first = false) {
        size_t length = strcspn(line, "\n");
        if (!is_first)
            weir_buf_append_u8(form->out, ',');
        weir_text_append_json(form->out, line, length);
        line += length + (line[length] == '\n');
    }
}

static void append_notes(struct form *form)
{
    struct weir_buf notes = WEIR_BUF_INIT;
    weir_digest_notes(form->digest, &notes);
    weir_buf_printf(form->out, ",\"notes\":[");
    append_lines(form, weir_buf_str(&notes));
    weir_buf_append_u8(form->out, ']');
    weir_buf_fini(&notes);
}

static void append_head(struct form *form)
{
    const struct weir_survey *survey = &form->digest->survey;
    weir_buf_printf(form->out, "{\"path\":");
    weir_text_append_json_string(form->out, form->digest->path);
    weir_buf_append_u8(form->out, ',');
    append_machine(form);
    weir_buf_printf(
        form->out, ",\"file_bytes\":%" PRIu64 ",\"start_ns\":\"%" PRIu64 "\",\"span_ns\":%" PRIu64 ",\"unit_ns\":%u",
        form->digest->input->source.file_bytes, survey->first_ns, survey->last_ns - survey->first_ns, UNIT_NS);
    append_notes(form);
}

static uint64_t weight_of(const struct weir_digest *digest, uint32_t event)
{
    uint64_t weight = 0;
    for (uint32_t i = 0; i < digest->fold.sums.count; i++) {
        const uint64_t *row = weir_row(&digest->fold.sums, i);
        weight += row[0] >> 32 == event ? row[3] : 0;
    }
    return weight;
}

static void append_events(struct form *form)
{
    const struct weir_digest *digest = form->digest;
    weir_buf_printf(form->out, ",\"events\":[");
    for (uint32_t i = 0; i < digest->survey.event_count; i++) {
        const struct weir_survey_event *event = &digest->survey.events[i];
        uint64_t weight = weight_of(digest, i);
        weir_buf_printf(form->out, "%s{\"name\":", i > 0 ? "," : "");
        weir_text_append_json_string(form->out, digest->input->events.list[i].name);
        weir_buf_printf(
            form->out,
            ",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64 ",\"weight_is\":\"%s\",\"has_chains\":%s"
            ",\"lost\":%" PRIu64 ",\"lost_samples\":%" PRIu64 ",\"shed\":%" PRIu64 ",\"throttled\":%" PRIu64 "}",
            event->samples, weight, weight == event->samples ? "samples" : "period",
            event->has_chains ? "true" : "false", event->lost, event->lost_samples, event->shed, event->throttled);
    }
    weir_buf_printf(form->out, "],");
}

/* ---- samples ---- */

static void append_stacks(struct form *form)
{
    const struct weir_fold *fold = &form->digest->fold;
    weir_buf_printf(form->out, "\"stacks\":{");
    for (unsigned column = 0; column < 2; column++) {
        weir_json_column(form->out, column == 0 ? "parent" : "frame", column == 0);
        for (uint32_t i = 0; i < fold->stacks.count; i++) {
            if (form->view.stacks[i] == WEIR_STACK_NONE)
                continue;
            uint32_t parent = weir_stack_parent(fold, i);
            int64_t value = column == 1                 ? weir_json_frame(&form->tables, weir_stack_frame(fold, i))
                            : parent == WEIR_STACK_NONE ? -1
                                                        : (int64_t)form->view.stacks[parent];
            weir_json_number(form->out, value, form->view.stacks[i] == 0);
        }
    }
    weir_buf_printf(form->out, "]},");
}

enum sample_column {
    TIME,
    CPU,
    TASK,
    EVENT,
    STACK,
    COUNT,
    WEIGHT,
    COLUMNS
};

static int64_t sample_value(struct form *form, size_t row, enum sample_column column)
{
    const struct weir_cell *cell = &form->view.cells[row];
    switch (column) {
    case TIME:
        return (int64_t)(cell->time / UNIT_NS - (row > 0 ? cell[-1].time / UNIT_NS : 0));
    case CPU:
        return weir_json_cpu(&form->tables, cell->cpu);
    case TASK:
        return weir_json_task(&form->tables, cell->task);
    case EVENT:
        return cell->event;
    case STACK:
        return cell->stack == WEIR_STACK_NONE ? -1 : (int64_t)form->view.stacks[cell->stack];
    case COUNT:
        return (int64_t)cell->count;
    default:
        return (int64_t)cell->weight;
    }
}

/* Whether a column says nothing, because each sample counts 1, or its weight equals its count. */
static bool is_plain(const struct form *form, enum sample_column column)
{
    for (size_t i = 0; i < form->view.count; i++) {
        const struct weir_cell *cell = &form->view.cells[i];
        if ((column == COUNT && cell->count != 1) || (column == WEIGHT && cell->weight != cell->count))
            return false;
    }
    return column == COUNT || column == WEIGHT;
}

static void append_samples(struct form *form)
{
    static const char *const names[COLUMNS] = {"t", "cpu", "task", "event", "stack", "count", "weight"};
    const struct weir_cell_view *view = &form->view;
    bool is_exact = form->digest->fold.is_exact && view->step == 1;
    weir_buf_printf(form->out, "\"samples\":{\"exact\":%s,\"bin_units\":%" PRIu64 ",\"rows\":%zu,\"depth_cut\":%s",
                    is_exact ? "true" : "false", view->step < UNIT_NS ? 1 : view->step / UNIT_NS, view->count,
                    view->is_cut ? "true" : "false");
    for (enum sample_column column = TIME; column < COLUMNS; column++) {
        weir_buf_printf(form->out, ",\"%s\":", names[column]);
        if (is_plain(form, column)) {
            weir_buf_printf(form->out, "null");
            continue;
        }
        weir_buf_append_u8(form->out, '[');
        for (size_t i = 0; i < view->count; i++)
            weir_json_number(form->out, sample_value(form, i, column), i == 0);
        weir_buf_append_u8(form->out, ']');
    }
    weir_buf_printf(form->out, "},");
}

/* ---- heatmap ---- */

static int compare_heat(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts by time, CPU and event in one word, which sorts them by time. */
static int count_heat(struct weir_row_table *heat, const struct weir_fold *fold, uint64_t step)
{
    for (size_t i = 0; i < fold->cell_count; i++) {
        const struct weir_cell *cell = &fold->cells[i];
        const uint64_t key = cell->time / step << 32 | (uint64_t)cell->cpu << 16 | cell->event;
        uint32_t number = weir_row_table_add(heat, &key);
        if (number == WEIR_ROW_NONE)
            return -ENOMEM;
        weir_row(heat, number)[1] += cell->count;
    }
    return 0;
}

static void append_heat_columns(struct form *form, const struct weir_row_table *heat, uint64_t step)
{
    static const char *const names[] = {"t", "cpu", "event", "count"};
    uint64_t units = step / UNIT_NS;
    weir_buf_printf(form->out, "\"heat\":{\"bin_units\":%" PRIu64 ",", units);
    for (unsigned column = 0; column < 4; column++) {
        weir_json_column(form->out, names[column], column == 0);
        for (uint32_t i = 0; i < heat->count; i++) {
            const uint64_t *row = weir_row(heat, i);
            uint64_t before = i > 0 ? weir_row(heat, i - 1)[0] >> 32 : 0;
            const int64_t value = column == 0   ? (int64_t)(((row[0] >> 32) - before) * units)
                                  : column == 1 ? weir_json_cpu(&form->tables, (uint16_t)(row[0] >> 16))
                                  : column == 2 ? (uint16_t)row[0]
                                                : (int64_t)row[1];
            weir_json_number(form->out, value, i == 0);
        }
    }
    weir_buf_printf(form->out, "]},");
}

static void append_heat(struct form *form)
{
    const struct weir_fold *fold = &form->digest->fold;
    uint64_t span = form->digest->survey.last_ns - form->digest->survey.first_ns;
    if (form->view.step <= span / HEAT_NEEDED || form->view.step == 1) {
        weir_buf_printf(form->out, "\"heat\":null,");
        return;
    }
    struct weir_row_table heat;
    uint64_t step = fold->step;
    while (step < span / HEAT_STEPS)
        step *= 2;
    step = (step + UNIT_NS - 1) / UNIT_NS * UNIT_NS;
    for (;; step *= 2) {
        weir_row_table_init(&heat, 1, 2, fold->sums.seed);
        if (count_heat(&heat, fold, step) < 0)
            form->tables.error = -ENOMEM;
        if (heat.count <= HEAT_ROWS || step > span)
            break;
        weir_row_table_fini(&heat);
    }
    if (heat.count > 0)
        qsort(heat.rows, heat.count, 2 * sizeof(*heat.rows), compare_heat);
    append_heat_columns(form, &heat, step);
    weir_row_table_fini(&heat);
}

/* ---- sums and losses ---- */

static int by_weight(const void *a, const void *b)
{
    const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;
    return x[3] != y[3] ? (x[3] > y[3] ? -1 : 1) : x < y ? -1 : x > y;
}

static void append_sums(struct form *form)
{
    static const char *const names[] = {"event", "comm", "file", "frame", "samples", "weight"};
    const struct weir_digest *digest = form->digest;
    const struct weir_row_table *sums = &digest->fold.sums;
    const uint64_t **rows = calloc(sums->count + 1, sizeof(*rows));
    if (!rows) {
        form->tables.error = -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < sums->count; i++)
        rows[i] = weir_row(sums, i);
    if (sums->count > 0)
        qsort(rows, sums->count, sizeof(*rows), by_weight);
    size_t count = sums->count < SUMS_MAX ? sums->count : SUMS_MAX;
    weir_buf_printf(form->out, "\"tables\":{");
    for (unsigned column = 0; column < 6; column++) {
        weir_json_column(form->out, names[column], column == 0);
        for (size_t i = 0; i < count; i++) {
            const uint64_t *row = rows[i];
            const char *comm = weir_string(&digest->survey.strings, (uint32_t)row[0]);
            const int64_t value = column == 0   ? (int64_t)(row[0] >> 32)
                                  : column == 1 ? weir_json_string(&form->tables, comm)
                                  : column == 2 ? weir_json_file(&form->tables, weir_frame_object(row[1]))
                                  : column == 3 ? weir_json_frame(&form->tables, row[1])
                                                : (int64_t)row[column - 2];
            weir_json_number(form->out, value, i == 0);
        }
    }
    uint64_t cut = 0;
    for (size_t i = count; i < sums->count; i++)
        cut += rows[i][2];
    weir_buf_printf(form->out, "]},\"tables_cut\":%" PRIu64 ",", cut);
    free(rows);
}

static int compare_losses(const void *a, const void *b)
{
    const struct weir_loss *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

static int64_t loss_value(struct form *form, const struct weir_loss *losses, size_t row, unsigned column)
{
    const struct weir_loss *loss = &losses[row];
    uint64_t start = form->digest->survey.first_ns;
    uint64_t time = loss->time > start ? (loss->time - start) / UNIT_NS : 0;
    uint64_t before = row > 0 && loss[-1].time > start ? (loss[-1].time - start) / UNIT_NS : 0;
    switch (column) {
    case 0:
        return (int64_t)(time - before);
    case 1:
        return weir_json_cpu(&form->tables, loss->cpu);
    case 2:
        return loss->event == UINT32_MAX ? -1 : (int64_t)loss->event;
    default:
        return (int64_t)loss->count;
    }
}

static void append_remedies(struct form *form)
{
    struct weir_buf remedies = WEIR_BUF_INIT;
    weir_digest_remedies(form->digest, &remedies);
    weir_buf_printf(form->out, "]},\"remedies\":[");
    append_lines(form, weir_buf_str(&remedies));
    weir_buf_printf(form->out, "]},");
    weir_buf_fini(&remedies);
}

static void append_losses(struct form *form)
{
    static const char *const names[] = {"t", "cpu", "event", "count"}, *const causes[] = {"lost", "lost_samples",
                                                                                          "shed"};
    const struct weir_survey *survey = &form->digest->survey;
    struct weir_loss *losses = calloc(survey->loss_count + 1, sizeof(*losses));
    if (!losses) {
        form->tables.error = -ENOMEM;
        return;
    }
    if (survey->loss_count > 0) {
        memcpy(losses, survey->losses, survey->loss_count * sizeof(*losses));
        qsort(losses, survey->loss_count, sizeof(*losses), compare_losses);
    }
    uint64_t total = 0;
    for (uint32_t event = 0; event < survey->event_count; event++)
        total += weir_digest_lost(form->digest, event);
    weir_buf_printf(form->out, "\"losses\":{\"total\":%" PRIu64 ",\"records\":{", total);
    for (unsigned column = 0; column < 4; column++) {
        weir_json_column(form->out, names[column], column == 0);
        for (size_t i = 0; i < survey->loss_count; i++)
            weir_json_number(form->out, loss_value(form, losses, i, column), i == 0);
    }
    weir_json_column(form->out, "cause", false);
    for (size_t i = 0; i < survey->loss_count; i++)
        weir_buf_printf(form->out, "%s\"%s\"", i > 0 ? "," : "", causes[losses[i].cause]);
    append_remedies(form);
    free(losses);
}

/* ---- all ---- */

static void append_timeline(struct form *form)
{
    const struct weir_survey *survey = &form->digest->survey;
    weir_buf_printf(form->out, "\"timeline\":");
    if (survey->timeline_state.intervals > 0)
        weir_buf_append(form->out, survey->timeline.data, survey->timeline.used);
    else
        weir_buf_printf(form->out, "null");
    weir_buf_append_u8(form->out, '}');
}

static void append_recording(struct weir_buf *out, const struct weir_digest *digest)
{
    struct form form = {.out = out, .digest = digest};
    weir_json_tables_init(&form.tables, digest);
    if (weir_cell_view_init(&form.view, &digest->fold) < 0) {
        form.tables.error = -ENOMEM;
    } else {
        append_head(&form);
        append_events(&form);
        append_stacks(&form);
        append_samples(&form);
        append_heat(&form);
        append_sums(&form);
        append_losses(&form);
        weir_json_tables_append(out, &form.tables);
        append_timeline(&form);
    }
    if (form.tables.error < 0)
        weir_buf_fail(out, form.tables.error);
    weir_cell_view_fini(&form.view);
    weir_json_tables_fini(&form.tables);
}

/* The text is JSON: escaped characters stand in strings only. */
static void append_escaped(struct weir_buf *out, const struct weir_buf *text)
{
    size_t start = 0;
    for (size_t i = 0; i < text->used; i++) {
        const uint8_t *at = text->data + i;
        bool is_separator = *at == 0xe2 && i + 2 < text->used && at[1] == 0x80 && (at[2] & 0xfe) == UNICODE_LINE;
        if (*at != '<' && *at != '>' && *at != '&' && !is_separator)
            continue;
        weir_buf_append(out, text->data + start, i - start);
        weir_buf_printf(out, "\\u%04x", is_separator ? 0x2000u + (at[2] & 0x3fu) : *at);
        i += is_separator ? 2 : 0;
        start = i + 1;
    }
    if (text->used > start)
        weir_buf_append(out, text->data + start, text->used - start);
}

void weir_json_append(struct weir_buf *out, const struct weir_digest *digests, size_t count,
                      const struct weir_buf *sweep)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_buf_printf(&text, "{\"version\":1,\"generator\":\"weir %s\",\"recordings\":[", WEIR_VERSION);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            weir_buf_append_u8(&text, ',');
        append_recording(&text, &digests[i]);
    }
    weir_buf_printf(&text, "],\"sweep\":");
    if (sweep)
        weir_buf_append(&text, sweep->data, sweep->used);
    else
        weir_buf_printf(&text, "null");
    weir_buf_append_u8(&text, '}');
    if (weir_buf_error(&text) < 0)
        weir_buf_fail(out, weir_buf_error(&text));
    else
        append_escaped(out, &text);
    weir_buf_fini(&text);
}

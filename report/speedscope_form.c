/* One profile per event; all share the table of frames. */
#include "report/speedscope_form.h"

#include <errno.h>
#include <inttypes.h>

#include "format/text_out.h"
#include "report/cell_view.h"

#define DEPTH_MAX 8192u
/* Keys of frames in the table that are none of a symbol: names of tasks, and [lost]. */
#define KIND_FRAME 0u
#define KIND_TASK  1u
#define KIND_LOST  2u

struct form {
    struct weir_buf *out;
    const struct weir_digest *digest;
    struct weir_cell_view view;
    struct weir_row_table frames; /* kind, frame or string */
    int error;
};

static uint32_t frame_number(struct form *form, uint64_t kind, uint64_t value)
{
    const uint64_t key[] = {kind, value};
    uint32_t number = weir_row_table_add(&form->frames, key);
    if (number == WEIR_ROW_NONE)
        form->error = -ENOMEM;
    return number;
}

static void append_stack(struct form *form, const struct weir_cell *cell)
{
    const struct weir_digest *digest = form->digest;
    uint32_t path[DEPTH_MAX];
    size_t depth = 0;
    for (uint32_t stack = cell->stack; stack != WEIR_STACK_NONE && depth < DEPTH_MAX;
         stack = weir_stack_parent(&digest->fold, stack))
        path[depth++] = stack;
    uint32_t comm = cell->task == WEIR_ROW_NONE ? 0 : digest->survey.history.tasks[cell->task].comm;
    weir_buf_printf(form->out, "[%u", frame_number(form, KIND_TASK, comm));
    while (depth > 0) {
        uint32_t number = frame_number(form, KIND_FRAME, weir_stack_frame(&digest->fold, path[--depth]));
        weir_buf_printf(form->out, ",%u", number);
    }
    weir_buf_append_u8(form->out, ']');
}

static uint64_t lost_weight(const struct weir_digest *digest, uint32_t event, uint64_t weight)
{
    uint64_t samples = digest->survey.events[event].samples, lost = weir_digest_lost(digest, event);
    return samples > 0 ? (uint64_t)((double)weight / (double)samples * (double)lost) : lost;
}

static void append_profile(struct form *form, uint32_t event, bool is_first)
{
    const struct weir_digest *digest = form->digest;
    uint64_t weight = 0;
    bool any = false;
    weir_buf_printf(form->out, "%s{\"type\":\"sampled\",\"name\":", is_first ? "" : ",");
    weir_text_append_json_string(form->out, digest->input->events.list[event].name);
    weir_buf_printf(form->out, ",\"unit\":\"none\",\"samples\":[");
    for (size_t i = 0; i < form->view.count; i++) {
        const struct weir_cell *cell = &form->view.cells[i];
        if (cell->event != event)
            continue;
        if (any)
            weir_buf_append_u8(form->out, ',');
        append_stack(form, cell);
        weight += cell->weight;
        any = true;
    }
    uint64_t lost = weir_digest_lost(digest, event);
    if (lost > 0)
        weir_buf_printf(form->out, "%s[%u]", any ? "," : "", frame_number(form, KIND_LOST, 0));
    weir_buf_printf(form->out, "],\"weights\":[");
    any = false;
    for (size_t i = 0; i < form->view.count; i++) {
        const struct weir_cell *cell = &form->view.cells[i];
        if (cell->event != event)
            continue;
        weir_buf_printf(form->out, "%s%" PRIu64, any ? "," : "", cell->weight);
        any = true;
    }
    if (lost > 0)
        weir_buf_printf(form->out, "%s%" PRIu64, any ? "," : "", lost_weight(digest, event, weight));
    weir_buf_printf(form->out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}",
                    weight + lost_weight(digest, event, weight));
}

static void append_frames(struct form *form)
{
    const struct weir_digest *digest = form->digest;
    weir_buf_printf(form->out, "\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < form->frames.count; i++) {
        const uint64_t *row = weir_row(&form->frames, i);
        weir_buf_printf(form->out, "%s{\"name\":", i > 0 ? "," : "");
        if (row[0] == KIND_FRAME) {
            weir_text_append_json_string(form->out, weir_digest_symbol(digest, row[1]));
            weir_buf_printf(form->out, ",\"file\":");
            weir_text_append_json_string(form->out, weir_digest_object(digest, row[1]));
        } else {
            weir_text_append_json_string(
                form->out, row[0] == KIND_LOST ? "[lost]" : weir_string(&digest->survey.strings, (uint32_t)row[1]));
        }
        weir_buf_append_u8(form->out, '}');
    }
    weir_buf_printf(form->out, "]}}\n");
}

void weir_speedscope_append(struct weir_buf *out, const struct weir_digest *digest)
{
    struct form form = {.out = out, .digest = digest};
    weir_row_table_init(&form.frames, 2, 2, digest->survey.strings.key.words[1]);
    weir_buf_printf(out,
                    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"weir %s\","
                    "\"name\":",
                    WEIR_VERSION);
    weir_text_append_json_string(out, digest->path);
    weir_buf_printf(out, ",\"activeProfileIndex\":0,\"profiles\":[");
    form.error = weir_cell_view_init(&form.view, &digest->fold);
    bool is_first = true;
    for (uint32_t event = 0; form.error == 0 && event < digest->survey.event_count; event++) {
        bool has_news = digest->survey.events[event].samples > 0 || weir_digest_lost(digest, event) > 0;
        if (!has_news || !weir_digest_shows(digest, event))
            continue;
        append_profile(&form, event, is_first);
        is_first = false;
    }
    weir_buf_printf(out, "],");
    append_frames(&form);
    if (form.error < 0)
        weir_buf_fail(out, form.error);
    weir_cell_view_fini(&form.view);
    weir_row_table_fini(&form.frames);
}

/* Stacks as text, one line per task name and stack. */
#include "report/folded_form.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8192u

/* A ';' would part frames, and a control character lines. */
static void append_name(struct weir_buf *out, const char *name)
{
    for (; *name; name++) {
        char byte = *name == ';' ? ':' : (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name;
        weir_buf_append_u8(out, (uint8_t)byte);
    }
}

static void append_event(struct weir_buf *out, const struct weir_digest *digest, uint32_t event)
{
    weir_buf_append_u8(out, '[');
    append_name(out, digest->input->events.list[event].name);
    weir_buf_append(out, "];", 2);
}

static void append_stack(struct weir_buf *out, const struct weir_digest *digest, uint32_t stack)
{
    uint32_t path[DEPTH_MAX];
    size_t depth = 0;
    for (; stack != WEIR_STACK_NONE && depth < DEPTH_MAX; stack = weir_stack_parent(&digest->fold, stack))
        path[depth++] = stack;
    while (depth > 0) {
        weir_buf_append_u8(out, ';');
        append_name(out, weir_digest_symbol(digest, weir_stack_frame(&digest->fold, path[--depth])));
    }
}

static unsigned events_with_samples(const struct weir_digest *digest)
{
    unsigned count = 0;
    for (uint32_t event = 0; event < digest->survey.event_count; event++)
        count += digest->survey.events[event].samples > 0 && weir_digest_shows(digest, event);
    return count;
}

/* Sums by event, name of the task, and stack. */
static int sum_cells(struct weir_row_table *sums, const struct weir_digest *digest)
{
    for (size_t i = 0; i < digest->fold.cell_count; i++) {
        const struct weir_cell *cell = &digest->fold.cells[i];
        if (!weir_digest_shows(digest, cell->event))
            continue;
        uint32_t comm = cell->task == WEIR_ROW_NONE ? 0 : digest->survey.history.tasks[cell->task].comm;
        const uint64_t key[] = {(uint64_t)cell->event << 32 | comm, cell->stack};
        uint32_t number = weir_row_table_add(sums, key);
        if (number == WEIR_ROW_NONE)
            return -ENOMEM;
        weir_row(sums, number)[2] += cell->count;
    }
    return 0;
}

void weir_folded_append(struct weir_buf *out, const struct weir_digest *digest)
{
    struct weir_row_table sums;
    weir_row_table_init(&sums, 2, 3, digest->survey.strings.key.words[1]);
    bool names_events = events_with_samples(digest) > 1;
    if (sum_cells(&sums, digest) < 0)
        weir_buf_fail(out, -ENOMEM);
    for (size_t i = 0; i < sums.count; i++) {
        const uint64_t *row = weir_row(&sums, (uint32_t)i);
        if (names_events)
            append_event(out, digest, (uint32_t)(row[0] >> 32));
        append_name(out, weir_string(&digest->survey.strings, (uint32_t)row[0]));
        append_stack(out, digest, (uint32_t)row[1]);
        weir_buf_printf(out, " %" PRIu64 "\n", row[2]);
    }
    for (uint32_t event = 0; event < digest->survey.event_count; event++) {
        uint64_t lost = weir_digest_shows(digest, event) ? weir_digest_lost(digest, event) : 0;
        if (lost > 0 && names_events)
            append_event(out, digest, event);
        if (lost > 0)
            weir_buf_printf(out, "[lost] %" PRIu64 "\n", lost);
    }
    weir_row_table_fini(&sums);
}

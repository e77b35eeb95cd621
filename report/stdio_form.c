/* The tables as text. */
#include "report/stdio_form.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/text_out.h"

#define PERCENT 100.0

static int by_weight(const void *a, const void *b)
{
    const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;
    if (x[3] != y[3])
        return x[3] > y[3] ? -1 : 1;
    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

static void append_text(struct weir_buf *out, const char *text)
{
    weir_text_append(out, text, strlen(text));
}

/* rows: pointers to sums of that event, sorted. */
static void append_event(struct weir_buf *out, const struct weir_digest *digest, uint32_t event, const uint64_t **rows,
                         size_t count)
{
    const struct weir_survey_event *counts = &digest->survey.events[event];
    uint64_t weight = 0;
    for (size_t i = 0; i < count; i++)
        weight += rows[i][3];
    weir_buf_printf(out, "# event ");
    append_text(out, digest->input->events.list[event].name);
    weir_buf_printf(out, ": %" PRIu64 " samples, weight %" PRIu64 ", lost %" PRIu64 "\n", counts->samples, weight,
                    weir_digest_lost(digest, event));
    weir_buf_printf(out, "# percent\tsamples\tweight\ttask\tfile\tsymbol\n");
    for (size_t i = 0; i < count; i++) {
        weir_buf_printf(out, "%.2f\t%" PRIu64 "\t%" PRIu64 "\t",
                        weight > 0 ? PERCENT * (double)rows[i][3] / (double)weight : 0, rows[i][2], rows[i][3]);
        append_text(out, weir_string(&digest->survey.strings, (uint32_t)rows[i][0]));
        weir_buf_append_u8(out, '\t');
        append_text(out, weir_digest_object(digest, rows[i][1]));
        weir_buf_append_u8(out, '\t');
        append_text(out, weir_digest_symbol(digest, rows[i][1]));
        weir_buf_append_u8(out, '\n');
    }
    weir_buf_append_u8(out, '\n');
}

void weir_stdio_append(struct weir_buf *out, const struct weir_digest *digest)
{
    const struct weir_row_table *sums = &digest->fold.sums;
    const uint64_t **rows = calloc(sums->count + 1, sizeof(*rows));
    if (!rows) {
        weir_buf_fail(out, -ENOMEM);
        return;
    }
    for (uint32_t event = 0; event < digest->survey.event_count; event++) {
        size_t count = 0;
        for (size_t i = 0; i < sums->count; i++) {
            const uint64_t *row = weir_row(sums, (uint32_t)i);
            if (row[0] >> 32 == event)
                rows[count++] = row;
        }
        bool has_news = count > 0 || weir_digest_lost(digest, event) > 0;
        if (!has_news || !weir_digest_shows(digest, event))
            continue;
        if (count > 0)
            qsort(rows, count, sizeof(*rows), by_weight);
        append_event(out, digest, event, rows, count);
    }
    free(rows);
    struct weir_buf notes = WEIR_BUF_INIT;
    weir_digest_notes(digest, &notes);
    for (const char *line = weir_buf_str(&notes); line && *line;) {
        size_t length = strcspn(line, "\n");
        weir_buf_printf(out, "# ");
        weir_text_append(out, line, length);
        weir_buf_append_u8(out, '\n');
        line += length + (line[length] == '\n');
    }
    weir_buf_fini(&notes);
}

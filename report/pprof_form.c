/*
 * A serialized message that follows another one of the same type adds to its lists. So the profile is written piece by
 * piece, and no more than one sample is in memory as a message.
 */
#include "report/pprof_form.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/pprof.pb-c.h"

#define DEPTH_MAX  8192u
#define LOST_FRAME UINT64_MAX /* in the table of frames: of no object */

struct form {
    struct weir_buf *out;
    const struct weir_digest *digest;
    struct weir_string_table strings;
    struct weir_row_table frames;  /* frame; its number plus 1 is the id of location and function */
    struct weir_row_table files;   /* number of an object; plus 1 the id of the mapping */
    struct weir_row_table samples; /* task, stack; the number of the first value in values */
    int64_t *values;               /* owned; value_count for each sample */
    size_t value_count;            /* two for each event that is shown */
    uint32_t *first_value;         /* owned; by event: its place among the values */
    int error;
};

static int64_t string_number(struct form *form, const char *text)
{
    uint32_t number = weir_string_table_add(&form->strings, text);
    if (number == WEIR_ROW_NONE)
        form->error = -ENOMEM;
    return number;
}

static uint64_t id_of(struct form *form, struct weir_row_table *table, uint64_t key)
{
    uint32_t number = weir_row_table_add(table, &key);
    if (number == WEIR_ROW_NONE)
        form->error = -ENOMEM;
    return (uint64_t)number + 1;
}

static void append_piece(struct form *form, const Weir__Pprof__Profile *piece)
{
    uint8_t *room = weir_buf_extend(form->out, weir__pprof__profile__get_packed_size(piece));
    if (room)
        weir__pprof__profile__pack(piece, room);
}

/* ---- what is measured ---- */

static void append_type(struct form *form, const char *name, const char *unit)
{
    Weir__Pprof__ValueType type = WEIR__PPROF__VALUE_TYPE__INIT;
    Weir__Pprof__ValueType *types[] = {&type};
    Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
    type.type = string_number(form, name);
    type.unit = string_number(form, unit);
    piece.n_sample_type = 1;
    piece.sample_type = types;
    append_piece(form, &piece);
}

static int append_types(struct form *form)
{
    const struct weir_digest *digest = form->digest;
    form->first_value = calloc(digest->survey.event_count + 1, sizeof(*form->first_value));
    if (!form->first_value)
        return -ENOMEM;
    for (uint32_t event = 0; event < digest->survey.event_count; event++) {
        bool has_news = digest->survey.events[event].samples > 0 || weir_digest_lost(digest, event) > 0;
        form->first_value[event] = UINT32_MAX;
        if (!has_news || !weir_digest_shows(digest, event))
            continue;
        const char *name = digest->input->events.list[event].name;
        struct weir_buf samples = WEIR_BUF_INIT;
        weir_buf_printf(&samples, "%s samples", name);
        append_type(form, weir_buf_error(&samples) < 0 ? "" : weir_buf_str(&samples), "count");
        append_type(form, name, "count");
        weir_buf_fini(&samples);
        form->first_value[event] = (uint32_t)form->value_count;
        form->value_count += 2;
    }
    return 0;
}

/* ---- samples ---- */

static int sum_cells(struct form *form)
{
    const struct weir_fold *fold = &form->digest->fold;
    for (size_t i = 0; i < fold->cell_count; i++) {
        const struct weir_cell *cell = &fold->cells[i];
        const uint64_t key[] = {cell->task, cell->stack};
        if (form->first_value[cell->event] != UINT32_MAX && weir_row_table_add(&form->samples, key) == WEIR_ROW_NONE)
            return -ENOMEM;
    }
    form->values = calloc(form->samples.count * form->value_count + 1, sizeof(*form->values));
    for (size_t i = 0; form->values && i < fold->cell_count; i++) {
        const struct weir_cell *cell = &fold->cells[i];
        const uint64_t key[] = {cell->task, cell->stack};
        uint32_t first = form->first_value[cell->event];
        if (first == UINT32_MAX)
            continue;
        int64_t *values = form->values + weir_row_table_find(&form->samples, key) * form->value_count;
        values[first] += (int64_t)cell->count;
        values[first + 1] += (int64_t)cell->weight;
    }
    return form->values ? 0 : -ENOMEM;
}

static void append_sample(struct form *form, uint64_t *locations, size_t depth, int64_t *values, uint32_t task)
{
    Weir__Pprof__Label comm = WEIR__PPROF__LABEL__INIT, pid = WEIR__PPROF__LABEL__INIT, tid = WEIR__PPROF__LABEL__INIT;
    Weir__Pprof__Label *labels[] = {&comm, &pid, &tid};
    Weir__Pprof__Sample sample = WEIR__PPROF__SAMPLE__INIT;
    Weir__Pprof__Sample *samples[] = {&sample};
    Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
    if (task != WEIR_ROW_NONE) {
        const struct weir_task *from = &form->digest->survey.history.tasks[task];
        comm.key = string_number(form, "comm");
        comm.str = string_number(form, weir_digest_comm(form->digest, task));
        pid.key = string_number(form, "pid");
        pid.num = (int32_t)from->pid;
        tid.key = string_number(form, "tid");
        tid.num = (int32_t)from->tid;
        sample.n_label = 3;
        sample.label = labels;
    }
    sample.n_location_id = depth;
    sample.location_id = locations;
    sample.n_value = form->value_count;
    sample.value = values;
    piece.n_sample = 1;
    piece.sample = samples;
    append_piece(form, &piece);
}

static void append_samples(struct form *form)
{
    const struct weir_fold *fold = &form->digest->fold;
    uint64_t locations[DEPTH_MAX];
    for (uint32_t i = 0; i < form->samples.count; i++) {
        const uint64_t *row = weir_row(&form->samples, i);
        size_t depth = 0;
        for (uint32_t stack = (uint32_t)row[1]; stack != WEIR_STACK_NONE && depth < DEPTH_MAX;
             stack = weir_stack_parent(fold, stack))
            locations[depth++] = id_of(form, &form->frames, weir_stack_frame(fold, stack));
        append_sample(form, locations, depth, form->values + i * form->value_count, (uint32_t)row[0]);
    }
}

/* A lost sample weighs as much as the others do on average. */
static int append_lost(struct form *form)
{
    const struct weir_digest *digest = form->digest;
    int64_t *values = calloc(form->value_count + 1, sizeof(*values));
    if (!values)
        return -ENOMEM;
    bool any = false;
    for (uint32_t event = 0; event < digest->survey.event_count; event++) {
        uint32_t first = form->first_value[event];
        uint64_t lost = first == UINT32_MAX ? 0 : weir_digest_lost(digest, event);
        if (lost == 0)
            continue;
        int64_t count = 0, weight = 0;
        for (uint32_t i = 0; i < form->samples.count; i++) {
            count += form->values[i * form->value_count + first];
            weight += form->values[i * form->value_count + first + 1];
        }
        values[first] = (int64_t)lost;
        values[first + 1] = count > 0 ? (int64_t)((double)weight / (double)count * (double)lost) : (int64_t)lost;
        any = true;
    }
    uint64_t location = id_of(form, &form->frames, LOST_FRAME);
    if (any)
        append_sample(form, &location, 1, values, WEIR_ROW_NONE);
    free(values);
    return 0;
}

/* ---- places ---- */

static void append_frame(struct form *form, uint32_t number)
{
    Weir__Pprof__Line line = WEIR__PPROF__LINE__INIT;
    Weir__Pprof__Line *lines[] = {&line};
    Weir__Pprof__Location location = WEIR__PPROF__LOCATION__INIT;
    Weir__Pprof__Location *locations[] = {&location};
    Weir__Pprof__Function function = WEIR__PPROF__FUNCTION__INIT;
    Weir__Pprof__Function *functions[] = {&function};
    Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
    weir_frame frame = *weir_row(&form->frames, number);
    bool is_lost = frame == LOST_FRAME;
    location.id = function.id = line.function_id = (uint64_t)number + 1;
    function.name = string_number(form, is_lost ? "[lost]" : weir_digest_symbol(form->digest, frame));
    function.system_name = function.name;
    if (!is_lost) {
        location.mapping_id = id_of(form, &form->files, weir_frame_object(frame));
        function.filename = string_number(form, weir_digest_object(form->digest, frame));
    }
    location.n_line = 1;
    location.line = lines;
    piece.n_location = 1;
    piece.location = locations;
    piece.n_function = 1;
    piece.function = functions;
    append_piece(form, &piece);
}

static void append_file(struct form *form, uint32_t number)
{
    Weir__Pprof__Mapping mapping = WEIR__PPROF__MAPPING__INIT;
    Weir__Pprof__Mapping *mappings[] = {&mapping};
    Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
    uint32_t object = (uint32_t)*weir_row(&form->files, number);
    const struct weir_build_id *id = &form->digest->survey.objects.list[object]->id;
    char hex[2 * WEIR_BUILD_ID_MAX_BYTES + 1] = "";
    for (unsigned i = 0; i < id->bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id->data[i]);
    mapping.id = (uint64_t)number + 1;
    mapping.filename = string_number(form, weir_digest_object(form->digest, weir_frame_of(object, WEIR_SYMBOL_NONE)));
    mapping.build_id = string_number(form, hex);
    mapping.has_functions = true;
    piece.n_mapping = 1;
    piece.mapping = mappings;
    append_piece(form, &piece);
}

/* ---- the rest ---- */

static void append_comments(struct form *form)
{
    struct weir_buf lines = WEIR_BUF_INIT;
    weir_digest_notes(form->digest, &lines);
    for (uint32_t event = 0; event < form->digest->survey.event_count; event++) {
        uint64_t lost = weir_digest_lost(form->digest, event);
        if (lost > 0)
            weir_buf_printf(&lines, "lost samples of %s: %" PRIu64 "\n", form->digest->input->events.list[event].name,
                            lost);
    }
    weir_digest_remedies(form->digest, &lines);
    char *line = weir_buf_error(&lines) < 0 ? NULL : (char *)weir_buf_str(&lines);
    while (line && *line) {
        size_t length = strcspn(line, "\n");
        bool is_last = line[length] == '\0';
        line[length] = '\0';
        Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
        int64_t comment = string_number(form, line);
        piece.n_comment = 1;
        piece.comment = &comment;
        append_piece(form, &piece);
        line += length + !is_last;
    }
    weir_buf_fini(&lines);
}

static void append_strings(struct form *form)
{
    for (uint32_t i = 0; i < form->strings.rows.count; i++) {
        char *text = (char *)weir_string(&form->strings, i); /* protobuf-c's lists are not const */
        Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
        piece.n_string_table = 1;
        piece.string_table = &text;
        append_piece(form, &piece);
    }
}

static int append_all(struct form *form)
{
    int result = append_types(form);
    if (result == 0)
        result = sum_cells(form);
    if (result < 0)
        return result;
    append_samples(form);
    result = append_lost(form);
    for (uint32_t i = 0; i < form->frames.count; i++)
        append_frame(form, i);
    for (uint32_t i = 0; i < form->files.count; i++)
        append_file(form, i);
    append_comments(form);
    Weir__Pprof__Profile piece = WEIR__PPROF__PROFILE__INIT;
    piece.duration_nanos = (int64_t)(form->digest->survey.last_ns - form->digest->survey.first_ns);
    append_piece(form, &piece);
    append_strings(form);
    return result < 0 ? result : form->error;
}

void weir_pprof_append(struct weir_buf *out, const struct weir_digest *digest)
{
    struct form form = {.out = out, .digest = digest};
    uint64_t seed = digest->survey.strings.key.words[1];
    weir_row_table_init(&form.frames, 1, 1, seed);
    weir_row_table_init(&form.files, 1, 1, seed);
    weir_row_table_init(&form.samples, 2, 2, seed);
    int result = weir_string_table_init(&form.strings);
    if (result == 0)
        result = append_all(&form);
    if (result < 0)
        weir_buf_fail(out, result);
    free(form.values);
    free(form.first_value);
    weir_string_table_fini(&form.strings);
    weir_row_table_fini(&form.frames);
    weir_row_table_fini(&form.files);
    weir_row_table_fini(&form.samples);
}

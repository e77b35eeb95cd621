/* Tables of a report's JSON. */
#include "report/json_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "format/text_out.h"
#include "report/machine_text.h"

enum frame_kind { /* as docs/json.md numbers them */
    KIND_USER = 0,
    KIND_KERNEL = 1,
    KIND_UNKNOWN = 4,
};

void weir_json_tables_init(struct weir_json_tables *tables, const struct weir_digest *digest)
{
    uint64_t seed = digest->survey.strings.key.words[1];
    *tables = (struct weir_json_tables){.digest = digest};
    tables->error = weir_string_table_init(&tables->strings);
    weir_row_table_init(&tables->files, 1, 1, seed);
    weir_row_table_init(&tables->frames, 1, 1, seed);
    weir_row_table_init(&tables->tasks, 1, 1, seed);
    weir_row_table_init(&tables->cpus, 1, 1, seed);
}

void weir_json_tables_fini(struct weir_json_tables *tables)
{
    weir_string_table_fini(&tables->strings);
    weir_row_table_fini(&tables->files);
    weir_row_table_fini(&tables->frames);
    weir_row_table_fini(&tables->tasks);
    weir_row_table_fini(&tables->cpus);
}

/* ---- numbers ---- */

static uint32_t checked(struct weir_json_tables *tables, uint32_t number)
{
    if (number == WEIR_ROW_NONE)
        tables->error = -ENOMEM;
    return number;
}

static uint32_t number_of(struct weir_json_tables *tables, struct weir_row_table *table, uint64_t key)
{
    return checked(tables, weir_row_table_add(table, &key));
}

uint32_t weir_json_string(struct weir_json_tables *tables, const char *text)
{
    return checked(tables, weir_string_table_add(&tables->strings, text));
}

uint32_t weir_json_file(struct weir_json_tables *tables, uint32_t object)
{
    return number_of(tables, &tables->files, object);
}

uint32_t weir_json_frame(struct weir_json_tables *tables, weir_frame frame)
{
    return number_of(tables, &tables->frames, frame);
}

uint32_t weir_json_task(struct weir_json_tables *tables, uint32_t task)
{
    return number_of(tables, &tables->tasks, task);
}

int64_t weir_json_cpu(struct weir_json_tables *tables, uint32_t cpu)
{
    return cpu >= WEIR_CPU_UNKNOWN ? -1 : (int64_t)number_of(tables, &tables->cpus, cpu);
}

/* ---- columns ---- */

void weir_json_column(struct weir_buf *out, const char *name, bool is_first)
{
    weir_buf_printf(out, "%s\"%s\":[", is_first ? "" : "],", name);
}

void weir_json_number(struct weir_buf *out, int64_t number, bool is_first)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0)
        digits[--at] = '-';
    if (!is_first)
        digits[--at] = ',';
    weir_buf_append(out, digits + at, sizeof(digits) - at);
}

static void append_cpus(struct weir_buf *out, struct weir_json_tables *tables)
{
    static const char *const names[] = {"cpu", "node", "package", "core"};
    struct weir_cpu_place *places = calloc(WEIR_CPU_UNKNOWN, sizeof(*places));
    if (!places) {
        tables->error = -ENOMEM;
        return;
    }
    weir_machine_places(tables->digest->input, places, WEIR_CPU_UNKNOWN);
    weir_buf_printf(out, "\"cpus\":{");
    for (unsigned column = 0; column < 4; column++) {
        weir_json_column(out, names[column], column == 0);
        for (uint32_t i = 0; i < tables->cpus.count; i++) {
            uint32_t cpu = (uint32_t)*weir_row(&tables->cpus, i);
            const int values[] = {(int)cpu, places[cpu].node, places[cpu].package, places[cpu].core};
            weir_json_number(out, values[column], i == 0);
        }
    }
    weir_buf_printf(out, "]},");
    free(places);
}

static void append_tasks(struct weir_buf *out, struct weir_json_tables *tables)
{
    static const char *const names[] = {"pid", "tid", "comm"};
    weir_buf_printf(out, "\"tasks\":{");
    for (unsigned column = 0; column < 3; column++) {
        weir_json_column(out, names[column], column == 0);
        for (uint32_t i = 0; i < tables->tasks.count; i++) {
            uint32_t number = (uint32_t)*weir_row(&tables->tasks, i);
            const struct weir_task *task =
                number == WEIR_ROW_NONE ? NULL : &tables->digest->survey.history.tasks[number];
            const char *comm = weir_digest_comm(tables->digest, number);
            const int64_t values[] = {task ? (int32_t)task->pid : -1, task ? (int32_t)task->tid : -1,
                                      weir_json_string(tables, comm)};
            weir_json_number(out, values[column], i == 0);
        }
    }
    weir_buf_printf(out, "]},");
}

static enum frame_kind kind_of(enum weir_object_kind kind)
{
    switch (kind) {
    case WEIR_OBJECT_UNKNOWN:
        return KIND_UNKNOWN;
    case WEIR_OBJECT_KERNEL:
    case WEIR_OBJECT_MODULE:
    case WEIR_OBJECT_KSYMBOL:
        return KIND_KERNEL;
    default:
        return KIND_USER;
    }
}

static void append_frames(struct weir_buf *out, struct weir_json_tables *tables)
{
    const struct weir_objects *objects = &tables->digest->survey.objects;
    weir_buf_printf(out, "\"frames\":{");
    weir_json_column(out, "symbol", true);
    for (uint32_t i = 0; i < tables->frames.count; i++) {
        weir_frame frame = *weir_row(&tables->frames, i);
        bool is_known = weir_frame_symbol(frame) != WEIR_SYMBOL_NONE;
        const char *name = is_known ? weir_digest_symbol(tables->digest, frame) : "";
        weir_json_number(out, weir_json_string(tables, name), i == 0);
    }
    weir_json_column(out, "file", false);
    for (uint32_t i = 0; i < tables->frames.count; i++)
        weir_json_number(out, weir_json_file(tables, weir_frame_object(*weir_row(&tables->frames, i))), i == 0);
    weir_json_column(out, "kind", false);
    for (uint32_t i = 0; i < tables->frames.count; i++) {
        uint32_t object = weir_frame_object(*weir_row(&tables->frames, i));
        weir_json_number(out, kind_of(objects->list[object]->kind), i == 0);
    }
    weir_buf_printf(out, "]},");
}

static void append_files(struct weir_buf *out, struct weir_json_tables *tables)
{
    weir_buf_printf(out, "\"files\":[");
    for (uint32_t i = 0; i < tables->files.count; i++) {
        weir_frame frame = weir_frame_of((uint32_t)*weir_row(&tables->files, i), WEIR_SYMBOL_NONE);
        weir_json_number(out, weir_json_string(tables, weir_digest_object(tables->digest, frame)), i == 0);
    }
    weir_buf_printf(out, "],");
}

void weir_json_tables_append(struct weir_buf *out, struct weir_json_tables *tables)
{
    append_cpus(out, tables);
    append_tasks(out, tables);
    append_frames(out, tables);
    append_files(out, tables);
    weir_buf_printf(out, "\"strings\":[");
    for (uint32_t i = 0; i < tables->strings.rows.count; i++) {
        if (i > 0)
            weir_buf_append_u8(out, ',');
        weir_text_append_json_string(out, weir_string(&tables->strings, i));
    }
    weir_buf_printf(out, "],");
}

/*
 * A record in perf's form: its offset and size, its bytes, its time and CPU, its name. Its contents come from
 * kernel_record_text.c, user_record_text.c and sample_text.c, and for JSON from record_json.c. One thread.
 */
#include "format/record_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/directory.h"
#include "format/bytes.h"
#include "format/kernel_record_text.h"
#include "format/record_json.h"
#include "format/record_schema.h"
#include "format/text_out.h"
#include "format/user_record_text.h"

#define PIPE_NAME "pipe"

void weir_record_text_add_events(struct weir_record_text *text)
{
    for (; text->events < text->input->events.count; text->events++)
        text->sample_types |= text->input->events.list[text->events].attr.sample_type;
    text->has_trailers = text->events > 0 && text->input->events.list[0].attr.sample_id_all;
}

int weir_record_text_init(struct weir_record_text *text, struct weir_perf_input *input, struct weir_trace *trace)
{
    *text = (struct weir_record_text){.input = input, .names.trace = trace};
    weir_record_text_add_events(text);

    struct weir_buf arch = WEIR_BUF_INIT;
    int found = weir_perf_input_feature(input, WEIR_FEATURE_ARCH, &arch, NULL);
#if defined(__x86_64__) || defined(__i386__)
    text->names.is_x86 = true;
#endif
    if (found == 1 && arch.used > 0)
        text->names.is_x86 = memmem(arch.data, arch.used, "86", 2) != NULL;
    weir_buf_fini(&arch);
    return found == -ENOMEM ? found : 0;
}

static struct weir_text_record look_at(const struct weir_record_text *text, const struct weir_record_view *view)
{
    struct weir_text_record record = {
        .data = view->data,
        .bytes = view->bytes,
        .body_bytes = view->bytes,
        .misc = view->misc,
        .type = view->type,
        .event = weir_input_event_of(&text->input->events, view),
    };
    const struct weir_input_event *layout_of = record.event;
    if (!layout_of && text->input->events.count > 0)
        layout_of = &text->input->events.list[0];
    if (view->type < WEIR_RECORD_ATTR && view->type != PERF_RECORD_SAMPLE && layout_of &&
        weir_sample_id_parse(&record.id, &layout_of->layout, view->data, view->bytes))
        record.body_bytes -= layout_of->layout.trailer_bytes;
    return record;
}

/* perf's columns of CPU and time, evlist__print_tstamp(). */
static void append_stamp(const struct weir_record_text *text, const struct weir_text_record *record,
                         struct weir_buf *out)
{
    struct weir_sample_id id = record->id;
    if (record->type == PERF_RECORD_SAMPLE && record->event) {
        struct weir_sample sample;
        size_t bad_offset;
        weir_sample_parse(&sample, &record->event->layout, record->data, record->bytes, &bad_offset);
        id = sample.id;
    } else if (record->type != PERF_RECORD_SAMPLE && !text->has_trailers) {
        weir_buf_printf(out, "-1 -1 ");
        return;
    }
    if (text->sample_types & PERF_SAMPLE_CPU)
        weir_buf_printf(out, "%" PRIu32 " ", id.cpu);
    if (text->sample_types & PERF_SAMPLE_TIME)
        weir_buf_printf(out, "%" PRIu64 " ", id.time);
}

/* The part that only the record's own type knows; false: it is shorter than its type says it must be. */
static bool append_body(const struct weir_record_text *text, const struct weir_text_record *record,
                        const struct weir_record_schema *schema, struct weir_buf *out)
{
    if (record->body_bytes < schema->least_bytes)
        return false;
    if (record->type == PERF_RECORD_SAMPLE)
        weir_sample_text_append(&text->names, record, out);
    else if (record->type < WEIR_RECORD_ATTR)
        weir_kernel_record_append(record, out);
    else
        weir_user_record_append(record, out);
    return true;
}

void weir_record_text_append(const struct weir_record_text *text, const struct weir_record_view *view,
                             struct weir_buf *out)
{
    const struct weir_text_record record = look_at(text, view);
    const struct weir_record_schema *schema = weir_record_schema(view->type);
    weir_buf_printf(out, "\n%#" PRIx64 "@", view->offset);
    const char *path = text->input->is_pipe ? PIPE_NAME : view->path;
    weir_text_append(out, path, strlen(path));
    weir_buf_printf(out, " [%#x]: event: %" PRIu32 "\n", view->bytes, view->type);
    weir_text_append_dump(out, view->data, view->bytes);
    append_stamp(text, &record, out);
    weir_buf_printf(out, "%#" PRIx64 " [%#x]: PERF_RECORD_%s", view->offset, view->bytes,
                    schema ? schema->name : "UNKNOWN");
    if (!schema)
        weir_buf_printf(out, " type %" PRIu32 "\n", view->type);
    else if (!append_body(text, &record, schema, out))
        weir_buf_printf(out, ": (cut: %zu bytes, not %u)\n", record.body_bytes, schema->least_bytes);
}

/* ---- JSON ---- */

static void append_json_field(const struct weir_text_record *record, const struct weir_field *field,
                              struct weir_buf *out)
{
    const uint8_t *at = record->data + field->offset;
    size_t left = record->body_bytes > field->offset ? record->body_bytes - field->offset : 0;
    weir_buf_printf(out, ",\"%s\":", field->name);
    switch (field->kind) {
    case WEIR_FIELD_U16:
        weir_buf_printf(out, "%u", weir_load_u16(at));
        break;
    case WEIR_FIELD_U32:
        weir_buf_printf(out, "%" PRIu32, weir_load_u32(at));
        break;
    case WEIR_FIELD_S32:
        weir_buf_printf(out, "%" PRId32, (int32_t)weir_load_u32(at));
        break;
    case WEIR_FIELD_U64:
        weir_buf_printf(out, "%" PRIu64, weir_load_u64(at));
        break;
    case WEIR_FIELD_S64:
        weir_buf_printf(out, "%" PRId64, (int64_t)weir_load_u64(at));
        break;
    case WEIR_FIELD_ADDRESS:
        weir_buf_printf(out, "\"%#" PRIx64 "\"", weir_load_u64(at));
        break;
    case WEIR_FIELD_TEXT:
        weir_text_append_json(out, at, left);
        break;
    }
}

static void append_json_id(const struct weir_record_text *text, const struct weir_text_record *record,
                           struct weir_buf *out)
{
    uint64_t types = record->event ? record->event->attr.sample_type : text->sample_types;
    weir_buf_printf(out, ",\"sample_id\":{\"id\":%" PRIu64, record->id.id);
    weir_sample_id_json_append(&record->id, types, out);
    weir_buf_append_u8(out, '}');
}

/* Of a directory, where each file has offsets of its own. */
static void append_json_file(const char *path, struct weir_buf *out)
{
    weir_buf_printf(out, "\"file\":");
    weir_text_append_json_string(out, weir_path_name(path));
    weir_buf_append_u8(out, ',');
}

void weir_record_json_append(const struct weir_record_text *text, const struct weir_record_view *view,
                             struct weir_buf *out)
{
    const struct weir_text_record record = look_at(text, view);
    const struct weir_record_schema *schema = weir_record_schema(view->type);
    weir_buf_append_u8(out, '{');
    if (text->input->directory[0])
        append_json_file(view->path, out);
    weir_buf_printf(out, "\"offset\":%" PRIu64 ",\"size\":%u,\"type\":", view->offset, view->bytes);
    if (schema)
        weir_buf_printf(out, "\"%s\"", schema->name);
    else
        weir_buf_printf(out, "%" PRIu32, view->type);
    weir_buf_printf(out, ",\"misc\":%u", view->misc);
    if (view->is_expanded)
        weir_buf_printf(out, ",\"compressed\":true");
    if (record.body_bytes < view->bytes)
        append_json_id(text, &record, out);
    if (!schema || record.body_bytes < schema->least_bytes)
        weir_buf_printf(out, schema ? ",\"cut\":true" : "");
    else if (view->type == PERF_RECORD_SAMPLE)
        weir_sample_json_append(&text->names, &record, out);
    else {
        for (const struct weir_field *field = schema->fields; field && field->name; field++)
            append_json_field(&record, field, out);
        weir_record_json_members(&record, out);
    }
    weir_buf_append_u8(out, '}');
}

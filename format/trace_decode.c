/*
 * TRACING_DATA and the raw bytes of tracepoint samples. One thread.
 *
 * Layout of the section: docs/format.md, trace-event-read.c of Linux 6.12.
 */
#include "format/trace_decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "format/bytes.h"
#include "format/text_out.h"
#include "format/trace_field.h"
#include "format/trace_formats.h"
#include "format/trace_printable.h"

#define PRINTK_MAX_BYTES (4u << 20)
#define BIG_ENDIAN_MARK  1     /* 0: little endian, as this machine is */
#define PRINTK_END       "\\n" /* as the kernel writes the end of a line */
#define SPARE_BYTES      64u   /* zeros behind a sample's raw bytes: a text that fills them still ends */

struct weir_trace {
    struct tep_handle *tep; /* owned */
    struct weir_buf raw;    /* a sample's bytes, aligned, with zeros behind */
};

/* ---- printk formats ---- */

/*
 * One line of printk_formats, `0xADDRESS : "text"`. libtraceevent takes a quote from the front of its input, and a
 * quote and a `\n` from the end. It looks for them even before the beginning of a shorter text. So weir gives it all
 * three. False: out of memory.
 */
static bool add_printk_line(struct weir_trace *trace, const char *line)
{
    char *end;
    unsigned long long address = strtoull(line, &end, 16);
    const char *open = end > line ? strchr(end, '"') : NULL;
    const char *close = open ? strrchr(open, '"') : NULL;
    if (!close || close == open)
        return true;
    int length = (int)(close - open) - 1; /* less than PRINTK_MAX_BYTES */
    bool ends_line = length >= 2 && strncmp(close - 2, PRINTK_END, 2) == 0;
    char *text;
    if (asprintf(&text, "\"%.*s%s\"", length, open + 1, ends_line ? "" : PRINTK_END) < 0)
        return false;
    int result = tep_register_print_string(trace->tep, text, address);
    free(text);
    return result == 0;
}

/* False: out of memory. */
static bool add_printk(struct weir_trace *trace, const uint8_t *text, uint32_t bytes)
{
    if (!text || bytes >= PRINTK_MAX_BYTES)
        return true;
    char *copy = strndup((const char *)text, bytes);
    char *place = NULL;
    bool has_memory = copy != NULL;
    for (char *line = copy ? strtok_r(copy, "\n", &place) : NULL; line && has_memory;
         line = strtok_r(NULL, "\n", &place))
        has_memory = add_printk_line(trace, line);
    free(copy);
    return has_memory;
}

/* ---- the section ---- */

static bool skip_file(const struct weir_trace_formats *formats, struct weir_cursor *cursor, const char *name)
{
    const char *text = weir_cursor_text(cursor);
    if (!text || strcmp(text, name) != 0)
        return false;
    weir_cursor_take(cursor, weir_trace_formats_u64(formats, cursor));
    return !cursor->failed;
}

static bool read_section(struct weir_trace *trace, struct weir_cursor *cursor, struct weir_trace_formats *formats)
{
    static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    const uint8_t *start = weir_cursor_take(cursor, sizeof(magic));
    const char *version = weir_cursor_text(cursor);
    const uint8_t *sizes = weir_cursor_take(cursor, 2);
    formats->is_foreign = sizes && sizes[0] == BIG_ENDIAN_MARK;
    uint32_t page_bytes = weir_trace_formats_u32(formats, cursor);
    bool is_ours = start && version && sizes && memcmp(start, magic, sizeof(magic)) == 0 &&
                   sizes[0] <= BIG_ENDIAN_MARK && (sizes[1] == sizeof(uint32_t) || sizes[1] == sizeof(uint64_t)) &&
                   page_bytes <= INT32_MAX;
    if (!is_ours || !skip_file(formats, cursor, "header_page") || !skip_file(formats, cursor, "header_event"))
        return false;
    tep_set_file_bigendian(trace->tep, formats->is_foreign ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
    tep_set_long_size(trace->tep, sizes[1]);
    tep_set_page_size(trace->tep, (int)page_bytes);
    weir_trace_formats_list(formats, "ftrace", cursor);
    uint32_t systems = weir_trace_formats_u32(formats, cursor);
    for (uint32_t i = 0; i < systems && !cursor->failed; i++)
        weir_trace_formats_list(formats, weir_cursor_text(cursor), cursor);
    weir_cursor_take(cursor, weir_trace_formats_u32(formats, cursor)); /* kallsyms */
    uint32_t printk_bytes = weir_trace_formats_u32(formats, cursor);
    const uint8_t *printk = weir_cursor_take(cursor, printk_bytes);
    if (!cursor->failed && !add_printk(trace, printk, printk_bytes))
        formats->failed = true;
    return !cursor->failed; /* saved_cmdlines, where it is there, is of no use here */
}

int weir_trace_new(struct weir_trace **trace, const uint8_t *section, size_t bytes, struct weir_error *err)
{
    struct weir_trace *made = calloc(1, sizeof(*made));
    if (made)
        made->tep = tep_alloc();
    if (!made || !made->tep) {
        free(made);
        return weir_error_set_errno(err, -ENOMEM, "cannot read TRACING_DATA");
    }
    tep_set_loglevel(TEP_LOG_NONE);
    tep_set_local_bigendian(made->tep, TEP_LITTLE_ENDIAN);
    struct weir_cursor cursor = {.data = section, .bytes = bytes};
    struct weir_trace_formats formats = {0};
    bool is_read = read_section(made, &cursor, &formats);
    if (is_read && !formats.failed)
        weir_trace_formats_parse(&formats, made->tep);
    weir_trace_formats_fini(&formats);
    if (formats.failed) {
        weir_trace_free(made);
        return weir_error_set_errno(err, -ENOMEM, "cannot read TRACING_DATA");
    }
    if (!is_read) {
        size_t at = bytes - cursor.bytes;
        weir_trace_free(made);
        return weir_error_set(err, -EBADMSG, "TRACING_DATA: damaged at byte %#zx of its %zu", at, bytes);
    }
    *trace = made;
    return 0;
}

void weir_trace_free(struct weir_trace *trace)
{
    if (!trace)
        return;
    tep_free(trace->tep);
    weir_buf_fini(&trace->raw);
    free(trace);
}

static struct tep_event *find(const struct weir_trace *trace, uint64_t id)
{
    return id <= INT32_MAX ? tep_find_event(trace->tep, (int)id) : NULL;
}

bool weir_trace_knows_all(const struct weir_trace *trace, uint64_t id)
{
    const struct tep_event *event = find(trace, id);
    return event && !(event->flags & TEP_EVENT_FL_FAILED);
}

bool weir_trace_append_name(const struct weir_trace *trace, uint64_t id, struct weir_buf *out)
{
    const struct tep_event *event = find(trace, id);
    if (!event)
        return false;
    weir_text_append(out, event->system, strlen(event->system));
    weir_buf_append_u8(out, ':');
    weir_text_append(out, event->name, strlen(event->name));
    return true;
}

/* ---- fields ---- */

static int64_t load_signed(const struct tep_format_field *field, const uint8_t *data, size_t bytes)
{
    uint64_t value = weir_trace_field_number(field, data, bytes);
    if (bytes == 0) /* a shift by all bits is undefined */
        return 0;
    unsigned unused = bytes < sizeof(value) ? (unsigned)(8 * (sizeof(value) - bytes)) : 0;
    return (int64_t)(value << unused) >> unused;
}

static void append_value(const struct tep_format_field *field, const uint8_t *data, size_t length, bool is_json,
                         struct weir_buf *out)
{
    if (weir_trace_field_is_text(field)) {
        if (is_json)
            weir_text_append_json(out, data, length);
        else
            weir_text_append(out, data, length);
    } else if ((field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) || length > sizeof(uint64_t)) {
        weir_buf_printf(out, is_json ? "\"" : "");
        weir_text_append_hex(out, data, length);
        weir_buf_printf(out, is_json ? "\"" : "");
    } else if (field->flags & TEP_FIELD_IS_SIGNED) {
        weir_buf_printf(out, "%" PRId64, load_signed(field, data, length));
    } else if (!is_json && (field->flags & TEP_FIELD_IS_POINTER)) {
        weir_buf_printf(out, "%#" PRIx64, weir_trace_field_number(field, data, length));
    } else {
        weir_buf_printf(out, "%" PRIu64, weir_trace_field_number(field, data, length));
    }
}

/* Appends the fields of a list behind `between`. Returns the text before the next field. */
static const char *append_fields(const struct tep_format_field *fields, const char *between, const uint8_t *raw,
                                 size_t bytes, bool is_json, struct weir_buf *out)
{
    for (const struct tep_format_field *field = fields; field; field = field->next) {
        const uint8_t *data;
        size_t length;
        weir_buf_printf(out, "%s", between);
        if (is_json)
            weir_text_append_json(out, field->name, strlen(field->name));
        else
            weir_text_append(out, field->name, strlen(field->name));
        weir_buf_append_u8(out, is_json ? ':' : '=');
        if (weir_trace_field_locate(field, raw, bytes, &data, &length))
            append_value(field, data, length, is_json, out);
        else
            weir_buf_printf(out, is_json ? "null" : "?");
        between = is_json ? "," : " ";
    }
    return between;
}

void weir_trace_append_common(const struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                              struct weir_buf *out)
{
    const struct tep_event *event = find(trace, id);
    if (event)
        append_fields(event->format.common_fields, "", raw, bytes, false, out);
}

bool weir_trace_append_json(const struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                            struct weir_buf *out)
{
    const struct tep_event *event = find(trace, id);
    if (!event)
        return false;
    weir_buf_append_u8(out, '{');
    const char *between = append_fields(event->format.common_fields, "", raw, bytes, true, out);
    append_fields(event->format.fields, between, raw, bytes, true, out);
    weir_buf_append_u8(out, '}');
    return true;
}

/* ---- print formats ---- */

/* A copy that is aligned as the kernel's buffer is and has zeros behind it. NULL without memory. */
static const uint8_t *copy_raw(struct weir_trace *trace, const uint8_t *raw, size_t bytes)
{
    weir_buf_reset(&trace->raw);
    weir_buf_append(&trace->raw, raw, bytes);
    weir_buf_append_zeros(&trace->raw, SPARE_BYTES);
    return weir_buf_error(&trace->raw) < 0 ? NULL : trace->raw.data;
}

void weir_trace_append_text(struct weir_trace *trace, uint64_t id, const uint8_t *raw, size_t bytes,
                            struct weir_buf *out)
{
    struct tep_event *event = find(trace, id);
    if (!event)
        return;
    const uint8_t *copy = copy_raw(trace, raw, bytes);
    if (!copy)
        weir_buf_fail(out, -ENOMEM);
    if (!copy || !weir_trace_is_printable(event, copy, bytes)) {
        append_fields(event->format.fields, "", raw, bytes, false, out);
        return;
    }
    struct tep_record record = {.data = (void *)(uintptr_t)copy, .size = (int)bytes};
    struct trace_seq text;
    trace_seq_init(&text);
    tep_print_event(trace->tep, &text, &record, "%s", TEP_PRINT_INFO);
    trace_seq_terminate(&text);
    if (text.state == TRACE_SEQ__GOOD)
        weir_text_append(out, text.buffer, text.len);
    trace_seq_destroy(&text);
}

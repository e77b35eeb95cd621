/* Unchecked bytes as text, JSON and hex dump. The dump's form is trace_event()'s in tools/perf/util/debug.c. Any
 * thread. */
#include "format/text_out.h"

#include <string.h>

#include "base/line.h"
#include "base/utf8.h"

#define FIRST_PRINTABLE 0x20
#define DELETE          0x7f
#define LINE_BYTES      16u

#define ADDRESS_DIGITS  4u
#define ADDRESS_COLUMNS (3 + ADDRESS_DIGITS + 2) /* ".  0010: " */

void weir_text_append(struct weir_buf *out, const void *text, size_t bytes)
{
    size_t length = bytes ? strnlen(text, bytes) : 0;
    uint8_t *copy = weir_buf_extend(out, length);
    if (!copy || length == 0)
        return;
    memcpy(copy, text, length);
    weir_line_clean_bytes(copy, length);
}

void weir_text_append_json(struct weir_buf *out, const void *text, size_t bytes)
{
    size_t length = bytes ? strnlen(text, bytes) : 0;
    const uint8_t *at = text;
    weir_buf_append_u8(out, '"');
    while (length > 0) {
        size_t taken = weir_utf8_length(at, length);
        if (taken == 0)
            weir_buf_printf(out, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            weir_buf_printf(out, "\\%c", *at);
        else if (weir_utf8_is_control(at, taken)) /* none is beyond U+FFFF */
            weir_buf_printf(out, "\\u%04x", weir_utf8_number(at, taken));
        else
            weir_buf_append(out, at, taken);
        taken = taken ? taken : 1;
        at += taken;
        length -= taken;
    }
    weir_buf_append_u8(out, '"');
}

void weir_text_append_json_string(struct weir_buf *out, const char *text)
{
    weir_text_append_json(out, text, strlen(text));
}

static const char digits[] = "0123456789abcdef";

void weir_text_append_hex(struct weir_buf *out, const uint8_t *data, size_t bytes)
{
    uint8_t *text = weir_buf_extend(out, 2 * bytes);
    for (size_t i = 0; text && i < bytes; i++) {
        text[2 * i] = (uint8_t)digits[data[i] >> 4];
        text[2 * i + 1] = (uint8_t)digits[data[i] & 0xf];
    }
}

/* ".  0010:  hh hh ...  ASCII". Most of a dump are these lines: no printf(3). A record has at most 65535 bytes. */
static void append_dump_line(struct weir_buf *out, size_t address, const uint8_t *data, size_t bytes)
{
    uint8_t line[ADDRESS_COLUMNS + LINE_BYTES * 3 + 2 + LINE_BYTES + 1];
    memset(line, ' ', sizeof(line));
    line[0] = '.';
    for (unsigned i = 0; i < ADDRESS_DIGITS; i++)
        line[3 + i] = (uint8_t)digits[address >> 4 * (ADDRESS_DIGITS - 1 - i) & 0xf];
    line[3 + ADDRESS_DIGITS] = ':';
    uint8_t *text = line + ADDRESS_COLUMNS;
    for (size_t i = 0; i < bytes; i++) {
        text[3 * i + 1] = (uint8_t)digits[data[i] >> 4];
        text[3 * i + 2] = (uint8_t)digits[data[i] & 0xf];
        text[3 * LINE_BYTES + 2 + i] = data[i] >= FIRST_PRINTABLE && data[i] < DELETE ? data[i] : '.';
    }
    line[sizeof(line) - 1] = '\n';
    weir_buf_append(out, line, sizeof(line));
}

void weir_text_append_dump(struct weir_buf *out, const uint8_t *data, size_t bytes)
{
    weir_buf_printf(out, ".\n. ... raw event: size %zu bytes\n", bytes);
    for (size_t done = 0; done < bytes; done += LINE_BYTES)
        append_dump_line(out, done, data + done, bytes - done < LINE_BYTES ? bytes - done : LINE_BYTES);
    weir_buf_append_u8(out, '\n');
}

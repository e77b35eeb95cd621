/* What a file says as text, JSON and hex dump. The dump's form is trace_event()'s in tools/perf/util/debug.c. */
#include "format/text_out.h"

#include <stdbool.h>
#include <string.h>

#define CONTROL_BELOW 0x20
#define DELETE        0x7f
#define LINE_BYTES    16u

#define ADDRESS_DIGITS  4u
#define ADDRESS_COLUMNS (3 + ADDRESS_DIGITS + 2) /* ".  0010: " */

static bool is_control(uint8_t c)
{
    return c < CONTROL_BELOW || c == DELETE;
}

void weir_text_append(struct weir_buf *out, const void *text, size_t bytes)
{
    size_t length = bytes ? strnlen(text, bytes) : 0;
    uint8_t *copy = weir_buf_extend(out, length);
    for (size_t i = 0; copy && i < length; i++) {
        uint8_t c = ((const uint8_t *)text)[i];
        copy[i] = is_control(c) ? '?' : c;
    }
}

/* Bytes of the UTF-8 character at text (RFC 3629), of which bytes are there; 0: it is none. */
static size_t utf8_length(const uint8_t *text, size_t bytes)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    if (length == 0 || length > bytes)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    return overlong || beyond ? 0 : length;
}

void weir_text_append_json(struct weir_buf *out, const void *text, size_t bytes)
{
    size_t length = bytes ? strnlen(text, bytes) : 0;
    const uint8_t *at = text;
    weir_buf_append_u8(out, '"');
    while (length > 0) {
        size_t taken = utf8_length(at, length);
        if (taken == 0)
            weir_buf_printf(out, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            weir_buf_printf(out, "\\%c", *at);
        else if (is_control(*at))
            weir_buf_printf(out, "\\u%04x", *at);
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
        text[3 * LINE_BYTES + 2 + i] = data[i] >= CONTROL_BELOW && data[i] < DELETE ? data[i] : '.';
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

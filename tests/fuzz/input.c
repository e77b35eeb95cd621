/* Parts and strings of an input, and the contract of struct weir_error. Any thread. */
#include "tests/fuzz/input.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

void fuzz_split(const uint8_t *data, size_t bytes, const char *separator, struct fuzz_part *parts, size_t count)
{
    size_t separator_bytes = strlen(separator);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *found = bytes > 0 ? memmem(data, bytes, separator, separator_bytes) : NULL;
        bool is_last = !found || i + 1 == count;
        parts[i] = (struct fuzz_part){.data = data, .bytes = is_last ? bytes : (size_t)(found - data)};
        size_t taken = parts[i].bytes + (is_last ? 0 : separator_bytes);
        data += taken;
        bytes -= taken;
    }
}

char *fuzz_text(const uint8_t *data, size_t bytes)
{
    size_t length = bytes > 0 ? strnlen((const char *)data, bytes) : 0;
    char *text = malloc(length + 1);
    weir_assert(text);
    if (length > 0)
        memcpy(text, data, length);
    text[length] = '\0';
    return text;
}

char *fuzz_part_text(struct fuzz_part part)
{
    return fuzz_text(part.data, part.bytes);
}

void fuzz_check_line(const char *text)
{
    for (; *text; text++)
        weir_assert((unsigned char)*text >= ' ' && *text != '\x7f');
}

void fuzz_check_error(const struct weir_error *err, int code)
{
    weir_assert(err->code == code);
    weir_assert(err->what[0] != '\0');
    weir_assert(memchr(err->what, '\0', sizeof(err->what)) && memchr(err->hint, '\0', sizeof(err->hint)));
    fuzz_check_line(err->what);
    fuzz_check_line(err->hint);
}

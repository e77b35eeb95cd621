/* One line of text that no terminal obeys. Pure; any thread. */
#include "base/line.h"

#include <string.h>

#include "base/utf8.h"

void weir_line_clean_bytes(uint8_t *line, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = weir_utf8_length(line + at, bytes - at);
        size_t taken = length > 0 ? length : 1;
        if (weir_utf8_is_control(line + at, length))
            memset(line + at, '?', taken);
        at += taken;
    }
}

void weir_line_clean(char *line)
{
    weir_line_clean_bytes((uint8_t *)line, strlen(line));
}

/* Strings of JSON output. Pure; any thread. */
#include "cli/json_text.h"

#define CONTROL_BELOW 0x20

void weir_json_append_string(struct weir_buf *text, const char *value)
{
    weir_buf_append_u8(text, '"');
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (c == '"' || c == '\\')
            weir_buf_printf(text, "\\%c", c);
        else if (c < CONTROL_BELOW)
            weir_buf_printf(text, "\\u%04x", c);
        else
            weir_buf_append_u8(text, c);
    }
    weir_buf_append_u8(text, '"');
}

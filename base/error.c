/* Errors of set-up functions. Any thread; each struct weir_error belongs to one. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_line(struct weir_error *err, int code, const char *format, va_list args)
{
    err->code = code;
    err->hint[0] = '\0';
    vsnprintf(err->what, sizeof(err->what), format, args);
}

int weir_error_set(struct weir_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set_line(err, code, format, args);
        va_end(args);
    }
    return code;
}

int weir_error_set_errno(struct weir_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set_line(err, code, format, args);
        va_end(args);

        char reason[128];
        size_t used = strlen(err->what);
        /* The GNU strerror_r may return a constant instead of filling the buffer. */
        const char *text = strerror_r(-code, reason, sizeof(reason));
        snprintf(err->what + used, sizeof(err->what) - used, ": %s", text);
    }
    return code;
}

void weir_error_hint(struct weir_error *err, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->hint, sizeof(err->hint), format, args);
        va_end(args);
    }
}

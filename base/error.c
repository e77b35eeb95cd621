/* Errors of set-up functions. Any thread; each struct weir_error belongs to one thread. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/line.h"

/* Formats into a buffer of its own first: the arguments may point into err, when an error wraps the one below it. */
__attribute__((format(printf, 4, 0))) static void set_line(struct weir_error *err, int code, const char *reason,
                                                           const char *format, va_list args)
{
    char line[sizeof(err->what)];
    vsnprintf(line, sizeof(line), format, args);
    weir_line_clean(line);

    /* The reason must survive a long path before it: the line is cut, not the reason. */
    size_t reason_bytes = strlen(reason);
    int line_bytes = (int)(sizeof(err->what) - 1 - reason_bytes);
    snprintf(err->what, sizeof(err->what), "%.*s%s", line_bytes, line, reason);
    err->code = code;
    err->hint[0] = '\0';
}

int weir_error_set(struct weir_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set_line(err, code, "", format, args);
        va_end(args);
    }
    return code;
}

int weir_error_set_errno(struct weir_error *err, int code, const char *format, ...)
{
    if (err) {
        char space[128], reason[sizeof(space) + sizeof(": ")];
        /* The GNU strerror_r may return a constant instead of filling the buffer. */
        snprintf(reason, sizeof(reason), ": %s", strerror_r(-code, space, sizeof(space)));

        va_list args;
        va_start(args, format);
        set_line(err, code, reason, format, args);
        va_end(args);
    }
    return code;
}

void weir_error_hint(struct weir_error *err, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        char line[sizeof(err->hint)];
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        weir_line_clean(line);
        snprintf(err->hint, sizeof(err->hint), "%s", line);
    }
}

/* Notices of library layers. Any thread that is not on the data path. */
#include "base/notice.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/line.h"

void weir_notice(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
{
    if (!sink || !sink->emit)
        return;

    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    weir_line_clean(line);
    sink->emit(sink->ctx, level, line);
}

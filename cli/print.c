/* All that weir says. The sink runs on the thread that found something out; stdio locks each line. */
#include "cli/print.h"

#include <errno.h>

void weir_print_error(const struct weir_print *print, const struct weir_error *err)
{
    if (err->hint[0])
        fprintf(print->stream, "weir: %s\nhint: %s\n", err->what, err->hint);
    else
        fprintf(print->stream, "weir: %s\n", err->what);
}

void weir_print_lines(const struct weir_print *print, const char *lines)
{
    if (!print->quiet)
        fputs(lines, print->stream);
}

static void emit(void *ctx, enum weir_notice_level level, const char *line)
{
    const struct weir_print *print = ctx;
    if (print->quiet)
        return;
    switch (level) {
    case WEIR_NOTICE_WARNING:
        fprintf(print->stream, "weir: warning: %s\n", line);
        break;
    case WEIR_NOTICE_INFO:
        /* Lines in perf's brackets name their program themselves. */
        fprintf(print->stream, "%s%s\n", line[0] == '[' ? "" : "weir: ", line);
        break;
    case WEIR_NOTICE_VERBOSE:
        if (print->verbosity >= 1)
            fprintf(print->stream, "weir: %s\n", line);
        break;
    case WEIR_NOTICE_DEBUG:
        if (print->verbosity >= 2)
            fprintf(print->stream, "weir: debug: %s\n", line);
        break;
    }
}

struct weir_notice_sink weir_print_sink(struct weir_print *print)
{
    return (struct weir_notice_sink){.emit = emit, .ctx = print};
}

int weir_print_output(const char *text, struct weir_error *err)
{
    errno = 0;
    if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
        int code = errno ? -errno : -EIO;
        return weir_error_set_errno(err, code, "cannot write to standard output");
    }
    return 0;
}

int weir_print_output_bytes(const char *text, size_t bytes, struct weir_error *err)
{
    errno = 0;
    if (fwrite(text, 1, bytes, stdout) != bytes) {
        int code = errno ? -errno : -EIO;
        return weir_error_set_errno(err, code, "cannot write to standard output");
    }
    return 0;
}

/* All that weir says. The sink runs on the thread that found something out; stdio locks each line. */
#include "cli/print.h"

#include <errno.h>
#include <poll.h>

#define PATIENCE_MS 1000

void weir_print_error(const struct weir_print *print, const struct weir_error *err)
{
    weir_status_line_begin_message(print->line);
    if (err->hint[0])
        fprintf(print->stream, "weir: %s\nhint: %s\n", err->what, err->hint);
    else
        fprintf(print->stream, "weir: %s\n", err->what);
    weir_status_line_end_message(print->line);
}

/* Relaxed: a number that nothing depends on. */
static void tell_left_out(struct weir_print *print)
{
    unsigned count = atomic_exchange_explicit(&print->left_out, 0, memory_order_relaxed);
    if (count > 0)
        fprintf(print->stream, "weir: warning: %u messages are missing here, as nobody read standard error\n", count);
}

void weir_print_lines(struct weir_print *print, const char *lines)
{
    if (print->quiet)
        return;
    weir_status_line_begin_message(print->line);
    tell_left_out(print);
    fputs(lines, print->stream);
    weir_status_line_end_message(print->line);
}

/* A pipe that has room at all has it for PIPE_BUF bytes (pipe(7)), which is more than a line. Who reads slowly is
 * waited for, who has stopped only once. */
static bool has_room(struct weir_print *print)
{
    struct pollfd stream = {.fd = fileno(print->stream), .events = POLLOUT};
    bool has_stopped = atomic_load_explicit(&print->left_out, memory_order_relaxed) > 0;
    return stream.fd < 0 || poll(&stream, 1, has_stopped ? 0 : PATIENCE_MS) != 0;
}

void weir_print_status(struct weir_print *print, const char *line)
{
    struct pollfd stream = {.fd = fileno(print->stream), .events = POLLOUT};
    if (stream.fd < 0 || poll(&stream, 1, 0) == 1)
        fprintf(print->stream, "%s\n", line);
}

static bool is_shown(const struct weir_print *print, enum weir_notice_level level)
{
    unsigned wanted = level == WEIR_NOTICE_DEBUG ? 2 : level == WEIR_NOTICE_VERBOSE ? 1 : 0;
    return !print->quiet && print->verbosity >= wanted;
}

static void emit(void *ctx, enum weir_notice_level level, const char *line)
{
    struct weir_print *print = ctx;
    if (!is_shown(print, level))
        return;
    if (!has_room(print)) {
        atomic_fetch_add_explicit(&print->left_out, 1, memory_order_relaxed);
        return;
    }
    weir_status_line_begin_message(print->line);
    tell_left_out(print);
    switch (level) {
    case WEIR_NOTICE_WARNING:
        fprintf(print->stream, "weir: warning: %s\n", line);
        break;
    case WEIR_NOTICE_INFO:
        /* Lines in perf's brackets name their program themselves. */
        fprintf(print->stream, "%s%s\n", line[0] == '[' ? "" : "weir: ", line);
        break;
    case WEIR_NOTICE_VERBOSE:
        fprintf(print->stream, "weir: %s\n", line);
        break;
    case WEIR_NOTICE_DEBUG:
        fprintf(print->stream, "weir: debug: %s\n", line);
        break;
    }
    weir_status_line_end_message(print->line);
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

/*
 * All output of weir: errors, notices and closing lines go to stderr, requested output goes to stdout. No other code of
 * weir writes to either, but for the status (status_line.h, record_status.h).
 *
 * Every line on stderr is one write to an unbuffered or line-buffered stream, prefixed "weir: " or "hint: ", so that it
 * can be told from the workload's output. Any thread may call the sink; after set-up only the count of dropped notices
 * in struct weir_print changes.
 *
 * weir goes on if no process reads its messages. A notice that finds no room within a second, in a full pipe or on a
 * stopped terminal, is dropped and counted. So are later ones until there is room; the next printed line reports their
 * number. Errors and closing lines wait.
 */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/notice.h"
#include "cli/status_line.h"

struct weir_print {
    FILE *stream;                  /* borrowed; stderr, or a test's */
    unsigned verbosity;            /* -v: 1, -vv: 2, which adds WEIR_NOTICE_DEBUG */
    bool quiet;                    /* errors only; overrides verbosity, as in perf */
    _Atomic unsigned left_out;     /* notices dropped since the last printed line */
    struct weir_status_line *line; /* borrowed; erased before each message; NULL: none is drawn */
};

/* Prints "weir: WHAT", and "hint: HINT" if there is a hint. Also when quiet. */
void weir_print_error(const struct weir_print *print, const struct weir_error *err);

/* Prints a line of status, if there is room at once; also when quiet. */
void weir_print_status(struct weir_print *print, const char *line);

/* Prints closing lines, whole and with their newlines; nothing when quiet. */
void weir_print_lines(struct weir_print *print, const char *lines);

/* Returns a sink that prints the notices that quiet and verbosity allow; print is borrowed as long as the sink is used.
 */
struct weir_notice_sink weir_print_sink(struct weir_print *print);

/* Writes text to stdout and flushes it. 0, or -errno with err: help into a full disk must not look like success. */
int weir_print_output(const char *text, struct weir_error *err);

/* Writes bytes to stdout without flushing, for long output; the last call must be weir_print_output(). Results as
 * there. */
int weir_print_output_bytes(const char *text, size_t bytes, struct weir_error *err);

#endif

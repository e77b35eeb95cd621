/*
 * All that weir says: errors, notices and closing lines to stderr, what was asked for to stdout. The only place in weir
 * that writes to either.
 *
 * Every line on stderr is one write to an unbuffered or line-buffered stream, prefixed "weir: " or "hint: ", so that it
 * can be told from the workload's. The sink may be called by any thread; of struct weir_print only the count of what
 * was left out changes after set-up.
 *
 * Nobody need read what weir says: a notice for which there is no room within a second, in a pipe that is full or on a
 * terminal that is stopped, is left out and counted, and so are those after it until there is; the next line that is
 * printed tells how many. What ends a recording waits.
 */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/notice.h"

struct weir_print {
    FILE *stream;              /* borrowed; stderr, or a test's */
    unsigned verbosity;        /* -v: 1, -vv: 2 */
    bool quiet;                /* errors only; goes before verbosity, as in perf */
    _Atomic unsigned left_out; /* notices, since the last line that was printed */
};

/* "weir: WHAT", and "hint: HINT" when there is one. Also when quiet. */
void weir_print_error(const struct weir_print *print, const struct weir_error *err);

/* Lines that end a recording, whole and with their newlines; nothing when quiet. */
void weir_print_lines(struct weir_print *print, const char *lines);

/* A sink that prints what quiet and verbosity let through; print is borrowed as long as it is used. */
struct weir_notice_sink weir_print_sink(struct weir_print *print);

/* To stdout, flushed. 0, or -errno with err: help into a full disk must not look like success. */
int weir_print_output(const char *text, struct weir_error *err);

/* The same of bytes, without flushing every piece of what is long: the last call has to be weir_print_output(). */
int weir_print_output_bytes(const char *text, size_t bytes, struct weir_error *err);

#endif

/*
 * The progress of a command that reads a recording: a status line (status_line.h) on the terminal, from one second on.
 * Nothing is drawn where standard error is no terminal that suits, or where the command's own output goes to a
 * terminal. Main thread.
 */
#ifndef WEIR_CLI_PROGRESS_H
#define WEIR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/print.h"
#include "cli/status_line.h"
#include "format/perf_input.h"

struct weir_progress {
    struct weir_print *print; /* borrowed */
    struct weir_status_line line;
    bool has_line;
    const char *work; /* "weir verify" */
    uint64_t begun_ns, due_ns;
};

/* Prepares; print has the line until end(). progress must stay in place until end(). streams_out: the command writes
 * its output while it reads. */
void weir_progress_begin(struct weir_progress *progress, struct weir_print *print, const char *work, bool streams_out);

/* Returns the callback for a gate (format/perf_input.h). progress is borrowed as long as the result is used. */
struct weir_input_progress weir_progress_of_input(struct weir_progress *progress);

/* Erases the line, also one that a child process has drawn. Call this before the output. Idempotent. */
void weir_progress_end(struct weir_progress *progress);

#endif

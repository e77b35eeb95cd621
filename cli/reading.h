/*
 * The set-up of a command that reads a recording: notices, the sandbox and the progress, in one gate for the parser.
 * Main thread.
 */
#ifndef WEIR_CLI_READING_H
#define WEIR_CLI_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "engine/upkeep/sandbox.h"
#include "format/perf_input.h"

struct weir_reading {
    struct weir_notice_sink notices;
    struct weir_input_gate gate; /* for the parser, until end() */
    struct weir_sandbox_gate sandbox;
    struct weir_progress progress;
};

/* Prepares. work, streams_out: as weir_progress_begin(). reading must stay in place, and print is borrowed, until
 * end(). */
void weir_reading_begin(struct weir_reading *reading, struct weir_print *print, const char *work, bool streams_out);

/* Ends the progress. Call this before any output but that of weir_reading_write(). */
void weir_reading_end(struct weir_reading *reading);

/* The callback for output that is written while the recording is read. Results as weir_print_output_bytes(). */
int weir_reading_write(void *ctx, const char *text, size_t bytes, struct weir_error *err);

/* Flushes such output, after end(), and prints the error: that of reading (code, err), else that of the output. Returns
 * the exit status. */
int weir_reading_flush(const struct weir_print *print, int code, const struct weir_error *err);

#endif

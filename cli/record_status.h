/*
 * What `weir record` shows while it records (--status): a line on the terminal twice a second, or a line of JSON a
 * second. A service manager hears of the recording, too (service.h). The coordinator tells the figures (record_watch.h)
 * and is never held up: figures that cannot be written at once are left out.
 *
 * While the recording ends, the coordinator is busy. A thread then draws which step the end is at, if the end takes
 * longer than 0.3 s. The thread begins after the events were disabled, so it is in no recording.
 *
 * Coordinator thread, but for the drawing thread.
 */
#ifndef WEIR_CLI_RECORD_STATUS_H
#define WEIR_CLI_RECORD_STATUS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/print.h"
#include "cli/service.h"
#include "cli/status_line.h"
#include "engine/plan/record_watch.h"

enum weir_status_kind {
    WEIR_STATUS_AUTO, /* on a terminal that suits, unless quiet */
    WEIR_STATUS_NEVER,
    WEIR_STATUS_ALWAYS, /* where no line can be drawn, a new line each second */
    WEIR_STATUS_JSON,
};

struct weir_status_choice { /* --status; all zero: not given */
    enum weir_status_kind kind;
    int json_fd; /* with JSON */
};

/* Parses "never", "auto", "always", "json" or "json:FD". 0, or -EINVAL with err; *choice is untouched on failure. */
int weir_status_choice_parse(struct weir_status_choice *choice, const char *text, struct weir_error *err);

#define WEIR_RECORD_STATUS_MEMORY 10 /* figures, half a second apart: rates are of 5 s, longer than a round */

struct weir_record_status {
    struct weir_record_watch watch; /* for options.watch, if weir_record_status_begin() returned true */
    struct weir_print *print;       /* borrowed */
    struct weir_service service;
    struct weir_status_line line;
    bool has_line; /* line is open */
    bool is_shown; /* figures are for the user, not for the service manager alone */
    bool colors;
    int json_fd;                                                  /* borrowed; -1: none */
    struct weir_record_figures before[WEIR_RECORD_STATUS_MEMORY]; /* [tick % MEMORY] */
    uint64_t ticks;

    uint64_t ending_since_ns; /* 0: the end has not begun */
    int stop_fd;              /* owned eventfd: the thread is to end; -1: there is no thread */
    pthread_t thread;
    _Atomic(enum weir_ending_step) step; /* by the coordinator, for the thread; relaxed: a word of its own */
};

/* Prepares. Returns false when nothing is to be shown. -q is in print, which has the line until end(). status must stay
 * in place until end(). */
bool weir_record_status_begin(struct weir_record_status *status, const struct weir_status_choice *choice,
                              struct weir_print *print);

/* Ends thread and line. Call this before the closing lines. Idempotent. */
void weir_record_status_end(struct weir_record_status *status);

#endif

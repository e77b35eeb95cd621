/*
 * When events count: -D of `weir record`. Pure, but allocates; main thread.
 *
 *   N               enabled from N ms after the start
 *   -1              disabled until somebody enables the events
 *   A-B[,C-D...]    enabled in these windows of ms since the start; recording ends with the last window
 *
 * The start is the release of the workload or, without a workload, the begin of the recording.
 */
#ifndef WEIR_ENGINE_PLAN_SCHEDULE_H
#define WEIR_ENGINE_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define WEIR_SCHEDULE_MS_MAX  INT32_MAX /* perf stores the ms in an int */
#define WEIR_SCHEDULE_FOREVER UINT64_MAX

struct weir_schedule_window {
    uint64_t start_ms, end_ms; /* start < end; end WEIR_SCHEDULE_FOREVER: the window does not end */
};

struct weir_schedule {
    bool given;                           /* false: events count from the start on */
    struct weir_schedule_window *windows; /* owned; ascending, with gaps; none: events stay disabled */
    size_t count;
};

#define WEIR_SCHEDULE_INIT \
    {                      \
        false, NULL, 0     \
    }

/* Parses the argument of -D. Returns 0; -EINVAL with err, which names the column; or -ENOMEM. On success frees the
 * former contents of *schedule; on failure leaves *schedule untouched. */
int weir_schedule_parse(struct weir_schedule *schedule, const char *text, struct weir_error *err);

/* Frees the windows. NULL-safe, idempotent. */
void weir_schedule_fini(struct weir_schedule *schedule);

/* Whether events count from the start: without a schedule, or with a first window that begins at the start. */
bool weir_schedule_starts_enabled(const struct weir_schedule *schedule);

enum weir_schedule_action {
    WEIR_SCHEDULE_WAIT, /* no action is due before weir_schedule_due_ns() */
    WEIR_SCHEDULE_ENABLE,
    WEIR_SCHEDULE_DISABLE,
    WEIR_SCHEDULE_END, /* the last window is over */
};

/* A running schedule. A late action moves all later ones, as in perf: a window that begins late keeps its length. */
struct weir_schedule_run {
    const struct weir_schedule *schedule; /* borrowed; NULL: none */
    uint64_t last_ns;                     /* time of the last action, at first of the start */
    uint64_t last_ms;                     /* due time of the last action, in ms since the start */
    size_t step;                          /* number of actions taken */
};

void weir_schedule_start(struct weir_schedule_run *run, const struct weir_schedule *schedule, uint64_t now_ns);

/* Takes the next action that is due at now_ns. The caller repeats the call until the result is WEIR_SCHEDULE_WAIT. */
enum weir_schedule_action weir_schedule_next(struct weir_schedule_run *run, uint64_t now_ns);

/* Returns the time of the next action; UINT64_MAX: there is none. */
uint64_t weir_schedule_due_ns(const struct weir_schedule_run *run);

#endif

/*
 * When events count: -D of `weir record`. Pure but for its memory; main thread.
 *
 *   N               from N ms after the start on
 *   -1              never: until something else switches them on
 *   A-B[,C-D...]    in these windows of ms since the start; recording ends with the last one
 *
 * The start is when the workload is let go or, without one, when recording begins.
 */
#ifndef WEIR_ENGINE_SESSION_SCHEDULE_H
#define WEIR_ENGINE_SESSION_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define WEIR_SCHEDULE_MS_MAX  INT32_MAX /* perf's type for it */
#define WEIR_SCHEDULE_FOREVER UINT64_MAX

struct weir_schedule_window {
    uint64_t start_ms, end_ms; /* start < end; WEIR_SCHEDULE_FOREVER for a window without an end */
};

struct weir_schedule {
    bool given;                           /* false: events count from the start on */
    struct weir_schedule_window *windows; /* owned; ascending, apart from each other; none: never */
    size_t count;
};

#define WEIR_SCHEDULE_INIT \
    {                      \
        false, NULL, 0     \
    }

/* Parses the argument of -D. 0, -EINVAL with err (what and at which column), -ENOMEM. *schedule is untouched on
 * failure; what it had is freed otherwise. */
int weir_schedule_parse(struct weir_schedule *schedule, const char *text, struct weir_error *err);

/* NULL-safe, idempotent. */
void weir_schedule_fini(struct weir_schedule *schedule);

/* Whether events are to count from the start on: no schedule, or one whose first window begins with it. */
bool weir_schedule_starts_enabled(const struct weir_schedule *schedule);

enum weir_schedule_action {
    WEIR_SCHEDULE_WAIT, /* nothing to do before weir_schedule_due_ns() */
    WEIR_SCHEDULE_ENABLE,
    WEIR_SCHEDULE_DISABLE,
    WEIR_SCHEDULE_END, /* the last window is over */
};

/* A schedule under way. Who comes late moves all that follows, as in perf: a window that begins late is as long as any.
 */
struct weir_schedule_run {
    const struct weir_schedule *schedule; /* borrowed; NULL: none */
    uint64_t last_ns;                     /* when the last action was taken; the start */
    uint64_t last_ms;                     /* when it was to be taken, since the start */
    size_t step;                          /* actions taken */
};

void weir_schedule_start(struct weir_schedule_run *run, const struct weir_schedule *schedule, uint64_t now_ns);

/* Takes the next action that is due at now_ns: to be called until it says WAIT. */
enum weir_schedule_action weir_schedule_next(struct weir_schedule_run *run, uint64_t now_ns);

/* When the next action is due; UINT64_MAX: never. */
uint64_t weir_schedule_due_ns(const struct weir_schedule_run *run);

#endif

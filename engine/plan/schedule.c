/*
 * Parses -D and runs its schedule; see schedule.h.
 *
 * Source of the grammar: evlist__parse_event_enable_time(), tools/perf/util/evlist.c, Linux 6.2. As perf does, weir
 * takes blanks around numbers and refuses a delay of 0.
 */
#include "engine/plan/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct text {
    const char *start, *at;
};

static void skip_blanks(struct text *text)
{
    while (isspace((unsigned char)*text->at))
        text->at++;
}

static int fail(const struct text *text, const char *what, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "%s at column %zu of '%s'", what, (size_t)(text->at - text->start) + 1, text->start);
    return -EINVAL;
}

/* Takes a number of ms, and the blanks around it. */
static int take_ms(struct text *text, uint64_t *ms, struct weir_error *err)
{
    skip_blanks(text);
    if (!isdigit((unsigned char)*text->at))
        return fail(text, "a number of milliseconds is expected", err);
    const char *at = text->at;
    uint64_t value = 0;
    for (; isdigit((unsigned char)*at); at++) {
        value = 10 * value + (uint64_t)(*at - '0');
        if (value > WEIR_SCHEDULE_MS_MAX)
            return fail(text, "the limit is 24 days", err);
    }
    text->at = at;
    skip_blanks(text);
    *ms = value;
    return 0;
}

static int append(struct weir_schedule *schedule, uint64_t start_ms, uint64_t end_ms, struct weir_error *err)
{
    struct weir_schedule_window *windows =
        reallocarray(schedule->windows, schedule->count + 1, sizeof(*schedule->windows));
    if (!windows)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep the windows");
    windows[schedule->count++] = (struct weir_schedule_window){start_ms, end_ms};
    schedule->windows = windows;
    return 0;
}

/* Parses the end of a window, behind its start. */
static int parse_window(struct weir_schedule *schedule, struct text *text, uint64_t start_ms, struct weir_error *err)
{
    const struct text number = *text;
    text->at++; /* the dash */
    uint64_t end_ms;
    int result = take_ms(text, &end_ms, err);
    if (result < 0)
        return result;
    if (end_ms <= start_ms)
        return fail(&number, "the window ends before it begins", err);
    if (schedule->count > 0 && start_ms <= schedule->windows[schedule->count - 1].end_ms)
        return fail(&number, "the window begins before the last one ends", err);
    return append(schedule, start_ms, end_ms, err);
}

static int parse(struct weir_schedule *schedule, struct text *text, struct weir_error *err)
{
    uint64_t start_ms;
    int result = take_ms(text, &start_ms, err);
    if (result < 0)
        return result;
    if (*text->at == '\0') {
        if (start_ms == 0)
            return weir_error_set(err, -EINVAL, "a delay of 0 delays nothing");
        return append(schedule, start_ms, WEIR_SCHEDULE_FOREVER, err);
    }
    for (;;) {
        if (*text->at != '-')
            return fail(text, "'-' and the end of a window are expected", err);
        result = parse_window(schedule, text, start_ms, err);
        if (result < 0 || *text->at == '\0')
            return result;
        if (*text->at != ',')
            return fail(text, "',' and another window are expected", err);
        text->at++;
        result = take_ms(text, &start_ms, err);
        if (result < 0)
            return result;
    }
}

int weir_schedule_parse(struct weir_schedule *schedule, const char *text, struct weir_error *err)
{
    struct weir_schedule parsed = {.given = true};
    struct text rest = {text, text};
    int result = strcmp(text, "-1") == 0 ? 0 : parse(&parsed, &rest, err);
    if (result < 0) {
        weir_schedule_fini(&parsed);
        return result;
    }
    weir_schedule_fini(schedule);
    *schedule = parsed;
    return 0;
}

void weir_schedule_fini(struct weir_schedule *schedule)
{
    if (!schedule)
        return;
    free(schedule->windows);
    *schedule = (struct weir_schedule)WEIR_SCHEDULE_INIT;
}

bool weir_schedule_starts_enabled(const struct weir_schedule *schedule)
{
    return !schedule || !schedule->given || (schedule->count > 0 && schedule->windows[0].start_ms == 0);
}

/* ---- the running schedule ---- */

void weir_schedule_start(struct weir_schedule_run *run, const struct weir_schedule *schedule, uint64_t now_ns)
{
    *run = (struct weir_schedule_run){.schedule = schedule, .last_ns = now_ns};
    if (schedule && schedule->given && weir_schedule_starts_enabled(schedule))
        run->step = 1; /* the recording starts with events enabled */
}

/* Returns the due time of the next step, in ms since the start. Each window has two steps, its start and its end. A
 * last step ends the recording. */
static uint64_t next_ms(const struct weir_schedule_run *run)
{
    const struct weir_schedule *schedule = run->schedule;
    if (!schedule || schedule->count == 0 || run->step > 2 * schedule->count)
        return WEIR_SCHEDULE_FOREVER;
    if (run->step == 2 * schedule->count) /* the last step follows the last window at once */
        return run->last_ms;
    const struct weir_schedule_window *window = &schedule->windows[run->step / 2];
    return run->step % 2 ? window->end_ms : window->start_ms;
}

uint64_t weir_schedule_due_ns(const struct weir_schedule_run *run)
{
    uint64_t at_ms = next_ms(run);
    return at_ms == WEIR_SCHEDULE_FOREVER ? UINT64_MAX : run->last_ns + (at_ms - run->last_ms) * WEIR_NS_PER_MS;
}

enum weir_schedule_action weir_schedule_next(struct weir_schedule_run *run, uint64_t now_ns)
{
    uint64_t due_ns = weir_schedule_due_ns(run);
    if (due_ns == UINT64_MAX || now_ns < due_ns)
        return WEIR_SCHEDULE_WAIT;
    run->last_ms = next_ms(run);
    run->last_ns = now_ns;
    size_t step = run->step++;
    if (step == 2 * run->schedule->count)
        return WEIR_SCHEDULE_END;
    return step % 2 ? WEIR_SCHEDULE_DISABLE : WEIR_SCHEDULE_ENABLE;
}

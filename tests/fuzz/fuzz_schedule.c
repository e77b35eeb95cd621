/*
 * -D (engine/plan/schedule.h). Input: the text.
 *
 * Windows that are taken are in order and apart, written out they read the same, and followed they switch on and off in
 * turn, each when it is due; on failure the output is untouched.
 */
#include "engine/plan/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

static void check_windows(const struct weir_schedule *schedule)
{
    uint64_t last_ms = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct weir_schedule_window *window = &schedule->windows[i];
        weir_assert(window->start_ms < window->end_ms);
        weir_assert(i == 0 || window->start_ms > last_ms);
        weir_assert(window->start_ms <= WEIR_SCHEDULE_MS_MAX);
        weir_assert(window->end_ms <= WEIR_SCHEDULE_MS_MAX || (window->end_ms == WEIR_SCHEDULE_FOREVER && i == 0));
        last_ms = window->end_ms;
    }
}

static void check_round_trip(const struct weir_schedule *schedule)
{
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_schedule again = WEIR_SCHEDULE_INIT;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct weir_schedule_window *window = &schedule->windows[i];
        weir_buf_printf(&text, "%s%llu", i > 0 ? "," : "", (unsigned long long)window->start_ms);
        if (window->end_ms != WEIR_SCHEDULE_FOREVER)
            weir_buf_printf(&text, "-%llu", (unsigned long long)window->end_ms);
    }
    weir_assert(weir_schedule_parse(&again, schedule->count > 0 ? weir_buf_str(&text) : "-1", NULL) == 0);
    weir_assert(again.count == schedule->count);
    weir_assert(schedule->count == 0 ||
                memcmp(again.windows, schedule->windows, schedule->count * sizeof(*again.windows)) == 0);
    weir_schedule_fini(&again);
    weir_buf_fini(&text);
}

static void check_run(const struct weir_schedule *schedule)
{
    struct weir_schedule_run run;
    bool on = weir_schedule_starts_enabled(schedule);
    weir_schedule_start(&run, schedule, WEIR_NS_PER_S);
    for (uint64_t due_ns, last_ns = 0; (due_ns = weir_schedule_due_ns(&run)) != UINT64_MAX; last_ns = due_ns) {
        weir_assert(due_ns >= last_ns);
        weir_assert(weir_schedule_next(&run, due_ns - 1) == WEIR_SCHEDULE_WAIT);
        enum weir_schedule_action action = weir_schedule_next(&run, due_ns);
        if (action == WEIR_SCHEDULE_END) {
            weir_assert(!on);
            continue;
        }
        weir_assert(action == (on ? WEIR_SCHEDULE_DISABLE : WEIR_SCHEDULE_ENABLE));
        on = !on;
    }
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    char *text = fuzz_text(data, bytes);
    struct weir_schedule schedule = {.count = 4711};
    struct weir_error err = {0};
    int result = weir_schedule_parse(&schedule, text, &err);
    if (result == 0) {
        weir_assert(schedule.given);
        check_windows(&schedule);
        check_round_trip(&schedule);
        check_run(&schedule);
        weir_schedule_fini(&schedule);
    } else {
        weir_assert(result == -EINVAL && schedule.count == 4711);
        fuzz_check_error(&err, result);
    }
    free(text);
}

const struct fuzz_target fuzz_target = {.run = run};

/* Delays and windows: what is taken, what is refused, and what happens when, to the nanosecond of a clock that is told.
 */
#include "engine/plan/schedule.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"
#include "base/clock.h"
#include "tests/base/failing_alloc.h"

#define START_NS 5000000007u /* of the clock */

static const struct {
    const char *text, *what;
} refused[] = {
    {"", "a number of milliseconds is expected at column 1 of ''"},
    {"abc", "a number of milliseconds is expected at column 1 of 'abc'"},
    {"-2", "a number of milliseconds is expected at column 1 of '-2'"},
    {"-1,10-20", "a number of milliseconds is expected at column 1 of '-1,10-20'"},
    {"+5", "a number of milliseconds is expected at column 1 of '+5'"},
    {"0", "a delay of 0 delays nothing"},
    {"1.5", "'-' and the end of a window are expected at column 2 of '1.5'"},
    {"5,10", "'-' and the end of a window are expected at column 2 of '5,10'"},
    {"10-", "a number of milliseconds is expected at column 4 of '10-'"},
    {"10-x", "a number of milliseconds is expected at column 4 of '10-x'"},
    {"10-20,", "a number of milliseconds is expected at column 7 of '10-20,'"},
    {"10-20,30", "'-' and the end of a window are expected at column 9 of '10-20,30'"},
    {"10-20 30-40", "',' and another window are expected at column 7 of '10-20 30-40'"},
    {"20-10", "the window ends before it begins at column 3 of '20-10'"},
    {"10-10", "the window ends before it begins at column 3 of '10-10'"},
    {"10-20,20-30", "the window begins before the last one ends at column 9 of '10-20,20-30'"},
    {"10-20,15-30", "the window begins before the last one ends at column 9 of '10-20,15-30'"},
    {"2147483648", "the limit is 24 days at column 1 of '2147483648'"},
    {"1-99999999999999999999", "the limit is 24 days at column 3 of '1-99999999999999999999'"},
};

Test(schedule, what_is_no_schedule_is_refused_with_its_column)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_schedule schedule = {.count = 77};
        struct weir_error err = {0};
        cr_expect_eq(weir_schedule_parse(&schedule, refused[i].text, &err), -EINVAL, "%s", refused[i].text);
        cr_expect_str_eq(err.what, refused[i].what, "%s", err.what);
        cr_expect_eq(schedule.count, 77, "%s: outputs are untouched", refused[i].text);
    }
}

Test(schedule, out_of_memory_leaves_the_schedule_of_before)
{
    for (unsigned successes = 0; successes < 2; successes++) {
        struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
        struct weir_error err = {0};
        cr_assert_eq(weir_schedule_parse(&schedule, "7", NULL), 0);
        failing_alloc_after(successes);
        cr_expect_eq(weir_schedule_parse(&schedule, "1-2,3-4", &err), -ENOMEM);
        failing_alloc_never();
        cr_expect_eq(schedule.count, 1);
        cr_expect_eq(schedule.windows[0].start_ms, 7);
        weir_schedule_fini(&schedule);
    }
}

Test(schedule, fini_takes_null_and_is_idempotent)
{
    struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
    weir_schedule_fini(NULL);
    cr_assert_eq(weir_schedule_parse(&schedule, "7", NULL), 0);
    weir_schedule_fini(&schedule);
    weir_schedule_fini(&schedule);
    cr_assert_not(schedule.given);
}

/* What happens when: ms since the start, and the action. */
struct step {
    uint64_t at_ms;
    enum weir_schedule_action action;
};

static void expect_steps(const char *text, bool starts_enabled, const struct step *steps, size_t count)
{
    struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
    struct weir_schedule_run run;
    cr_assert_eq(weir_schedule_parse(&schedule, text, NULL), 0, "%s", text);
    cr_expect_eq(weir_schedule_starts_enabled(&schedule), starts_enabled, "%s", text);
    weir_schedule_start(&run, &schedule, START_NS);
    for (size_t i = 0; i < count; i++) {
        uint64_t due_ns = START_NS + steps[i].at_ms * WEIR_NS_PER_MS;
        if (steps[i].action != WEIR_SCHEDULE_END) {
            cr_expect_eq(weir_schedule_due_ns(&run), due_ns, "%s, step %zu", text, i);
            cr_expect_eq(weir_schedule_next(&run, due_ns - 1), WEIR_SCHEDULE_WAIT, "%s, step %zu", text, i);
        }
        cr_expect_eq(weir_schedule_next(&run, due_ns), steps[i].action, "%s, step %zu", text, i);
    }
    cr_expect_eq(weir_schedule_due_ns(&run), UINT64_MAX, "%s", text);
    cr_expect_eq(weir_schedule_next(&run, UINT64_MAX - 1), WEIR_SCHEDULE_WAIT, "%s", text);
    weir_schedule_fini(&schedule);
}

#define EXPECT_STEPS(text, starts_enabled, ...)                            \
    expect_steps(text, starts_enabled, (const struct step[]){__VA_ARGS__}, \
                 sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

Test(schedule, delays_and_windows_are_followed_to_the_nanosecond)
{
    expect_steps("-1", false, NULL, 0);
    EXPECT_STEPS("500", false, {500, WEIR_SCHEDULE_ENABLE});
    EXPECT_STEPS(" 2147483647 ", false, {2147483647, WEIR_SCHEDULE_ENABLE});
    EXPECT_STEPS("10-20", false, {10, WEIR_SCHEDULE_ENABLE}, {20, WEIR_SCHEDULE_DISABLE}, {20, WEIR_SCHEDULE_END});
    EXPECT_STEPS("0-20", true, {20, WEIR_SCHEDULE_DISABLE}, {20, WEIR_SCHEDULE_END});
    EXPECT_STEPS("10 - 20 , 30 - 40", false, {10, WEIR_SCHEDULE_ENABLE}, {20, WEIR_SCHEDULE_DISABLE},
                 {30, WEIR_SCHEDULE_ENABLE}, {40, WEIR_SCHEDULE_DISABLE}, {40, WEIR_SCHEDULE_END});
}

Test(schedule, window_that_begins_late_is_as_long_as_any)
{
    struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
    struct weir_schedule_run run;
    cr_assert_eq(weir_schedule_parse(&schedule, "10-20,30-40", NULL), 0);
    weir_schedule_start(&run, &schedule, 0);
    const uint64_t late_ns = 35 * WEIR_NS_PER_MS;
    cr_expect_eq(weir_schedule_next(&run, late_ns), WEIR_SCHEDULE_ENABLE);
    cr_expect_eq(weir_schedule_next(&run, late_ns), WEIR_SCHEDULE_WAIT);
    cr_expect_eq(weir_schedule_due_ns(&run), late_ns + 10 * WEIR_NS_PER_MS);
    cr_expect_eq(weir_schedule_next(&run, late_ns + 10 * WEIR_NS_PER_MS), WEIR_SCHEDULE_DISABLE);
    cr_expect_eq(weir_schedule_due_ns(&run), late_ns + 20 * WEIR_NS_PER_MS);
    weir_schedule_fini(&schedule);
}

Test(schedule, without_one_events_count_from_the_start_on)
{
    const struct weir_schedule none = WEIR_SCHEDULE_INIT;
    struct weir_schedule_run run;
    cr_expect(weir_schedule_starts_enabled(NULL));
    cr_expect(weir_schedule_starts_enabled(&none));
    weir_schedule_start(&run, NULL, 0);
    cr_expect_eq(weir_schedule_next(&run, UINT64_MAX - 1), WEIR_SCHEDULE_WAIT);
    weir_schedule_start(&run, &none, 0);
    cr_expect_eq(weir_schedule_next(&run, UINT64_MAX - 1), WEIR_SCHEDULE_WAIT);
    cr_expect_eq(weir_schedule_due_ns(&run), UINT64_MAX);
}

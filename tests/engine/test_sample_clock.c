/* Names of clocks as perf 6.1 takes them, and the system's own. */
#include "engine/events/sample_clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <time.h>

#include "base/bits.h"

Test(sample_clock, unknown_clock_is_refused_and_nothing_is_set)
{
    static const char *const refused[] = {"",   "foo", "CLOCK_", "CLOCK_CLOCK_MONO", "monotonic ",
                                          "-1", "1x",  "0x1",    "2147483648",       "99999999999999999999"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_error err = {0};
        int32_t id = 77;
        cr_expect_eq(weir_sample_clock_parse(refused[i], &id, &err), -EINVAL, "'%s'", refused[i]);
        cr_expect_eq(id, 77);
        cr_expect_neq(err.hint[0], '\0');
    }
}

Test(sample_clock, clock_that_does_not_exist_cannot_be_related)
{
    struct weir_clock_reference reference = {.clock_ns = 77};
    struct weir_error err = {0};
    cr_expect_eq(weir_sample_clock_reference(1000000, &reference, &err), -EINVAL);
    cr_expect_eq(reference.clock_ns, 77);
    cr_expect_str_eq(err.what, "cannot read clock 1000000: Invalid argument");
}

Test(sample_clock, names_have_a_prefix_or_none_in_any_case)
{
    static const struct {
        const char *text;
        int32_t want;
    } texts[] = {
        {"monotonic", CLOCK_MONOTONIC},
        {"CLOCK_MONOTONIC", CLOCK_MONOTONIC},
        {"clock_Mono", CLOCK_MONOTONIC},
        {"raw", CLOCK_MONOTONIC_RAW},
        {"MONOTONIC_RAW", CLOCK_MONOTONIC_RAW},
        {"real", CLOCK_REALTIME},
        {"realtime", CLOCK_REALTIME},
        {"boot", CLOCK_BOOTTIME},
        {"Boottime", CLOCK_BOOTTIME},
        {"tai", CLOCK_TAI},
        {"0", 0},
        {"11", 11},
        {"2147483647", INT32_MAX},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        int32_t id = -1;
        cr_expect_eq(weir_sample_clock_parse(texts[i].text, &id, NULL), 0, "%s", texts[i].text);
        cr_expect_eq(id, texts[i].want, "%s", texts[i].text);
    }
}

Test(sample_clock, clock_that_cannot_be_read_is_refused)
{
    struct weir_clock_reference reference;
    struct weir_error err = {0};
    cr_expect_eq(weir_sample_clock_reference(INT32_MAX, &reference, &err), -EINVAL);
    cr_expect_str_eq(err.what, "cannot read clock 2147483647: Invalid argument");
    cr_expect_str_eq(err.hint, "-k takes a clock that clock_gettime(2) knows, such as monotonic");
}

Test(sample_clock, reference_lies_between_two_readings)
{
    struct timespec before, after;
    struct weir_clock_reference reference;
    clock_gettime(CLOCK_MONOTONIC, &before);
    cr_assert_eq(weir_sample_clock_reference(CLOCK_MONOTONIC, &reference, NULL), 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    cr_expect_geq(reference.clock_ns, (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec);
    cr_expect_leq(reference.clock_ns, (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
    cr_expect_eq(reference.resolution_ns, 1);
    cr_expect_gt(reference.time_of_day_ns, 1600000000ull * 1000000000u);
}

/* The clock is a value: code that takes it runs on real or on invented time. */
#include "base/clock.h"

#include <criterion/criterion.h>
#include <time.h>

static uint64_t stepping_now_ns(void *ctx)
{
    uint64_t *now_ns = ctx;
    *now_ns += WEIR_NS_PER_MS;
    return *now_ns;
}

Test(clock, invented_time_comes_from_its_context)
{
    uint64_t now_ns = 41 * WEIR_NS_PER_MS;
    const struct weir_clock clock = {.now_ns = stepping_now_ns, .ctx = &now_ns};
    cr_assert_eq(weir_clock_now_ns(&clock), 42000000);
    cr_assert_eq(weir_clock_now_ns(&clock), 43000000);
}

Test(clock, real_time_lies_between_two_readings_of_clock_monotonic)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    clock_gettime(CLOCK_MONOTONIC, &after);
    cr_assert_geq(now_ns, (uint64_t)before.tv_sec * WEIR_NS_PER_S + (uint64_t)before.tv_nsec);
    cr_assert_leq(now_ns, (uint64_t)after.tv_sec * WEIR_NS_PER_S + (uint64_t)after.tv_nsec);
}

Test(clock, pause_is_as_long_as_asked_at_least)
{
    uint64_t began_ns = weir_clock_now_ns(&weir_clock_monotonic);
    weir_clock_pause_ns(3 * WEIR_NS_PER_MS / 2);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic) - began_ns, 3 * WEIR_NS_PER_MS / 2);
}

Test(clock, time_of_the_thread_lies_between_two_readings_of_its_clock)
{
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    uint64_t used_ns = weir_clock_thread_cpu_ns();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    cr_assert_geq(used_ns, (uint64_t)before.tv_sec * WEIR_NS_PER_S + (uint64_t)before.tv_nsec);
    cr_assert_leq(used_ns, (uint64_t)after.tv_sec * WEIR_NS_PER_S + (uint64_t)after.tv_nsec);
}

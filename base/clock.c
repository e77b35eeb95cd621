/* The real clocks, and a sleep. Any thread. */
#include "base/clock.h"

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic_now_ns(void *ctx)
{
    (void)ctx;
    return read_ns(CLOCK_MONOTONIC);
}

static uint64_t day_now_ns(void *ctx)
{
    (void)ctx;
    return read_ns(CLOCK_REALTIME);
}

static uint64_t suspended_now_ns(void *ctx)
{
    (void)ctx;
    uint64_t monotonic_ns = read_ns(CLOCK_MONOTONIC), boot_ns = read_ns(CLOCK_BOOTTIME);
    return boot_ns > monotonic_ns ? boot_ns - monotonic_ns : 0; /* a time namespace may shift either clock */
}

const struct weir_clock weir_clock_monotonic = {.now_ns = monotonic_now_ns};
const struct weir_clock weir_clock_day = {.now_ns = day_now_ns};
const struct weir_clock weir_clock_suspended = {.now_ns = suspended_now_ns};

uint64_t weir_clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void weir_clock_pause_ns(uint64_t ns)
{
    const struct timespec pause = weir_clock_timespec(ns);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* The real monotonic clock. Any thread. */
#include "base/clock.h"

#include <time.h>

static uint64_t monotonic_now_ns(void *ctx)
{
    (void)ctx;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec;
}

const struct weir_clock weir_clock_monotonic = {.now_ns = monotonic_now_ns};

/* A clock that stands still until the test moves it. One thread. */
#ifndef WEIR_TESTS_ENGINE_FAKE_CLOCK_H
#define WEIR_TESTS_ENGINE_FAKE_CLOCK_H

#include <stdint.h>

#include "base/clock.h"

struct fake_clock {
    uint64_t now_ns; /* set by the test */
};

static inline uint64_t fake_clock_now_ns(void *ctx)
{
    const struct fake_clock *fake = ctx;
    return fake->now_ns;
}

/* The interface to give away; valid as long as fake. */
static inline struct weir_clock fake_clock_interface(struct fake_clock *fake)
{
    return (struct weir_clock){.now_ns = fake_clock_now_ns, .ctx = fake};
}

#endif

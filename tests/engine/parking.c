/* Parking at test points; see parking.h. run(), hold() and release(): one thread; weir_test_point_reached(): any. */
#include "tests/engine/parking.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define PARK_NS      2000000L
#define HOLD_LOOK_NS 50000L
#define HOLD_LOOKS   400000u /* 20 s */

/* Of this program, which is a test: a point is reached from anywhere in the engine. */
static _Atomic(enum weir_test_point) parking_point;
static _Atomic uint64_t arrivals;
static _Atomic(enum weir_test_point) holding_point;
static _Atomic bool is_held; /* a thread is at holding_point, or has been there and not gone on yet */

static void pause_for(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};
    nanosleep(&pause, NULL);
}

#ifdef WEIR_TEST_POINTS
static const int has_points = 1;

void weir_test_point_reached(enum weir_test_point point)
{
    /* Relaxed, all of them: nothing is to be ordered by this, or it would hide the races that it is to show. */
    if (point == atomic_load_explicit(&holding_point, memory_order_relaxed)) {
        atomic_store_explicit(&is_held, true, memory_order_relaxed);
        while (point == atomic_load_explicit(&holding_point, memory_order_relaxed))
            pause_for(HOLD_LOOK_NS);
        atomic_store_explicit(&is_held, false, memory_order_relaxed);
        return;
    }
    if (point != atomic_load_explicit(&parking_point, memory_order_relaxed))
        return;
    uint64_t number = atomic_fetch_add_explicit(&arrivals, 1, memory_order_relaxed) + 1;
    if ((number & (number - 1)) != 0)
        return;
    pause_for(PARK_NS);
}
#else
static const int has_points = 0;
#endif

static int run_at(enum weir_test_point point, int (*run)(void *ctx), void *ctx)
{
    atomic_store_explicit(&arrivals, 0, memory_order_relaxed); /* no other thread runs */
    atomic_store_explicit(&parking_point, point, memory_order_relaxed);
    int failures = run(ctx);
    uint64_t came = atomic_load_explicit(&arrivals, memory_order_relaxed);
    atomic_store_explicit(&parking_point, WEIR_AT_NO_POINT, memory_order_relaxed);
    printf("parked at point %d, which was reached %llu times: %s\n", (int)point, (unsigned long long)came,
           failures > 0 ? "FAILED"
           : came == 0  ? "NEVER REACHED"
                        : "holds");
    return failures > 0 || came == 0;
}

int parking_run(const enum weir_test_point *points, size_t count, int (*run)(void *ctx), void *ctx)
{
    int failures = run(ctx) > 0;
    for (size_t i = 0; has_points && i < count; i++)
        failures += run_at(points[i], run, ctx);
    return failures;
}

static bool await_held(bool held)
{
    unsigned looks = 0;
    while (atomic_load_explicit(&is_held, memory_order_relaxed) != held && looks++ < HOLD_LOOKS)
        pause_for(HOLD_LOOK_NS);
    return atomic_load_explicit(&is_held, memory_order_relaxed) == held;
}

bool parking_hold(enum weir_test_point point)
{
    atomic_store_explicit(&holding_point, point, memory_order_relaxed);
    return await_held(true);
}

void parking_release(void)
{
    atomic_store_explicit(&holding_point, WEIR_AT_NO_POINT, memory_order_relaxed);
    await_held(false);
}

/* Growing the pool. run(): its own thread; protocol: pool_grower.h. Source: futex(2). */
#include "engine/drain/pool_grower.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/kernel/test_point.h"

enum word {
    AWAKE,
    ASLEEP, /* or about to be */
    TOLD,
};

void weir_pool_grower_init(struct weir_pool_grower *grower, struct weir_pool *pool)
{
    memset(grower, 0, sizeof(*grower));
    grower->pool = pool;
}

static void wait_until_told(struct weir_pool_grower *grower)
{
    uint32_t word = AWAKE;
    /* Relaxed, also below: the exchange at the end is the acquire of (grower-told). */
    if (atomic_compare_exchange_strong_explicit(&grower->word, &word, ASLEEP, memory_order_relaxed,
                                                memory_order_relaxed)) {
        do {
            weir_test_point(WEIR_AT_GROWER_SLEEP);
            syscall(SYS_futex, &grower->word, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
        } while (atomic_load_explicit(&grower->word, memory_order_relaxed) == ASLEEP);
    }
    /* (grower-told) */
    atomic_exchange_explicit(&grower->word, AWAKE, memory_order_acquire);
}

static void tell(struct weir_pool_grower *grower)
{
    /* (grower-told) */
    if (atomic_exchange_explicit(&grower->word, TOLD, memory_order_release) == ASLEEP)
        syscall(SYS_futex, &grower->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void weir_pool_grower_run(struct weir_pool_grower *grower)
{
    for (;;) {
        /* Relaxed: nothing hangs on it, and stop()'s tell() follows the store. */
        while (!atomic_load_explicit(&grower->stopping, memory_order_relaxed) && weir_pool_wants_growth(grower->pool)) {
            grower->error = weir_pool_grow(grower->pool);
            if (grower->error < 0)
                return;
        }
        wait_until_told(grower);
        /* (grower-told) pairs with stop(), too. */
        if (atomic_load_explicit(&grower->stopping, memory_order_relaxed))
            return;
    }
}

void weir_pool_grower_tell(struct weir_pool_grower *grower)
{
    if (weir_pool_wants_growth(grower->pool))
        tell(grower);
}

void weir_pool_grower_stop(struct weir_pool_grower *grower)
{
    /* Relaxed: (grower-told) in tell() releases it. */
    atomic_store_explicit(&grower->stopping, true, memory_order_relaxed);
    tell(grower);
}

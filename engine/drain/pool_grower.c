/* Growing the pool. run(): its own thread; protocol: pool_grower.h. Source: futex(2). */
#include "engine/drain/pool_grower.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/kernel/test_point.h"

enum word {
    ASLEEP,
    WOKEN,
};

void weir_pool_grower_init(struct weir_pool_grower *grower, struct weir_pool *pool)
{
    memset(grower, 0, sizeof(*grower));
    grower->pool = pool;
}

static void wait_until_woken(struct weir_pool_grower *grower)
{
    /* (W) */
    while (atomic_exchange_explicit(&grower->word, ASLEEP, memory_order_acquire) == ASLEEP) {
        weir_test_point(WEIR_AT_GROWER_SLEEP);
        syscall(SYS_futex, &grower->word, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
    }
}

static void wake(struct weir_pool_grower *grower)
{
    /* (W) */
    if (atomic_exchange_explicit(&grower->word, WOKEN, memory_order_release) == ASLEEP)
        syscall(SYS_futex, &grower->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void weir_pool_grower_run(struct weir_pool_grower *grower)
{
    for (;;) {
        /* Relaxed: nothing hangs on it, and stop()'s wake follows the store. */
        while (!atomic_load_explicit(&grower->stopping, memory_order_relaxed) && weir_pool_wants_growth(grower->pool)) {
            grower->error = weir_pool_grow(grower->pool);
            if (grower->error < 0)
                return;
        }
        wait_until_woken(grower);
        /* (W) pairs with stop(), too. */
        if (atomic_load_explicit(&grower->stopping, memory_order_relaxed))
            return;
    }
}

void weir_pool_grower_tell(struct weir_pool_grower *grower)
{
    if (weir_pool_wants_growth(grower->pool))
        wake(grower);
}

void weir_pool_grower_stop(struct weir_pool_grower *grower)
{
    /* Relaxed: (W) in wake() releases it. */
    atomic_store_explicit(&grower->stopping, true, memory_order_relaxed);
    wake(grower);
}

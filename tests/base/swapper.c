/* See swapper.h. */
#include "tests/base/swapper.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"

#define LASTS_NS (300 * WEIR_NS_PER_MS)

static void *swap(void *argument)
{
    struct swapper *swapper = argument;
    /* Relaxed: nothing goes with the flag. */
    while (!atomic_load_explicit(&swapper->stop, memory_order_relaxed)) {
        int fd = swapper->directory_fd;
        if (renameat2(fd, swapper->first, fd, swapper->second, RENAME_EXCHANGE) == 0)
            atomic_fetch_add_explicit(&swapper->swaps, 1, memory_order_relaxed);
    }
    return NULL;
}

void swapper_start(struct swapper *swapper, int directory_fd, const char *first, const char *second)
{
    swapper->directory_fd = directory_fd;
    swapper->first = first;
    swapper->second = second;
    atomic_init(&swapper->stop, false);
    atomic_init(&swapper->swaps, 0);
    swapper->ends_ns = weir_clock_now_ns(&weir_clock_monotonic) + LASTS_NS;
    cr_assert_eq(pthread_create(&swapper->thread, NULL, swap, swapper), 0);
}

bool swapper_is_wanted(const struct swapper *swapper)
{
    return weir_clock_now_ns(&weir_clock_monotonic) < swapper->ends_ns;
}

unsigned long swapper_stop(struct swapper *swapper)
{
    atomic_store_explicit(&swapper->stop, true, memory_order_relaxed);
    pthread_join(swapper->thread, NULL);
    return atomic_load_explicit(&swapper->swaps, memory_order_relaxed);
}

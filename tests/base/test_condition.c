/* Timed waits end by the monotonic clock. */
#include "base/condition.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/clock.h"

#define WAIT_NS (20 * WEIR_NS_PER_MS)

Test(condition, wait_that_nobody_ends_lasts_until_its_time, .timeout = 30)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    weir_condition_init(&condition);
    pthread_mutex_lock(&lock);
    uint64_t until_ns = weir_clock_now_ns(&weir_clock_monotonic) + WAIT_NS;
    int result;
    while ((result = weir_condition_await(&condition, &lock, until_ns)) == 0)
        continue; /* a wait may end without a reason */
    cr_assert_eq(result, ETIMEDOUT);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic), until_ns);
    cr_assert_eq(weir_condition_await(&condition, &lock, 0), ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&condition);
}

#include "base/condition.h"

#include "base/clock.h"

void weir_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int weir_condition_await(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
    const struct timespec until = weir_clock_timespec(until_ns);
    return pthread_cond_timedwait(condition, lock, &until);
}

/* Conditions (pthread_cond_init(3)) whose timed waits go by weir_clock_monotonic. Any thread. */
#ifndef WEIR_BASE_CONDITION_H
#define WEIR_BASE_CONDITION_H

#include <pthread.h>
#include <stdint.h>

/* Initializes a condition; pthread_cond_destroy(3) releases it. */
void weir_condition_init(pthread_cond_t *condition);

/* Waits until another thread signals the condition, or weir_clock_monotonic shows until_ns. Results as
 * pthread_cond_timedwait(3): 0 or ETIMEDOUT. */
int weir_condition_await(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

#endif

/*
 * Timers that a thread waits for among other descriptors (poll_set.h): timerfd_create(2) by the monotonic clock.
 *
 * A timer is its descriptor, close-on-exec and non-blocking, owned by the caller and closed by close(2). One thread.
 * Setting a timer cannot fail: the descriptor is a timer's, and no time is negative.
 */
#ifndef WEIR_ENGINE_KERNEL_TIMER_H
#define WEIR_ENGINE_KERNEL_TIMER_H

#include <stdint.h>

/* Makes a timer that is not set. Its descriptor, or -errno. */
int weir_timer_open(void);

/* Sets the timer to expire once: after so many nanoseconds, or at a time of the monotonic clock. 0: never. */
void weir_timer_set_after(int fd, uint64_t after_ns);
void weir_timer_set_at(int fd, uint64_t at_ns);

/* Sets the timer to expire again and again, for the first time after one period. */
void weir_timer_repeat(int fd, uint64_t period_ns);

/* Takes the expirations or the count, so that the descriptor of a timer or an eventfd is not readable any more. Does
 * not block. */
void weir_timer_drain(int fd);

#endif

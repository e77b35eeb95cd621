/* Clocks behind a function pointer, so that tests can use simulated time. */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define WEIR_NS_PER_US 1000ull
#define WEIR_NS_PER_MS 1000000ull
#define WEIR_NS_PER_S  1000000000ull

struct weir_clock {
    uint64_t (*now_ns)(void *ctx); /* any thread; does not fail */
    void *ctx;                     /* borrowed */
};

/* CLOCK_MONOTONIC, see clock_gettime(2). The vDSO reads it without a system call. It never goes back. */
extern const struct weir_clock weir_clock_monotonic;

/* CLOCK_REALTIME: nanoseconds since 1970. Anybody with the privilege may set it to any time. So it serves for names
 * and for times that people read, never for durations or order. */
extern const struct weir_clock weir_clock_day;

/* The time that the machine has been suspended since boot: CLOCK_BOOTTIME less CLOCK_MONOTONIC. The two are read one
 * after the other, so the time may be slightly too long. */
extern const struct weir_clock weir_clock_suspended;

static inline uint64_t weir_clock_now_ns(const struct weir_clock *clock)
{
    return clock->now_ns(clock->ctx);
}

/* Converts nanoseconds to the form that system calls take. */
static inline struct timespec weir_clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / WEIR_NS_PER_S), .tv_nsec = (long)(ns % WEIR_NS_PER_S)};
}

/* Returns the CPU time of the calling thread so far; CLOCK_THREAD_CPUTIME_ID, see clock_gettime(2), a system call. */
uint64_t weir_clock_thread_cpu_ns(void);

/* Sleeps for ns, or until a signal is handled. Any thread; for waits that no other thread can end. */
void weir_clock_pause_ns(uint64_t ns);

#endif

/* Clocks behind a function pointer, so that tests run on a time of their own. */
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

/* CLOCK_MONOTONIC, see clock_gettime(2); served by the vDSO, no system call. It never goes back. */
extern const struct weir_clock weir_clock_monotonic;

/* CLOCK_REALTIME: nanoseconds since 1970, which may be set to anything at any time. For names and for what people
 * read; never for durations or order. */
extern const struct weir_clock weir_clock_day;

static inline uint64_t weir_clock_now_ns(const struct weir_clock *clock)
{
    return clock->now_ns(clock->ctx);
}

/* The same time as the system calls take it. */
static inline struct timespec weir_clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / WEIR_NS_PER_S), .tv_nsec = (long)(ns % WEIR_NS_PER_S)};
}

/* How long the machine has been suspended in all, since it booted: CLOCK_BOOTTIME less CLOCK_MONOTONIC, which are read
 * one after the other, so that it may be some time too long. */
uint64_t weir_clock_suspended_ns(void);

/* CPU time of the calling thread so far; CLOCK_THREAD_CPUTIME_ID, see clock_gettime(2), a system call. */
uint64_t weir_clock_thread_cpu_ns(void);

/* Sleeps for so long, or until a signal is handled. Any thread; for where nobody could wake it. */
void weir_clock_pause_ns(uint64_t ns);

#endif

/* Loads that a recorder is measured under: one thread per CPU, pinned, all doing the same. */
#ifndef WEIR_PERF_TESTS_STORM_LOAD_H
#define WEIR_PERF_TESTS_STORM_LOAD_H

#include <stdint.h>

enum storm_load_kind {
    STORM_LOAD_SYSCALLS, /* getppid(2) in a loop */
    STORM_LOAD_SPIN,     /* arithmetic in user space */
};

struct storm_load {
    enum storm_load_kind kind;
    unsigned threads; /* thread n runs on the n-th CPU of the affinity mask */
    uint64_t calls;   /* per thread: system calls, or rounds of 1000 steps of arithmetic */
};

struct storm_load_result {
    double seconds;    /* from the common start to the last thread's end */
    uint64_t checksum; /* of the work done: equal for equal loads */
};

/* Runs the load in this process and waits for it. 0 or -errno of pthread_create(3). */
int storm_load_run(const struct storm_load *load, struct storm_load_result *result);

#endif

/* Loads that a recorder is measured under: one thread per CPU, pinned, all doing the same. */
#ifndef WEIR_ENGINE_BENCH_STORM_LOAD_H
#define WEIR_ENGINE_BENCH_STORM_LOAD_H

#include <stdint.h>

enum weir_storm_load_kind {
    WEIR_STORM_LOAD_SYSCALLS, /* getppid(2) in a loop */
    WEIR_STORM_LOAD_SPIN,     /* arithmetic in user space */
};

struct weir_storm_load {
    enum weir_storm_load_kind kind;
    unsigned threads; /* thread n runs on the n-th CPU of the affinity mask */
    uint64_t calls;   /* per thread: system calls, or rounds of 1000 steps of arithmetic */
};

struct weir_storm_load_result {
    double seconds;    /* from the common start to the last thread's end */
    uint64_t checksum; /* of the work done: equal for equal loads */
};

/* Runs the load in this process and waits for it. 0 or -errno of pthread_create(3). */
int weir_storm_load_run(const struct weir_storm_load *load, struct weir_storm_load_result *result);

#endif

/*
 * The simulated kernel with refusals: the test decides for each open, and counts what is open, redirected, filtered,
 * mapped. One thread.
 */
#ifndef WEIR_TESTS_ENGINE_FAULTY_KERNEL_H
#define WEIR_TESTS_ENGINE_FAULTY_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/kernel/kernel.h"
#include "engine/sim/sim_kernel.h"

#define FAULTY_LOG_MAX 64

struct faulty_open { /* one attempt */
    const struct perf_event_attr *attr;
    pid_t pid;
    int cpu;
    int group_fd;
    unsigned long flags;
    unsigned number; /* from 0, over all attempts */
};

struct faulty_kernel {
    struct weir_kernel kernel; /* to give away; valid as long as the struct stays where it is */
    struct weir_sim_kernel *sim;
    struct weir_kernel inner;

    int (*refuse)(const struct faulty_open *attempt); /* 0, or -errno; NULL: never */
    unsigned fail_id_at; /* the id of that number cannot be read (-EIO), from 1; 0: all can */
    unsigned fail_redirect_at;
    int filter_error;

    unsigned opens; /* attempts */
    unsigned opens_failed;
    unsigned open_now; /* descriptors */
    unsigned ids_read;
    unsigned maps_now;
    struct faulty_redirect {
        int fd, ring_fd;
    } redirects[FAULTY_LOG_MAX];
    unsigned redirect_count;
    struct faulty_filter {
        int fd;
        char text[256];
    } filters[FAULTY_LOG_MAX];
    unsigned filter_count;
    unsigned enables, disables;
};

void faulty_kernel_init(struct faulty_kernel *faulty);
void faulty_kernel_fini(struct faulty_kernel *faulty);

#endif

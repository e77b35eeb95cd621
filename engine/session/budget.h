/*
 * What a recording will take of memory and descriptors, from its sizes alone: computed and told before anything is
 * opened. Pure; any thread.
 */
#ifndef WEIR_ENGINE_SESSION_BUDGET_H
#define WEIR_ENGINE_SESSION_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/drain/compressor.h"
#include "engine/kernel/kernel_limits.h"
#include "topology/memory_limit.h"

struct weir_budget_input {
    unsigned places; /* with two rings each: CPUs, or tasks */
    unsigned readers;
    unsigned events;              /* with the sideband event */
    unsigned tasks;               /* at each place, at least 1 */
    uint64_t ring_bytes;          /* data area of each data ring */
    uint64_t sideband_ring_bytes; /* the same of each sideband ring */
    uint64_t aux_area_bytes;      /* of the AUX area beside each data ring; 0: there are none */
    uint64_t pool_bytes;          /* as asked for */
    bool pool_grows;
    bool sideband; /* there is a thread that the side records are copied for */
    uint64_t page_bytes;
    unsigned compression_threads; /* 0: no compression */
    struct weir_compressor_memory compression;
};

struct weir_budget {
    uint64_t ring_bytes;        /* all rings with their control pages, and AUX areas; the kernel's memory */
    uint64_t pool_bytes;        /* whole chunks, two for each reader at least */
    uint64_t pool_ready_bytes;  /* of these, there from the start */
    uint64_t side_bytes;        /* copies of side records on their way to the sideband thread, at most */
    uint64_t table_bytes;       /* of descriptors and ids */
    uint64_t compression_bytes; /* of the compressing threads, and what they have made and is on its way */
    uint64_t stack_bytes;       /* of all threads, reserved: a few pages of each are touched */
    uint64_t total_bytes;       /* of all of these */
    uint64_t least_bytes;       /* what weir has touched when recording begins, without rings and page cache */
};

/* Descriptors for so many events (with the sideband event) of so many tasks (at least 1) at so many places, drained by
 * so many readers: with what weir needs besides. */
uint64_t weir_budget_fds(unsigned events, unsigned places, unsigned tasks, unsigned readers);

void weir_budget_compute(struct weir_budget *budget, const struct weir_budget_input *input);

/*
 * Whether what is touched at the start fits into the memory cgroup. What is not refused may still be too much together
 * with the workload, which is in the same group. 0, or -ENOMEM with err.
 */
int weir_budget_check(const struct weir_budget *budget, const struct weir_memory_limit *limit, struct weir_error *err);

/* A round limit for a memory cgroup that all of it fits into. */
uint64_t weir_budget_enough_bytes(const struct weir_budget *budget);

/* Verbose notices of memory. */
void weir_budget_tell(const struct weir_budget *budget, const struct weir_budget_input *input,
                      const struct weir_notice_sink *notices);

/* A verbose notice of so many descriptors, or a warning when the hard limit is too low: then what to do. limits: before
 * they were raised. */
void weir_budget_tell_fds(uint64_t fds, const struct weir_kernel_limits *limits,
                          const struct weir_notice_sink *notices);

#endif

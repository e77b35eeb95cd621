/*
 * Computes from the sizes of a recording how much memory and how many descriptors the recording needs. weir tells the
 * user before it opens anything. Pure; any thread.
 */
#ifndef WEIR_ENGINE_PLAN_BUDGET_H
#define WEIR_ENGINE_PLAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/drain/chunk_stage.h"
#include "engine/kernel/kernel_limits.h"
#include "topology/memory_limit.h"

struct weir_budget_input {
    unsigned places;           /* CPUs, or tasks with --per-thread; each has two rings */
    unsigned side_only_places; /* further ones; each has a sideband ring only */
    unsigned readers;
    uint64_t descriptors;          /* of events */
    uint64_t ring_bytes;           /* data area of each data ring */
    uint64_t sideband_ring_bytes;  /* data area of each sideband ring */
    uint64_t side_only_ring_bytes; /* the same of further places */
    uint64_t aux_area_bytes;       /* of the AUX area beside each data ring; 0: no AUX areas */
    uint64_t pool_bytes;           /* as asked for */
    bool pool_grows;
    bool sideband; /* the sideband thread runs and gets copies of side records */
    uint64_t page_bytes;
    unsigned stage_threads; /* 0: no stage */
    struct weir_chunk_stage_memory stage;
};

struct weir_budget {
    uint64_t ring_bytes;       /* all rings with their control pages, and AUX areas; the kernel's memory */
    uint64_t pool_bytes;       /* whole chunks, two for each reader at least */
    uint64_t pool_ready_bytes; /* the part of pool_bytes that weir faults in at the start */
    uint64_t side_bytes;       /* copies of side records on their way to the sideband thread, at most */
    uint64_t table_bytes;      /* tables of descriptors and ids */
    uint64_t stage_bytes;      /* memory of the stage in front of the writer, with its output on its way to the file */
    uint64_t stack_bytes; /* reserved for the stacks of all threads; each thread touches a few pages of its stack */
    uint64_t total_bytes; /* sum of rings, pool, side records, tables, stage and stacks */
    uint64_t least_bytes; /* memory that weir has touched when recording begins, without rings and page cache */
};

/* Returns the number of descriptors that weir needs: those of events, and for all else. */
uint64_t weir_budget_fds(uint64_t descriptors, unsigned readers);

void weir_budget_compute(struct weir_budget *budget, const struct weir_budget_input *input);

/*
 * Checks that least_bytes fit into the limit of the memory cgroup. A recording that passes may still exceed the limit
 * together with the workload, which runs in the same cgroup. 0, or -ENOMEM with err.
 */
int weir_budget_check(const struct weir_budget *budget, const struct weir_memory_limit *limit, struct weir_error *err);

/* Returns a limit for a memory cgroup that holds total_bytes: a power of two. */
uint64_t weir_budget_enough_bytes(const struct weir_budget *budget);

/* Sends verbose notices about memory. */
void weir_budget_tell(const struct weir_budget *budget, const struct weir_budget_input *input,
                      const struct weir_notice_sink *notices);

/* Sends a verbose notice of the number of descriptors. If the hard limit is lower, sends a warning with a remedy
 * instead. limits: as they were before weir raised them. */
void weir_budget_tell_fds(uint64_t fds, const struct weir_kernel_limits *limits,
                          const struct weir_notice_sink *notices);

#endif

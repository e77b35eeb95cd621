/*
 * The records of a simulated kernel, as bytes: samples, COMM, LOST and CALLCHAIN_DEFERRED. Of the fields that an attr
 * can ask for, they have those that weir ever asks for. Pure; any thread. Source: perf_event_open(2).
 */
#ifndef WEIR_ENGINE_SIM_SIM_RECORD_H
#define WEIR_ENGINE_SIM_SIM_RECORD_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_SIM_CHAIN_MAX             127u   /* kernel.perf_event_max_stack at boot */
#define WEIR_SIM_RECORD_MAX_BYTES      65528u /* of any record */
#define WEIR_SIM_SIDE_RECORD_MAX_BYTES 128u   /* of LOST and COMM, with the longest trailer */

/* The event that a record comes from. */
struct weir_sim_origin {
    struct perf_event_attr attr;
    uint64_t id;
    int cpu;
};

struct weir_sim_sample {
    uint64_t time_ns;
    uint64_t ip;
    uint32_t pid, tid;
    const void *raw; /* used with PERF_SAMPLE_RAW */
    uint32_t raw_bytes;
    const uint64_t *chain; /* used with PERF_SAMPLE_CALLCHAIN */
    unsigned chain_count;  /* at most WEIR_SIM_CHAIN_MAX */
    const uint64_t *regs;  /* by number, used with PERF_SAMPLE_REGS_USER; NULL: each holds its own number */
    const void *stack;     /* used with PERF_SAMPLE_STACK_USER: attr.sample_stack_user bytes, below 64 KiB */
};

struct weir_sim_user_part { /* of a deferred call chain */
    uint64_t time_ns, cookie;
    uint32_t tid;
    const uint64_t *frames;
    unsigned frame_count; /* at most WEIR_SIM_CHAIN_MAX */
};

#define WEIR_SIM_USER_PART_MAX_BYTES (WEIR_SIM_CHAIN_MAX * 8 + WEIR_SIM_SIDE_RECORD_MAX_BYTES)

/* Writes a sample into record, which has room for WEIR_SIM_RECORD_MAX_BYTES, and returns its size, a multiple of 8. */
size_t weir_sim_record_sample(const struct weir_sim_origin *origin, const struct weir_sim_sample *sample,
                              uint8_t *record);

/* Writes a CALLCHAIN_DEFERRED record (Linux 6.19) with a sample_id trailer into record, which has room for
 * WEIR_SIM_USER_PART_MAX_BYTES, and returns its size. */
size_t weir_sim_record_user_part(const struct weir_sim_origin *origin, const struct weir_sim_user_part *part,
                                 uint8_t *record);

/* Write a COMM or LOST record, with a sample_id trailer if the attr asks for it, and return its size. record has room
 * for WEIR_SIM_SIDE_RECORD_MAX_BYTES. */
size_t weir_sim_record_comm(const struct weir_sim_origin *origin, uint32_t pid, const char *comm, uint64_t time_ns,
                            uint8_t *record);
size_t weir_sim_record_lost(const struct weir_sim_origin *origin, uint64_t lost, uint64_t time_ns, uint8_t *record);

#endif

/*
 * A recording from simulated rings: the real readers, pool, writer and output, with a kernel in memory
 * (engine/sim/sim_kernel.h). Its producer threads write records into rings of the real layout and memory order. Needs
 * no privileges. `weir bench drain` runs it, and a first look at weir where the kernel forbids perf events.
 */
#ifndef WEIR_ENGINE_SIM_SIMULATE_H
#define WEIR_ENGINE_SIM_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/histogram.h"
#include "base/notice.h"
#include "engine/drain/copy_speed.h"
#include "engine/plan/record_options.h"
#include "engine/plan/record_result.h"
#include "engine/sim/sim_producer.h"

#define WEIR_SIMULATE_CPUS_MAX 1024u

struct weir_simulate_options {
    struct weir_sim_load load; /* 1..1024 CPUs, each with a data and a sideband ring; payloads of 8..60000 bytes */
    unsigned nodes;            /* NUMA nodes that the CPUs are spread over evenly; divides their number */
    uint64_t idle_ns;          /* before anything is produced; counted apart */
    uint64_t stall_ns;         /* the disk stands still for so long, once, WEIR_SIMULATE_WARM_UP_NS after the start */
    /* Of these ring_bytes (0: 512 KiB), buffer_bytes, shed, threads_spec (over a synthetic topology of the CPUs and
     * nodes), output_path (a file, or /dev/null), notices, and retained_bytes with retained_span_ns: then snapshots are
     * taken at moments that follow from load.seed, and one at the end. */
    struct weir_record_options record;
};

#define WEIR_SIMULATE_WARM_UP_NS (200 * WEIR_NS_PER_MS)

/* Results for the rings of one NUMA node's CPUs. */
struct weir_simulate_node {
    int node;
    unsigned cpus;
    unsigned readers;          /* readers that run on this node */
    uint64_t bytes;            /* drained from the rings of these CPUs */
    uint64_t samples;          /* in the file */
    uint64_t lost;             /* samples */
    uint64_t wakeups;          /* of these readers */
    uint64_t crossed_bytes;    /* of bytes: copied by readers of other nodes, or by this node's readers into memory of
                                  other nodes */
    double reader_cpu_seconds; /* of these readers */
};

struct weir_simulate_result {
    struct weir_record_result record; /* as of a recording; record.samples, merged_samples and lost_samples
                                       * are produced in all */
    uint64_t produced;                /* samples that the simulated kernel was asked to write */
    double open_seconds;              /* wall time until all is open, mapped and running */
    double idle_cpu_seconds;          /* user + system time of all threads in idle_ns */
    uint64_t idle_switches;           /* times that any thread went to sleep in idle_ns */
    double produce_seconds;           /* wall time from the first record to the last */
    double seconds;                   /* wall time from the first record to the closed file */
    uint64_t drained_bytes;           /* out of the rings */
    double recorder_cpu_seconds;      /* user + system time of all threads but producers */
    double reader_cpu_seconds;        /* part of recorder_cpu_seconds: the readers */
    double stage_cpu_seconds;         /* part of it: the threads in front of the writer */
    double writer_cpu_seconds;        /* part of recorder_cpu_seconds: the writer */
    struct weir_copy_speed copy;      /* of one core's memcpy(3), measured before and after the run */
    struct weir_histogram latency_us; /* of chunks, from the hand-over by the reader to the end of the write */
    uint64_t direct_bytes;            /* written with O_DIRECT */
    struct weir_simulate_node *nodes; /* owned; by number */
    unsigned node_count;
};

/* Runs; blocks until all samples are produced, drained and written. 0 or -errno with err. Release result with
 * weir_simulate_result_fini() in both cases. */
int weir_simulate_run(const struct weir_simulate_options *options, struct weir_simulate_result *result,
                      struct weir_error *err);
void weir_simulate_result_fini(struct weir_simulate_result *result);

/* Returns the longest stall, in seconds, that the pool absorbs at the rate of that run (pool = rate x stall).
 * with_rings adds the rings of all CPUs to the pool. 0 if nothing was drained. */
double weir_simulate_pool_seconds(const struct weir_simulate_result *result, bool with_rings);

#endif

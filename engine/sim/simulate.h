/*
 * The same pipeline on simulated rings: the real readers, pool, writer and output, with an in-memory kernel
 * (engine/sim/sim_kernel.h) whose producer threads write records into rings of the real layout and memory order. Needs
 * no privileges. What `weir bench drain` runs, and what quickstart shows where the kernel forbids perf events.
 */
#ifndef WEIR_ENGINE_SIM_SIMULATE_H
#define WEIR_ENGINE_SIM_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/histogram.h"
#include "base/notice.h"
#include "engine/drain/copy_speed.h"
#include "engine/session/record.h"
#include "engine/sim/sim_producer.h"

#define WEIR_SIMULATE_CPUS_MAX 1024u

struct weir_simulate_options {
    struct weir_sim_load load; /* 1..1024 CPUs, each with a data and a sideband ring; payloads of 8..60000 bytes */
    unsigned nodes;            /* NUMA nodes that the CPUs are spread over evenly; divides their number */
    uint64_t ring_bytes;       /* power of two; 0: 512 KiB */
    uint64_t buffer_bytes;     /* chunk pool; 0: default */
    enum weir_shed shed;
    const char *threads_spec;  /* over a synthetic topology of the CPUs and nodes; NULL: "cpu" */
    const char *output_path;   /* file, or /dev/null */
    uint64_t idle_ns;          /* before anything is produced; counted apart */
    uint64_t stall_ns;         /* the disk stands still for so long, once, WEIR_SIMULATE_WARM_UP_NS after the start */
    uint64_t retained_bytes;   /* 0: samples go to the file; else they stay in so much memory, with snapshots at moments
                                * that follow from load.seed, and one at the end */
    uint64_t retained_span_ns; /* with it */
    const struct weir_notice_sink *notices;
};

#define WEIR_SIMULATE_WARM_UP_NS (200 * WEIR_NS_PER_MS)

/* What became of the rings of the CPUs of one NUMA node. */
struct weir_simulate_node {
    int node;
    unsigned cpus;
    unsigned readers;          /* that run here */
    uint64_t bytes;            /* drained from the rings of these CPUs */
    uint64_t samples;          /* in the file */
    uint64_t lost;             /* samples */
    uint64_t wakeups;          /* of these readers */
    uint64_t crossed_bytes;    /* of bytes: copied by readers of other nodes, or by these into memory of other nodes */
    double reader_cpu_seconds; /* of these readers */
};

struct weir_simulate_result {
    struct weir_record_result record; /* as of a recording; produced = record.samples + record.lost_samples */
    uint64_t produced;                /* samples that the simulated kernel was asked to write */
    double open_seconds;              /* wall time until all is open, mapped and running */
    double idle_cpu_seconds;          /* user + system time of all threads in idle_ns */
    uint64_t idle_switches;           /* times that a thread went to sleep in idle_ns: all of them, again and again */
    double produce_seconds;           /* wall time from the first record to the last */
    double seconds;                   /* wall time from the first record to the closed file */
    uint64_t drained_bytes;           /* out of the rings */
    double recorder_cpu_seconds;      /* user + system time of all that is not producers: readers, writer ... */
    double reader_cpu_seconds;        /* ... of these, the readers */
    double writer_cpu_seconds;        /* ... and the writer */
    struct weir_copy_speed copy;      /* of one core's memcpy(3), before the run and after it */
    struct weir_histogram latency_ns; /* of chunks, from the reader's hands to the file */
    uint64_t direct_bytes;            /* written with O_DIRECT */
    struct weir_simulate_node *nodes; /* owned; by number */
    unsigned node_count;
};

/* Blocks until all is produced, drained and written. 0 or -errno with err. result: weir_simulate_result_fini(). */
int weir_simulate_run(const struct weir_simulate_options *options, struct weir_simulate_result *result,
                      struct weir_error *err);
void weir_simulate_result_fini(struct weir_simulate_result *result);

/* The longest stall that the pool holds by the rule pool >= rate x stall, in seconds, at the rate of that run, and the
 * same with the rings of all CPUs added. 0 where nothing was drained. */
double weir_simulate_pool_seconds(const struct weir_simulate_result *result, bool with_rings);

#endif

/*
 * The same pipeline on simulated rings: the real readers, pool, writer and output, with an in-memory kernel
 * (engine/sim_kernel.h) whose producer threads write records into rings of the real layout and memory order. Needs no
 * privileges. What `weir bench drain` runs, and what quickstart shows where the kernel forbids perf events.
 */
#ifndef WEIR_ENGINE_SIMULATE_H
#define WEIR_ENGINE_SIMULATE_H

#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/record.h"

struct weir_simulate_options {
    unsigned cpus;            /* simulated CPUs, each with a data and a sideband ring, 1..1024 */
    uint64_t records_per_cpu; /* samples that each CPU produces */
    uint64_t rate_per_cpu_hz; /* samples per second and CPU; 0: flat out */
    uint32_t payload_bytes;   /* raw payload per sample, 8..60000 */
    uint64_t seed;            /* record sizes and times follow from it */
    uint64_t ring_bytes;      /* power of two; 0: 512 KiB */
    uint64_t buffer_bytes;    /* chunk pool; 0: default */
    const char *threads_spec; /* over a synthetic topology of `cpus` CPUs; NULL: "cpu" */
    const char *output_path;  /* file, or /dev/null */
    const struct weir_notice_sink *notices;
};

struct weir_simulate_result {
    struct weir_record_result record; /* as of a recording; produced = record.samples + record.lost_samples */
    uint64_t produced;                /* samples that the simulated kernel was asked to write */
    double seconds;                   /* wall time from the first record to the closed file */
    double recorder_cpu_seconds;      /* user + system time of the recorder's threads, producers left out */
};

/* Blocks until all is produced, drained and written. 0 or -errno with err. result: weir_simulate_result_fini(). */
int weir_simulate_run(const struct weir_simulate_options *options, struct weir_simulate_result *result,
                      struct weir_error *err);
void weir_simulate_result_fini(struct weir_simulate_result *result);

#endif

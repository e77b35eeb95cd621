/*
 * The pieces of the simulated recording: what test_pipeline_sim.c drives, and pipeline_sim_check.c looks at when it has
 * ended.
 */
#ifndef WEIR_TESTS_ENGINE_PIPELINE_SIM_H
#define WEIR_TESTS_ENGINE_PIPELINE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/files/ledger.h"
#include "tests/engine/sim_disks.h"
#include "tests/engine/sim_faults.h"
#include "tests/engine/sim_rig.h"
#include "tests/engine/stream_walk.h"
#include "tests/io/fake_io.h"

#define SIM_CPUS_MAX        5u
#define SIM_EVENTS_MAX      3u /* with sideband */
#define SIM_LATE_MAX        2u
#define SIM_STREAMS_MAX     ((SIM_CPUS_MAX + SIM_LATE_MAX) * SIM_EVENTS_MAX)
#define SIM_CHECKPOINTS_MAX 256u
#define SIM_OUTPUTS_MAX     4u

enum action {
    ACT_PRODUCE,
    ACT_READ,
    ACT_ROUNDS,
    ACT_WRITE,
    ACT_STALL,
    ACT_SLEEP,
    ACT_CPU, /* one goes or comes */
    ACT_SNAPSHOT,
    ACT_SWITCH,
    ACT_MEMORY, /* more of it: the pool grows, or gets the spare of a snapshot */
    ACT_COUNT,
};

struct sim_output {
    struct fake_io *disk;       /* owned */
    struct weir_output *output; /* owned */
    uint64_t unwritten;         /* samples that failed writes took from it, and side records; counted when it ends */
    uint64_t checkpoints[SIM_CHECKPOINTS_MAX];
    size_t checkpoint_count;
};

struct sim {
    uint64_t seed;
    struct sim_random random;
    struct sim_random fault_random; /* of its own: what happens without faults stays the same */
    struct sim_memory memory;
    struct sim_clock fake_clock;
    struct weir_clock clock;
    bool pwritev_queue;
    struct sim_rig rig;
    struct stream streams[SIM_STREAMS_MAX]; /* [cpu][event] */
    struct {                                /* of the event that is a stream's now */
        uint64_t lost;
        unsigned lossy; /* ended ones that had lost something */
    } lives[SIM_STREAMS_MAX];
    bool offline[SIM_CPUS_MAX + SIM_LATE_MAX], was_there[SIM_CPUS_MAX + SIM_LATE_MAX];
    struct stream *newest[SIM_CPUS_MAX + SIM_LATE_MAX]; /* whose sample was the last to land there; NULL: none has */
    uint64_t cpu_changes, growths, cpus_refused, outputs_refused;
    unsigned event_count;
    uint64_t weights[ACT_COUNT];
    uint64_t synthesized;
    struct sim_output outputs[SIM_OUTPUTS_MAX];
    unsigned output_count;
    bool cutting;  /* the last output waits for its cut */
    bool changing; /* order is with the writer, or its outcome was not looked at yet */
    bool opening;  /* the new output does not have its beginning yet */
    struct weir_writer_rotation order;
    struct weir_told_losses told;
    struct weir_buf losses;
    bool untold_then; /* there was no memory to tell an output of its losses: the next one tells of them */
    bool untold;      /* nor at the end */
    bool growing;     /* the pool is not as large as it may get, and memory has not failed it yet */
    bool stalled;
    bool retains, overwrites;
    unsigned lonely;   /* for so many acts in the mean it is one CPU that produces, then another; 0: in turn */
    unsigned favorite; /* which */
    bool lags; /* records have the time of some moment before they are published, as when they are interrupted */
    bool ends_with_snapshot;
    struct weir_record_result result;
};

struct totals { /* over all seeds: to see that everything has happened */
    uint64_t shed, trimmed, produced, lost_ring_full, lost_write_failed, rounds, checkpoints, starved, failed_disks,
        padding_bytes, switches, evicted, snapshots, overwritten_bytes, compressed_bytes, raw_bytes, cpu_changes,
        memory_failed, set_ups_refused, times[SIM_TIME_KINDS], growths, cpus_refused, outputs_refused, untold, returns,
        marks, marks_within, turned_down;
};

/* Says what is wrong, with the seed. False. */
bool sim_fail(const struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

size_t sim_stream_count(const struct sim *sim);

/* An output has ended: what was for it and is not in it, by the writer's account. */
void sim_count_unwritten(struct sim *sim, struct sim_output *output, const struct weir_writer_account *account);

/* Whether everything holds that must; adds to totals what has happened. After the end: the writer is idle, the ledger
 * settled. Finishes the outputs. */
bool sim_check(struct sim *sim, struct totals *totals);

#endif

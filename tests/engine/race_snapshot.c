/*
 * Snapshots of what is kept in memory, taken again and again while producers write without a pause; kernel and readers
 * on threads of their own, the main thread is coordinator and writer. Of every CPU a snapshot holds one piece without
 * gaps, none of which an earlier one has held. It is the right piece:
 *
 *     retained    (-M) in order; what had been published when the snapshot was asked for is in it, or older than all
 *                 that is. Chunks are evicted and handed over by the readers meanwhile.
 *     overwritten (--overwrite) newest first, and begins with exactly the last record that was published before the
 *                 pause, on all CPUs: one moment. Records are whole: none was written to while it was read.
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/engine/parking.h"
#include "tests/engine/sim_rig.h"

#define CPUS          2u
#define SNAPSHOTS     150u
#define RING_BYTES    (64u << 10)
#define PAYLOAD_BYTES 192u
#define LIMIT_NS      (60 * WEIR_NS_PER_S)

struct producer {
    struct sim_rig *rig; /* borrowed */
    unsigned cpu;
    _Atomic bool *stop;
    _Atomic bool inside;        /* it may be writing a record */
    _Atomic uint64_t published; /* numbered from 0 by their ip */
    pthread_t thread;
};

struct race {
    struct sim_rig rig;
    struct producer producers[CPUS];
    pthread_t readers[CPUS];
    _Atomic bool stop;
    bool overwrites;
    uint64_t now_ns;
    uint64_t floor[CPUS];             /* a snapshot holds nothing below: seen in one before */
    uint64_t asked[CPUS];             /* published when the snapshot was asked for, or all before the pause */
    uint64_t first[CPUS], last[CPUS]; /* of this snapshot: UINT64_MAX: nothing yet */
    uint64_t snapshots, samples, gaps, torn, doubled, late;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    uint8_t payload[PAYLOAD_BYTES];
    uint64_t n = 0;
    while (!atomic_load_explicit(producer->stop, memory_order_relaxed)) {
        memset(payload, (int)(n % 251), sizeof(payload));
        struct weir_sim_sample sample = {
            .time_ns = n + 1,
            .ip = n,
            .raw = payload,
            .raw_bytes = 4 + 8 * (uint32_t)(n * 13 % (PAYLOAD_BYTES / 8)),
        };
        /* Sequentially consistent, as the pause that looks for it: it sees us inside, or we see the pause. */
        atomic_store_explicit(&producer->inside, true, memory_order_seq_cst);
        bool landed = weir_sim_kernel_sample(producer->rig->sim, sim_rig_fd(producer->rig, 0, producer->cpu), &sample);
        if (landed)
            atomic_store_explicit(&producer->published, ++n, memory_order_release);
        atomic_store_explicit(&producer->inside, false, memory_order_seq_cst);
        if (!landed || n % 4096 == 0)
            sched_yield();
    }
    return NULL;
}

static void *read_rings(void *argument)
{
    weir_reader_run(argument);
    return NULL;
}

static void note_published(struct race *race)
{
    for (unsigned i = 0; i < CPUS; i++)
        race->asked[i] = atomic_load_explicit(&race->producers[i].published, memory_order_acquire);
}

/* As session_snapshot.c, with the end of each record in place of a time that is long for one. */
static void pause_rings(void *ctx, bool paused)
{
    struct race *race = ctx;
    weir_event_set_pause(&race->rig.set, WEIR_PAUSE_SNAPSHOT, paused);
    for (unsigned i = 0; paused && i < CPUS; i++) {
        while (atomic_load_explicit(&race->producers[i].inside, memory_order_seq_cst))
            sched_yield();
    }
    if (paused)
        note_published(race);
}

/* ---- the writer's part ---- */

static void look_at_sample(struct race *race, const uint8_t *record, uint32_t size)
{
    uint64_t fields[2]; /* id and ip */
    memcpy(fields, record + sizeof(struct perf_event_header), sizeof(fields));
    unsigned cpu = weir_id_map_find(&race->rig.set.id_map, fields[0])->place;
    uint64_t n = fields[1], *first = &race->first[cpu], *last = &race->last[cpu];
    /* The last byte of the payload, which the kernel pads to a multiple of 8 with its size. */
    race->torn += record[size - 1] != n % 251;
    race->doubled += n < race->floor[cpu];
    if (*first == UINT64_MAX)
        *first = n;
    else
        race->gaps += n != (race->overwrites ? *last - 1 : *last + 1);
    *last = n;
    race->samples++;
}

static void look_at_chunk(struct race *race, const struct weir_chunk *chunk)
{
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, chunk->data + at, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE)
            look_at_sample(race, chunk->data + at, header.size);
        at += header.size;
    }
}

/* What stands before this marker is one snapshot. */
static void end_snapshot(struct race *race)
{
    for (unsigned i = 0; i < CPUS; i++) {
        uint64_t end = race->first[i] == UINT64_MAX ? race->floor[i]
                       : race->overwrites           ? race->first[i] + 1
                                                    : race->last[i] + 1;
        race->late += race->overwrites ? end != race->asked[i] : end < race->asked[i];
        race->floor[i] = end;
        race->first[i] = race->last[i] = UINT64_MAX;
    }
    race->snapshots++;
}

static void consume(struct race *race)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&race->rig.pipeline.queue))) {
        if (chunk->kind == WEIR_CHUNK_DATA) {
            look_at_chunk(race, chunk);
            weir_pool_put(&race->rig.pipeline.pool, chunk);
        } else {
            end_snapshot(race);
            weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
        }
    }
}

/* ---- the run ---- */

static void init(struct race *race, bool overwrites)
{
    struct weir_error err;
    memset(race, 0, sizeof(*race));
    race->overwrites = overwrites;
    sim_rig_init(&race->rig, &(struct sim_rig_options){
                                 .cpus = CPUS,
                                 .ring_bytes = RING_BYTES,
                                 .buffer_bytes = 1u << 20,
                                 .overwrite = overwrites,
                                 .retained_bytes = overwrites ? 0 : 1u << 20,
                             });
    weir_assert(weir_pipeline_prepare(&race->rig.pipeline, NULL, &err) == 0);
    if (overwrites) {
        race->rig.pipeline.rounds.pause = pause_rings;
        race->rig.pipeline.rounds.pause_ctx = race;
    }
    weir_event_set_enable(&race->rig.set, false);
    for (unsigned i = 0; i < CPUS; i++) {
        race->first[i] = race->last[i] = UINT64_MAX;
        weir_assert(pthread_create(&race->readers[i], NULL, read_rings, race->rig.pipeline.readers[i]) == 0);
        race->producers[i] = (struct producer){.rig = &race->rig, .cpu = i, .stop = &race->stop};
        weir_assert(pthread_create(&race->producers[i].thread, NULL, produce, &race->producers[i]) == 0);
    }
}

static void take_snapshots(struct race *race)
{
    struct weir_rounds *rounds = &race->rig.pipeline.rounds;
    uint64_t from_ns = weir_clock_now_ns(&weir_clock_monotonic);
    while (race->snapshots < SNAPSHOTS && weir_clock_now_ns(&weir_clock_monotonic) - from_ns < LIMIT_NS) {
        if (weir_rounds_snapshot_progress(rounds) == WEIR_SNAPSHOT_NONE) {
            usleep(race->snapshots * 37 % 2000); /* something new comes */
            if (!race->overwrites)
                note_published(race);
            weir_assert(weir_rounds_snapshot(rounds) == 0);
        }
        race->now_ns += WEIR_ROUND_GRACE_NS; /* every call finds the grace over */
        weir_rounds_advance(rounds, race->now_ns);
        consume(race);
        sched_yield();
    }
}

static int fini(struct race *race)
{
    atomic_store_explicit(&race->stop, true, memory_order_relaxed);
    for (unsigned i = 0; i < CPUS; i++)
        pthread_join(race->producers[i].thread, NULL);
    weir_rounds_stop(&race->rig.pipeline.rounds, false);
    for (unsigned i = 0; i < CPUS; i++)
        pthread_join(race->readers[i], NULL);
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&race->rig.pipeline.queue)))
        weir_pool_put(&race->rig.pipeline.pool, chunk);
    uint64_t made = race->producers[0].published + race->producers[1].published;
    printf("%s: %llu snapshots of %llu of %llu samples; gaps %llu, torn %llu, doubled %llu, not of their moment %llu\n",
           race->overwrites ? "overwritten" : "retained", (unsigned long long)race->snapshots,
           (unsigned long long)race->samples, (unsigned long long)made, (unsigned long long)race->gaps,
           (unsigned long long)race->torn, (unsigned long long)race->doubled, (unsigned long long)race->late);
    bool good = race->snapshots == SNAPSHOTS && race->samples > 0 && !race->gaps && !race->torn && !race->doubled &&
                !race->late;
    sim_rig_fini(&race->rig);
    return good ? 0 : 1;
}

static int run(void *ctx)
{
    struct race *race = ctx;
    int failures = 0;
    for (int overwrites = 0; overwrites < 2; overwrites++) {
        init(race, overwrites);
        take_snapshots(race);
        failures += fini(race);
    }
    return failures;
}

int main(void)
{
    static const enum weir_test_point points[] = {
        WEIR_AT_ROUND_OPEN,    WEIR_AT_ROUND_MARK,   WEIR_AT_SNAPSHOT_PAUSED, WEIR_AT_SNAPSHOT_PUSH,
        WEIR_AT_SNAPSHOT_READ, WEIR_AT_READER_EPOCH, WEIR_AT_READER_PASS,
    };
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}

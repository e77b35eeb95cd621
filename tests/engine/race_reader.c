/*
 * Kernel, readers, coordinator and writer, each on threads of their own, over simulated rings. Two things are proved:
 *
 *     barrier   A marker leaves the queue only behind everything that had been published when its epoch was opened.
 *               The main thread is coordinator and writer; it notes what each producer had published, opens the epoch,
 *               and looks when the marker comes out. Readers are found past from outside or pass by themselves.
 *     wake      An epoch that was opened before weir_reader_wake() is passed, also when that finds another wake under
 *               way and sends none: a reader that slept on would never stop.
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/engine/parking.h"
#include "tests/engine/sim_rig.h"

#define CPUS            2u
#define SAMPLES_PER_CPU 30000u
#define RING_BYTES      (16u << 10)
#define WAKE_EPOCHS     60000u /* or the argument: half a million found what once was wrong here */
#define PARKED_EPOCHS   2000u  /* in the runs in which threads are parked */
#define PASS_LIMIT_NS   (2 * WEIR_NS_PER_S)

struct producer {
    struct sim_rig *rig; /* borrowed */
    unsigned cpu;
    _Atomic uint64_t published; /* samples in the ring, numbered from 0 by their ip */
    uint64_t refused;
    pthread_t thread;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    static const uint8_t payload[200];
    uint64_t n = 0;
    while (n < SAMPLES_PER_CPU) {
        struct weir_sim_sample sample = {
            .time_ns = n + 1,
            .ip = n,
            .pid = 1,
            .tid = 1,
            .raw = payload,
            .raw_bytes = (uint32_t)(n * 13 % sizeof(payload)),
        };
        if (weir_sim_kernel_sample(producer->rig->sim, sim_rig_fd(producer->rig, 0, producer->cpu), &sample)) {
            atomic_store_explicit(&producer->published, ++n, memory_order_release);
        } else {
            producer->refused++;
            sched_yield();
        }
        if (n % 5000 == 0) { /* lets the reader fall asleep on what is below its watermark */
            const struct timespec pause = {.tv_nsec = (long)WEIR_NS_PER_MS};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        }
    }
    return NULL;
}

static void *read_rings(void *argument)
{
    weir_reader_run(argument);
    return NULL;
}

struct race {
    struct sim_rig rig;
    struct producer producers[CPUS];
    pthread_t readers[CPUS];
    uint64_t published[WEIR_ROUND_MARKERS][CPUS]; /* when the epoch of the marker of that number was opened */
    uint64_t seen[CPUS];
    uint64_t now_ns;
    uint64_t markers, out_of_order, early;
};

static void start_readers(struct race *race)
{
    for (unsigned i = 0; i < CPUS; i++)
        weir_assert(pthread_create(&race->readers[i], NULL, read_rings, race->rig.pipeline.readers[i]) == 0);
}

static void join_readers(struct race *race)
{
    for (unsigned i = 0; i < CPUS; i++)
        pthread_join(race->readers[i], NULL);
}

/* ---- barrier ---- */

/* The CPU of an id is that of its table entry; samples begin with id and ip. */
static void look_at_samples(struct race *race, const struct weir_chunk *chunk)
{
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, chunk->data + at, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE) {
            uint64_t fields[2];
            memcpy(fields, chunk->data + at + sizeof(header), sizeof(fields));
            unsigned cpu = weir_id_map_find(&race->rig.set.id_map, fields[0])->place;
            race->out_of_order += fields[1] != race->seen[cpu];
            race->seen[cpu]++;
        }
        at += header.size;
    }
}

/* As the writer: everything that is in the queue. */
static void consume(struct race *race)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&race->rig.pipeline.queue))) {
        if (chunk->kind == WEIR_CHUNK_DATA) {
            look_at_samples(race, chunk);
            weir_pool_put(&race->rig.pipeline.pool, chunk);
            continue;
        }
        for (unsigned i = 0; i < CPUS; i++)
            race->early += race->seen[i] < race->published[race->markers % WEIR_ROUND_MARKERS][i];
        race->markers++;
        weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
    }
}

/* As the coordinator: one step with an epoch wanted at all times. */
static void advance(struct race *race)
{
    struct weir_rounds *rounds = &race->rig.pipeline.rounds;
    if (!rounds->open) {
        /* What is published now lies below the heads that the readers will see. */
        for (unsigned i = 0; i < CPUS; i++)
            race->published[rounds->pushed % WEIR_ROUND_MARKERS][i] =
                atomic_load_explicit(&race->producers[i].published, memory_order_acquire);
    }
    /* Every call finds the grace over: as many epochs as there can be. (It covers what a real kernel does between
     * taking the time and publishing; here what counts as published has been.) */
    race->now_ns += WEIR_ROUND_GRACE_NS;
    weir_rounds_want(rounds, true);
    weir_rounds_advance(rounds, race->now_ns);
}

static bool all_seen(const struct race *race)
{
    for (unsigned i = 0; i < CPUS; i++) {
        if (race->seen[i] < SAMPLES_PER_CPU)
            return false;
    }
    return true;
}

static int race_barrier(struct race *race)
{
    memset(race, 0, sizeof(*race));
    sim_rig_init(&race->rig, &(struct sim_rig_options){.cpus = CPUS, .ring_bytes = RING_BYTES});
    struct weir_error err;
    weir_assert(weir_pipeline_prepare(&race->rig.pipeline, NULL, &err) == 0);
    for (unsigned i = 0; i < CPUS; i += 2)
        race->rig.pipeline.readers[i]->sink.past_caches = true;
    weir_event_set_enable(&race->rig.set, false);
    start_readers(race);
    for (unsigned i = 0; i < CPUS; i++) {
        race->producers[i].rig = &race->rig;
        race->producers[i].cpu = i;
        weir_assert(pthread_create(&race->producers[i].thread, NULL, produce, &race->producers[i]) == 0);
    }
    while (!all_seen(race)) {
        advance(race);
        consume(race);
        sched_yield();
    }
    weir_rounds_stop(&race->rig.pipeline.rounds, false);
    join_readers(race);
    consume(race);

    for (unsigned i = 0; i < CPUS; i++) {
        pthread_join(race->producers[i].thread, NULL);
        printf("cpu %u: %llu samples, ring full %llu times, reader woken %llu times\n", i,
               (unsigned long long)race->seen[i], (unsigned long long)race->producers[i].refused,
               (unsigned long long)race->rig.pipeline.readers[i]->wakes_sent);
    }
    printf("markers: %llu, early: %llu; samples out of order: %llu\n", (unsigned long long)race->markers,
           (unsigned long long)race->early, (unsigned long long)race->out_of_order);
    int failures = race->early || race->out_of_order || race->markers == 0;
    sim_rig_fini(&race->rig);
    return failures;
}

/* ---- wake ---- */

/* A wake, then an epoch while the reader takes it, then a wake that may find the first one under way. */
static bool passes(struct race *race, struct weir_reader *reader, unsigned delay)
{
    struct weir_reader_control *control = &race->rig.pipeline.control;
    struct weir_rounds *rounds = &race->rig.pipeline.rounds;
    weir_reader_wake(reader);
    for (volatile unsigned spin = 0; spin < delay; spin++)
        ; /* until the reader is about to take it */
    rounds->open = false;
    rounds->earliest_ns = 0;
    weir_rounds_want(rounds, true);
    weir_rounds_advance(rounds, 1);
    uint64_t epoch = atomic_load_explicit(&control->epoch, memory_order_relaxed);
    weir_reader_wake(reader);
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    while (atomic_load_explicit(&reader->passed_epoch, memory_order_acquire) < epoch) {
        if (weir_clock_now_ns(&weir_clock_monotonic) - started_ns > PASS_LIMIT_NS)
            return false;
        sched_yield();
    }
    return true;
}

static int race_wake(struct race *race, uint64_t wanted)
{
    memset(race, 0, sizeof(*race));
    sim_rig_init(&race->rig, &(struct sim_rig_options){.cpus = CPUS, .ring_bytes = RING_BYTES});
    struct weir_error err;
    weir_assert(weir_pipeline_prepare(&race->rig.pipeline, NULL, &err) == 0);
    start_readers(race);
    uint64_t epochs = 0;
    while (epochs < wanted && passes(race, race->rig.pipeline.readers[epochs % CPUS], (unsigned)(epochs % 4999)))
        epochs++;
    printf("epochs passed after a wake: %llu of %llu\n", (unsigned long long)epochs, (unsigned long long)wanted);
    for (unsigned i = 0; i < CPUS; i++) /* gets a reader that slept on moving again */
        weir_reader_wake(race->rig.pipeline.readers[i]);
    weir_rounds_stop(&race->rig.pipeline.rounds, false);
    join_readers(race);
    sim_rig_fini(&race->rig);
    return epochs < wanted;
}

struct run {
    struct race race;
    uint64_t wake_epochs;
};

static int run(void *ctx)
{
    struct run *run = ctx;
    int failures = race_barrier(&run->race) + race_wake(&run->race, run->wake_epochs);
    run->wake_epochs = run->wake_epochs > PARKED_EPOCHS ? PARKED_EPOCHS : run->wake_epochs;
    return failures;
}

int main(int argc, char **argv)
{
    static const enum weir_test_point points[] = {
        WEIR_AT_READER_EPOCH, WEIR_AT_READER_RELEASE, WEIR_AT_READER_HELD, WEIR_AT_READER_PASS,
        WEIR_AT_READER_SLEEP, WEIR_AT_READER_WOKEN,   WEIR_AT_ROUND_OPEN,  WEIR_AT_ROUND_MARK,
    };
    static struct run state;
    state.wake_epochs = argc > 1 ? strtoull(argv[1], NULL, 10) : WAKE_EPOCHS;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &state) ? 1 : 0;
}

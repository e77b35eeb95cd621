/*
 * CPUs that come and go while readers look ids up: readers and the kernel on threads of their own, the main thread is
 * coordinator and writer. Some CPUs stay, so that readers always have old ids to look up while the tables change; the
 * others begin dormant, without a ring, and come with new ids again and again. What must hold:
 *
 *     every sample is found under the one id that its CPU has in the file, in order and once
 *     that a CPU has come back stands between what it did before and what it does then
 *     what a CPU did that has come is drained: its reader looks at a ring that was mapped while it slept
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/engine/parking.h"
#include "tests/engine/sim_rig.h"

#define CPUS       2u
#define LATE       2u
#define PLACES     (CPUS + LATE)
#define VISITS     12u  /* of the CPUs that come, in turn */
#define PER_VISIT  400u /* samples */
#define RING_BYTES (16u << 10)
#define LIMIT_NS   (60 * WEIR_NS_PER_S)

struct producer {
    struct sim_rig *rig; /* borrowed */
    int fd;
    uint64_t first, end;        /* samples, by their ip; end 0: until stop */
    const _Atomic bool *stop;   /* borrowed */
    _Atomic uint64_t published; /* up to this one */
    pthread_t thread;
};

struct race {
    struct sim_rig rig;
    struct producer producers[PLACES];
    struct reading {
        struct weir_reader *reader; /* borrowed */
        _Atomic unsigned *running;
        pthread_t thread;
    } readers[PLACES];
    unsigned reader_count;
    _Atomic unsigned running;
    _Atomic bool stop;
    uint64_t seen[PLACES];
    uint64_t now_ns, started_ns;
    uint64_t unknown, misplaced, late;
    uint64_t returns, misplaced_returns;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    static const uint8_t payload[100];
    for (uint64_t n = producer->first; producer->end ? n < producer->end : !atomic_load(producer->stop);) {
        struct weir_sim_sample sample = {
            .time_ns = n + 1, .ip = n, .raw = payload, .raw_bytes = 4 + 8 * (uint32_t)(n % 12)};
        if (weir_sim_kernel_sample(producer->rig->sim, producer->fd, &sample))
            atomic_store_explicit(&producer->published, ++n, memory_order_release);
        else
            sched_yield();
    }
    return NULL;
}

static void start_producer(struct race *race, unsigned place, uint64_t samples)
{
    struct producer *producer = &race->producers[place];
    uint64_t first = atomic_load_explicit(&producer->published, memory_order_relaxed); /* of one that was joined */
    producer->rig = &race->rig;
    producer->fd = sim_rig_fd(&race->rig, 0, place);
    producer->first = first;
    producer->end = samples ? first + samples : 0;
    producer->stop = &race->stop;
    weir_assert(pthread_create(&producer->thread, NULL, produce, producer) == 0);
}

static void *read_rings(void *argument)
{
    struct reading *reading = argument;
    weir_reader_run(reading->reader);
    atomic_fetch_sub_explicit(reading->running, 1, memory_order_relaxed); /* the join orders all else */
    return NULL;
}

/* ---- coordinator and writer ---- */

/* By the id that the file has for the only event there. PLACES: of no place. */
static unsigned place_of(const struct race *race, uint64_t id)
{
    unsigned place = 0;
    while (place < PLACES && race->rig.set.file_ids[weir_event_set_slot(&race->rig.set, 0, place, 0)] != id)
        place++;
    return place;
}

static void look_at_sample(struct race *race, uint64_t id, uint64_t ip)
{
    unsigned place = place_of(race, id);
    if (place == PLACES)
        race->unknown++;
    else
        race->misplaced += ip != race->seen[place]++;
}

/* The id of a sample stands first, that of other records last. */
static void look_at_chunk(struct race *race, const struct weir_chunk *chunk)
{
    for (uint32_t at = 0; at < chunk->used;) {
        const uint8_t *record = chunk->data + at;
        struct perf_event_header header;
        uint64_t fields[2], last; /* id and ip */
        memcpy(&header, record, sizeof(header));
        memcpy(fields, record + sizeof(header), sizeof(fields));
        memcpy(&last, record + header.size - sizeof(last), sizeof(last));
        at += header.size;
        if (header.type == PERF_RECORD_SAMPLE) {
            look_at_sample(race, fields[0], fields[1]);
        } else if (header.type == PERF_RECORD_LOST_SAMPLES) {
            unsigned place = place_of(race, last);
            race->returns++;
            race->misplaced_returns += place == PLACES || race->seen[place] % PER_VISIT != 0;
        }
    }
}

static void consume(struct race *race)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&race->rig.pipeline.queue))) {
        if (chunk->kind == WEIR_CHUNK_DATA) {
            look_at_chunk(race, chunk);
            weir_pool_put(&race->rig.pipeline.pool, chunk);
        } else {
            weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
        }
    }
}

static void step(struct race *race)
{
    race->now_ns += WEIR_ROUND_GRACE_NS; /* every call finds the grace over */
    weir_rounds_want(&race->rig.pipeline.rounds, true);
    weir_rounds_advance(&race->rig.pipeline.rounds, race->now_ns);
    consume(race);
    sched_yield();
}

static bool is_too_late(const struct race *race)
{
    return weir_clock_now_ns(&weir_clock_monotonic) - race->started_ns > LIMIT_NS;
}

/* A CPU comes, runs for a while, and goes when what it did was seen. */
static void visit(struct race *race, unsigned place)
{
    sim_rig_bring_cpu(&race->rig, place);
    start_producer(race, place, PER_VISIT);
    uint64_t end = race->producers[place].end;
    while (race->seen[place] < end && !is_too_late(race))
        step(race);
    race->late += race->seen[place] < end;
    pthread_join(race->producers[place].thread, NULL);
    sim_rig_take_cpu(&race->rig, place);
}

/* ---- the run ---- */

static void init(struct race *race)
{
    struct weir_error err;
    memset(race, 0, sizeof(*race));
    race->started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    sim_rig_init(&race->rig,
                 &(struct sim_rig_options){.cpus = CPUS, .late = LATE, .ring_bytes = RING_BYTES, .renames = true});
    weir_assert(weir_pipeline_prepare(&race->rig.pipeline, NULL, &err) == 0);
    weir_event_set_enable(&race->rig.set, false);
    race->reader_count = race->rig.pipeline.reader_count;
    atomic_store(&race->running, race->reader_count);
    for (unsigned i = 0; i < race->reader_count; i++) {
        race->readers[i] = (struct reading){.reader = race->rig.pipeline.readers[i], .running = &race->running};
        weir_assert(pthread_create(&race->readers[i].thread, NULL, read_rings, &race->readers[i]) == 0);
    }
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        start_producer(race, cpu, 0);
}

/* Samples with ids that the readers did not find. */
static uint64_t join_readers(struct race *race)
{
    uint64_t unknown = 0;
    weir_rounds_stop(&race->rig.pipeline.rounds, false);
    while (atomic_load(&race->running) > 0) { /* one may wait for a chunk */
        consume(race);
        sched_yield();
    }
    for (unsigned i = 0; i < race->reader_count; i++) {
        const struct weir_reader *reader = race->readers[i].reader;
        pthread_join(race->readers[i].thread, NULL);
        for (unsigned n = 0; n < reader->rings.count; n++)
            unknown += reader->rings.at[n].counts.unknown_samples;
    }
    consume(race);
    return unknown;
}

static int fini(struct race *race)
{
    uint64_t made = 0, seen = 0;
    atomic_store(&race->stop, true);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        pthread_join(race->producers[cpu].thread, NULL);
    uint64_t unknown = join_readers(race);
    for (unsigned i = 0; i < PLACES; i++) {
        made += atomic_load(&race->producers[i].published);
        seen += race->seen[i];
    }
    printf("%u visits of CPUs: %llu of %llu samples; unknown to readers %llu, to the writer %llu, out of place %llu, "
           "late %llu; %llu returns told, %llu out of place\n",
           VISITS, (unsigned long long)seen, (unsigned long long)made, (unsigned long long)unknown,
           (unsigned long long)race->unknown, (unsigned long long)race->misplaced, (unsigned long long)race->late,
           (unsigned long long)race->returns, (unsigned long long)race->misplaced_returns);
    bool good = seen == made && !unknown && !race->unknown && !race->misplaced && !race->late &&
                race->returns == VISITS - LATE && !race->misplaced_returns; /* nobody returns the first time */
    sim_rig_fini(&race->rig);
    return good ? 0 : 1;
}

static int run(void *ctx)
{
    struct race *race = ctx;
    init(race);
    for (unsigned n = 0; n < VISITS; n++)
        visit(race, CPUS + n % LATE);
    return fini(race);
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_IDS_PUBLISH, WEIR_AT_IDS_ADD, WEIR_AT_IDS_LOOK_UP,
                                                  WEIR_AT_RING_BEGUN, WEIR_AT_RING_RETURN};
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}

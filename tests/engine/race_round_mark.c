/*
 * Marks for rounds, under races: one producer moves from CPU to CPU, as a task does, two readers on threads of their
 * own drain their rings and leave marks, the main thread is coordinator and writer. Whatever the moments at which it
 * looks whether the other reader is idle, every record that is older than the newest one before a round stands before
 * the next round.
 *
 * Time is a count that the producer moves when it writes a record, so that none has a time of long before it is
 * published, however the threads are held up. A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/perf_file.h"
#include "tests/engine/parking.h"
#include "tests/engine/sim_rig.h"

#define CPUS          2u
#define SAMPLES       300000u
#define RING_BYTES    (32u << 10)
#define PAYLOAD_BYTES 196u
#define STEP_NS       (20 * WEIR_NS_PER_US) /* from record to record: 100 of them are a grace */
#define STAY          4000u                 /* records, until it moves */
#define YIELD         64u
#define MARK_BYTES    4096u
#define ADVANCE       4u /* looks of the writer for one of the coordinator */

struct race {
    struct sim_rig rig;
    struct weir_clock clock;
    struct weir_round_marks marks;
    pthread_t producer, readers[CPUS];
    _Atomic uint64_t now_ns;
    _Atomic bool done; /* all is produced */
    uint64_t newest_ns, before_round_ns, floor_ns;
    uint64_t samples, rounds, late;
};

static uint64_t read_clock(void *ctx)
{
    const struct race *race = ctx;
    return atomic_load_explicit(&race->now_ns, memory_order_seq_cst);
}

static void *produce(void *argument)
{
    struct race *race = argument;
    static const uint8_t payload[PAYLOAD_BYTES];
    for (uint64_t n = 0; n < SAMPLES;) {
        struct weir_sim_sample sample = {
            .time_ns = atomic_load_explicit(&race->now_ns, memory_order_relaxed), /* our own word */
            .ip = n,
            .raw = payload,
            .raw_bytes = PAYLOAD_BYTES,
        };
        unsigned cpu = (unsigned)(n / STAY % CPUS);
        bool landed = weir_sim_kernel_sample(race->rig.sim, sim_rig_fd(&race->rig, 0, cpu), &sample);
        if (landed)
            atomic_store_explicit(&race->now_ns, sample.time_ns + STEP_NS, memory_order_seq_cst);
        n += landed;
        if (!landed || n % YIELD == 0)
            sched_yield();
    }
    atomic_store_explicit(&race->done, true, memory_order_release);
    return NULL;
}

static void *read_rings(void *argument)
{
    weir_reader_run(argument);
    return NULL;
}

/* ---- the writer's part ---- */

static void look_at_round(struct race *race)
{
    race->floor_ns = race->before_round_ns;
    race->before_round_ns = race->newest_ns;
    race->rounds++;
}

static void look_at_chunk(struct race *race, const struct weir_chunk *chunk)
{
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, chunk->data + at, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE) {
            uint64_t time_ns;
            memcpy(&time_ns, chunk->data + at + race->rig.pipeline.setup.layout.time_offset, sizeof(time_ns));
            race->late += time_ns < race->floor_ns;
            race->newest_ns = weir_max_u64(race->newest_ns, time_ns);
            race->samples++;
        } else if (header.type == WEIR_RECORD_FINISHED_ROUND) {
            look_at_round(race);
        }
        at += header.size;
    }
}

static void consume(struct race *race)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&race->rig.pipeline.queue))) {
        if (chunk->kind == WEIR_CHUNK_DATA) {
            weir_round_marks_decide(&race->marks, chunk);
            look_at_chunk(race, chunk);
            weir_pool_put(&race->rig.pipeline.pool, chunk);
        } else {
            if (weir_round_marks_let_pass(&race->marks, chunk))
                look_at_round(race);
            weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
        }
    }
}

/* ---- the run ---- */

static void init(struct race *race)
{
    struct weir_error err;
    memset(race, 0, sizeof(*race));
    atomic_init(&race->now_ns, WEIR_NS_PER_S);
    race->clock = (struct weir_clock){.now_ns = read_clock, .ctx = race};
    sim_rig_init(&race->rig, &(struct sim_rig_options){
                                 .cpus = CPUS,
                                 .ring_bytes = RING_BYTES,
                                 .buffer_bytes = 1u << 20,
                                 .clock = &race->clock,
                             });
    struct weir_pipeline *pipeline = &race->rig.pipeline;
    weir_assert(weir_pipeline_prepare(pipeline, NULL, &err) == 0);
    const struct weir_round_marks_setup setup = {pipeline->readers, pipeline->reader_count, &pipeline->control};
    weir_round_marks_init(&race->marks, &pipeline->queue, &setup);
    weir_event_set_enable(&race->rig.set, false);
    for (unsigned i = 0; i < CPUS; i++) {
        pipeline->readers[i]->marks.bytes = MARK_BYTES;
        weir_assert(pthread_create(&race->readers[i], NULL, read_rings, pipeline->readers[i]) == 0);
    }
    weir_assert(pthread_create(&race->producer, NULL, produce, race) == 0);
}

static int run(void *ctx)
{
    struct race *race = ctx;
    init(race);
    struct weir_pipeline *pipeline = &race->rig.pipeline;
    struct weir_rounds *rounds = &pipeline->rounds;
    for (unsigned n = 0; !atomic_load_explicit(&race->done, memory_order_acquire); n++) {
        if (n % ADVANCE == 0) {
            weir_rounds_want(rounds, true);
            weir_rounds_advance(rounds, read_clock(race));
        }
        consume(race);
        sched_yield();
    }
    pthread_join(race->producer, NULL);
    weir_rounds_stop(rounds, false);
    for (unsigned i = 0; i < CPUS; i++) {
        while (!weir_reader_has_passed(pipeline->readers[i], pipeline->control.stop_epoch)) {
            consume(race); /* it may wait for a chunk */
            sched_yield();
        }
        pthread_join(race->readers[i], NULL);
    }
    consume(race);
    printf(
        "%llu samples, %llu rounds: %llu marks, %llu of these within a ring; %llu markers became padding; %llu late\n",
        (unsigned long long)race->samples, (unsigned long long)race->rounds, (unsigned long long)race->marks.made,
        (unsigned long long)race->marks.made_within, (unsigned long long)race->marks.turned_down,
        (unsigned long long)race->late);
    bool good = race->samples == SAMPLES && race->late == 0 && race->marks.made > 0;
    sim_rig_fini(&race->rig);
    return good ? 0 : 1;
}

int main(void)
{
    static const enum weir_test_point points[] = {
        WEIR_AT_READER_EPOCH, WEIR_AT_READER_RELEASE, WEIR_AT_READER_HELD, WEIR_AT_READER_PASS,
        WEIR_AT_QUEUE_LINK,   WEIR_AT_QUEUE_COUNT,    WEIR_AT_ROUND_OPEN,  WEIR_AT_ROUND_MARK,
    };
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}

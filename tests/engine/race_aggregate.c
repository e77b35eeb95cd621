/*
 * Threads of the stage merge samples (engine/drain/aggregate.h) while the writer takes counts back for chunks whose
 * write has failed: in the end each sample is in a chunk that was written, merged into one of these, or lost. A plain
 * program, so that it also runs under ThreadSanitizer.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/drain/chunk_stage.h"
#include "tests/base/random.h"
#include "tests/engine/aggregate_rig.h"

#define WORKERS     3u
#define CHUNK_BYTES (64u * 1024)
#define CHUNKS      16u
#define SUBMITS     400u
#define COUNTERS    (AGGREGATE_RIG_PLACES * AGGREGATE_RIG_EVENTS)

struct race {
    struct aggregate_rig rig;
    struct weir_chunk_stage stage;
    struct weir_chunk chunks[CHUNKS];
    uint8_t *data;
    uint64_t random;
    uint64_t submitted, completed, made, period;
    struct aggregate_sums written;
    uint64_t lost_period, failed[COUNTERS];
};

static void fill(struct race *race, struct weir_chunk *chunk)
{
    chunk->used = 0;
    for (uint64_t time_ns = 1000; chunk->used < CHUNK_BYTES - 256; time_ns++) {
        uint64_t number = test_random(&race->random);
        const struct aggregate_sample sample = {
            .pid = 1,
            .tid = 1,
            .cpu = number % AGGREGATE_RIG_PLACES,
            .ip = number / 8 % 50,
            .time_ns = time_ns,
            .period = number / 1024 % 100,
            .frames = number / 512 % 4,
        };
        aggregate_rig_append_sample(chunk, &sample);
        race->made++;
        race->period += sample.period;
    }
}

/* Every seventh write fails. */
static void take(struct race *race, const struct weir_chunk_stage_result *result)
{
    struct aggregate_sums sums = {0};
    aggregate_rig_add(result->chunk, &sums);
    if (race->completed % 7 == 3) {
        uint64_t *const counts[] = {race->failed};
        weir_chunk_stage_take_back(&race->stage, result->data, result->bytes, counts, 1);
        race->failed[0] += sums.records;
        race->lost_period += sums.period;
    } else {
        aggregate_rig_add(result->chunk, &race->written);
    }
    weir_chunk_stage_complete(&race->stage, result->chunk);
    race->completed++;
}

static void run(struct race *race)
{
    struct weir_chunk_stage_result result;
    while (race->completed < SUBMITS) {
        while (race->submitted < SUBMITS && race->submitted - race->completed < CHUNKS) {
            struct weir_chunk *chunk = &race->chunks[race->submitted++ % CHUNKS];
            fill(race, chunk);
            weir_chunk_stage_submit(&race->stage, chunk, false);
            weir_chunk_stage_kick(&race->stage);
        }
        while (weir_chunk_stage_next(&race->stage, &result))
            take(race, &result);
        sched_yield();
    }
}

int main(void)
{
    static struct race race = {.random = 7};
    struct weir_error err = {0};
    race.data = calloc(CHUNKS, CHUNK_BYTES);
    if (!race.data || !aggregate_rig_init(&race.rig, 1u << 20, false))
        return 1;
    for (unsigned i = 0; i < CHUNKS; i++)
        race.chunks[i].data = race.data + (size_t)i * CHUNK_BYTES;
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {weir_aggregate_rewriter(&race.rig.aggregate)},
        .rewriter_count = 1,
        .workers = WORKERS,
        .chunk_bytes = CHUNK_BYTES,
    };
    if (weir_chunk_stage_init(&race.stage, &setup, &err) < 0 || weir_chunk_stage_start(&race.stage, &err) < 0) {
        printf("cannot set up: %s\n", err.what);
        return 1;
    }
    run(&race);
    weir_chunk_stage_stop(&race.stage);
    uint64_t merged = 0, lost = 0;
    for (unsigned place = 0; place < AGGREGATE_RIG_PLACES; place++)
        merged += weir_aggregate_merged(&race.rig.aggregate, place, 0);
    for (unsigned i = 0; i < COUNTERS; i++)
        lost += race.failed[i];
    bool balances = race.written.records + merged + lost == race.made && race.written.samples + lost == race.made &&
                    race.written.period + race.lost_period == race.period && merged > race.made / 2;
    printf("%llu samples: %llu written, %llu merged, %llu lost: %s\n", (unsigned long long)race.made,
           (unsigned long long)race.written.records, (unsigned long long)merged, (unsigned long long)lost,
           balances ? "holds" : "FAILED");
    weir_chunk_stage_fini(&race.stage);
    aggregate_rig_fini(&race.rig);
    free(race.data);
    return balances ? 0 : 1;
}

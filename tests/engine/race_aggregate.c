/*
 * Threads of the stage merge samples (engine/drain/aggregate.h) while the writer takes counts back for chunks whose
 * write has failed: in the end each sample is in a chunk that was written, merged into one of these, or lost. A plain
 * program, so that it also runs under ThreadSanitizer.
 */
#include <stdio.h>

#include "tests/base/random.h"
#include "tests/engine/aggregate_rig.h"
#include "tests/engine/step_race.h"

#define COUNTERS (AGGREGATE_RIG_PLACES * AGGREGATE_RIG_EVENTS)

struct race {
    struct aggregate_rig rig;
    uint64_t random;
    uint64_t made, period;
    struct aggregate_sums written;
    uint64_t lost_period, failed[COUNTERS];
};

static void fill(void *ctx, struct weir_chunk *chunk)
{
    struct race *race = ctx;
    for (uint64_t time_ns = 1000; chunk->used < STEP_RACE_CHUNK_BYTES - 256; time_ns++) {
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
static void take(void *ctx, const struct weir_chunk_stage *stage, const struct weir_chunk_stage_result *result,
                 uint64_t number)
{
    struct race *race = ctx;
    struct aggregate_sums sums = {0};
    aggregate_rig_add(result->chunk, &sums);
    if (number % 7 == 3) {
        uint64_t *const counts[] = {race->failed};
        weir_chunk_stage_take_back(stage, result->data, result->bytes, counts, 1);
        race->failed[0] += sums.records;
        race->lost_period += sums.period;
    } else {
        aggregate_rig_add(result->chunk, &race->written);
    }
}

static bool check(const struct race *race)
{
    uint64_t merged = 0, lost = 0;
    for (unsigned place = 0; place < AGGREGATE_RIG_PLACES; place++)
        merged += weir_aggregate_merged(&race->rig.aggregate, place, 0);
    for (unsigned i = 0; i < COUNTERS; i++)
        lost += race->failed[i];
    bool balances = race->written.records + merged + lost == race->made && race->written.samples + lost == race->made &&
                    race->written.period + race->lost_period == race->period && merged > race->made / 2;
    printf("%llu samples: %llu written, %llu merged, %llu lost: %s\n", (unsigned long long)race->made,
           (unsigned long long)race->written.records, (unsigned long long)merged, (unsigned long long)lost,
           balances ? "holds" : "FAILED");
    return balances;
}

int main(void)
{
    static struct race race = {.random = 7};
    if (!aggregate_rig_init(&race.rig, 1u << 20, false))
        return 1;
    const struct step_race frame = {
        .step = weir_aggregate_rewriter(&race.rig.aggregate),
        .fill = fill,
        .take = take,
        .ctx = &race,
    };
    bool balances = step_race_run(&frame) && check(&race);
    aggregate_rig_fini(&race.rig);
    return balances ? 0 : 1;
}

/*
 * Threads of the stage join deferred call chains (engine/drain/join_step.h): in the end each sample is in a chunk that
 * came out, no record of a user part is, and the counts of all threads say how many were joined. A plain program, so
 * that it also runs under ThreadSanitizer.
 */
#include <stdio.h>

#include "tests/engine/join_rig.h"
#include "tests/engine/step_race.h"

#define LATE_EVERY 16u /* the record of one sample in so many is in no chunk */

struct race {
    struct join_rig rig;
    uint64_t made, made_late, found, found_joined, others;
};

static void fill(void *ctx, struct weir_chunk *chunk)
{
    struct race *race = ctx;
    for (; chunk->used < STEP_RACE_CHUNK_BYTES - 1024; race->made++) {
        const struct join_sample sample = {.tid = 10, .cookie = 1 + race->made, .kernel = 1};
        join_rig_append(chunk, &sample);
        if (race->made % LATE_EVERY == 0)
            race->made_late++;
        else
            join_rig_append_record(chunk, 10, 1 + race->made, 0x400000, 1 + (unsigned)(race->made % 40));
    }
}

static void take(void *ctx, const struct weir_chunk_stage *stage, const struct weir_chunk_stage_result *result,
                 uint64_t number)
{
    struct race *race = ctx;
    (void)stage, (void)number;
    struct joined sample;
    int next;
    for (uint32_t at = 0; (next = join_rig_next(result->chunk, &at, &sample)) >= 0;) {
        race->found += (uint64_t)next;
        race->others += next == 0;
        race->found_joined += next > 0 && sample.frames > 2;
    }
}

static bool check(const struct race *race)
{
    const struct weir_joined_sum sum = weir_join_step_sum(&race->rig.step);
    bool balances = race->found == race->made && sum.samples == race->made && sum.joined == race->found_joined &&
                    sum.joined == race->made - race->made_late && sum.apart == race->made_late && sum.unused == 0 &&
                    race->others == 0;
    printf("%llu samples, %llu of them came out, %llu joined: %s\n", (unsigned long long)race->made,
           (unsigned long long)race->found, (unsigned long long)race->found_joined, balances ? "holds" : "FAILED");
    return balances;
}

int main(void)
{
    static struct race race;
    if (!join_rig_init(&race.rig))
        return 1;
    const struct step_race frame = {
        .step = weir_join_step_rewriter(&race.rig.step),
        .fill = fill,
        .take = take,
        .ctx = &race,
    };
    bool balances = step_race_run(&frame) && check(&race);
    join_rig_fini(&race.rig);
    return balances ? 0 : 1;
}

/*
 * Threads of the stage unwind samples (engine/drain/unwind_step.h) with one source of mappings and files: in the end
 * each sample is in a chunk that came out, unwound to its last frame or cut short in a hurry, and the counts say so. A
 * plain program, so that it also runs under ThreadSanitizer.
 */
#include <linux/perf_event.h>
#include <stdio.h>

#include "tests/engine/step_race.h"
#include "tests/engine/unwind_rig.h"

struct race {
    struct unwind_rig rig;
    uint64_t made, found, frames;
};

static void fill(void *ctx, struct weir_chunk *chunk)
{
    struct race *race = ctx;
    for (uint64_t time_ns = 1000; chunk->used < STEP_RACE_CHUNK_BYTES - 2048; time_ns++, race->made++) {
        const struct unwind_sample sample = {.pid = UNWIND_RIG_PID,
                                             .time_ns = time_ns,
                                             .ip = UNWIND_RIG_LEAF,
                                             .abi = PERF_SAMPLE_REGS_ABI_64,
                                             .depth = 1 + (unsigned)(race->made % 40)};
        unwind_rig_append(chunk, &sample);
    }
}

static void take(void *ctx, const struct weir_chunk_stage *stage, const struct weir_chunk_stage_result *result,
                 uint64_t number)
{
    struct race *race = ctx;
    (void)stage, (void)number;
    struct unwound sample;
    int next;
    for (uint32_t at = 0; (next = unwind_rig_next(result->chunk, &at, &sample)) >= 0;) {
        race->found += (uint64_t)next;
        race->frames += next > 0 ? sample.frames - 1 : 0;
    }
}

static bool check(const struct race *race)
{
    const struct weir_unwound_sum counts = weir_unwind_step_sum(&race->rig.step);
    uint64_t ends = 0;
    for (unsigned i = 0; i < WEIR_UNWIND_ENDS; i++)
        ends += counts.ends[i];
    bool balances = race->found == race->made && ends == race->made && counts.samples == race->made &&
                    counts.frames == race->frames && atomic_load(&race->rig.opens) <= 2 * STEP_RACE_WORKERS;
    printf("%llu samples, %llu of them came out with %llu frames, %u files opened: %s\n",
           (unsigned long long)race->made, (unsigned long long)race->found, (unsigned long long)race->frames,
           atomic_load(&race->rig.opens), balances ? "holds" : "FAILED");
    return balances;
}

int main(void)
{
    static struct race race;
    if (!unwind_rig_init(&race.rig, STEP_RACE_WORKERS))
        return 1;
    const struct step_race frame = {
        .step = weir_unwind_step_rewriter(&race.rig.step),
        .pressed_every = 4,
        .fill = fill,
        .take = take,
        .ctx = &race,
    };
    bool balances = step_race_run(&frame) && check(&race);
    unwind_rig_fini(&race.rig);
    return balances ? 0 : 1;
}

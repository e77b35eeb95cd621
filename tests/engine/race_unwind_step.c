/*
 * Threads of the stage unwind samples (engine/drain/unwind_step.h) with one source of mappings and files: in the end
 * each sample is in a chunk that came out, unwound to its last frame or cut short in a hurry, and the counts say so. A
 * plain program, so that it also runs under ThreadSanitizer.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/drain/chunk_stage.h"
#include "tests/engine/unwind_rig.h"

#define WORKERS     3u
#define CHUNK_BYTES (64u * 1024)
#define CHUNKS      16u
#define SUBMITS     400u

struct race {
    struct unwind_rig rig;
    struct weir_chunk_stage stage;
    struct weir_chunk chunks[CHUNKS];
    uint8_t *data;
    uint64_t submitted, completed, made, found, frames;
};

static void fill(struct race *race, struct weir_chunk *chunk)
{
    chunk->used = 0;
    for (uint64_t time_ns = 1000; chunk->used < CHUNK_BYTES - 2048; time_ns++, race->made++) {
        const struct unwind_sample sample = {.pid = UNWIND_RIG_PID,
                                             .time_ns = time_ns,
                                             .ip = UNWIND_RIG_LEAF,
                                             .abi = PERF_SAMPLE_REGS_ABI_64,
                                             .depth = 1 + (unsigned)(race->made % 40)};
        unwind_rig_append(chunk, &sample);
    }
}

static void take(struct race *race, const struct weir_chunk_stage_result *result)
{
    struct unwound sample;
    int next;
    for (uint32_t at = 0; (next = unwind_rig_next(result->chunk, &at, &sample)) >= 0;) {
        race->found += (uint64_t)next;
        race->frames += next > 0 ? sample.frames - 1 : 0;
    }
    weir_chunk_stage_complete(&race->stage, result->chunk);
    race->completed++;
}

static void run(struct race *race)
{
    struct weir_chunk_stage_result result;
    while (race->completed < SUBMITS) {
        while (race->submitted < SUBMITS && race->submitted - race->completed < CHUNKS) {
            struct weir_chunk *chunk = &race->chunks[race->submitted % CHUNKS];
            fill(race, chunk);
            weir_chunk_stage_submit(&race->stage, chunk, race->submitted++ % 4 == 3);
            weir_chunk_stage_kick(&race->stage);
        }
        while (weir_chunk_stage_next(&race->stage, &result))
            take(race, &result);
        sched_yield();
    }
}

static bool check(const struct race *race)
{
    const struct weir_unwind_step *step = &race->rig.step;
    uint64_t ends = 0;
    for (unsigned i = 0; i < WEIR_UNWIND_ENDS; i++)
        ends += weir_unwind_step_count(step, WEIR_UNWIND_COUNT_ENDS + i);
    bool balances = race->found == race->made && ends == race->made &&
                    weir_unwind_step_count(step, WEIR_UNWIND_COUNT_SAMPLES) == race->made &&
                    weir_unwind_step_count(step, WEIR_UNWIND_COUNT_FRAMES) == race->frames &&
                    atomic_load(&race->rig.opens) <= 2 * WORKERS;
    printf("%llu samples, %llu of them came out with %llu frames, %u files opened: %s\n",
           (unsigned long long)race->made, (unsigned long long)race->found, (unsigned long long)race->frames,
           atomic_load(&race->rig.opens), balances ? "holds" : "FAILED");
    return balances;
}

int main(void)
{
    static struct race race;
    struct weir_error err = {0};
    race.data = calloc(CHUNKS, CHUNK_BYTES);
    if (!race.data || !unwind_rig_init(&race.rig, WORKERS))
        return 1;
    for (unsigned i = 0; i < CHUNKS; i++)
        race.chunks[i].data = race.data + (size_t)i * CHUNK_BYTES;
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {weir_unwind_step_rewriter(&race.rig.step)},
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
    bool balances = check(&race);
    weir_chunk_stage_fini(&race.stage);
    unwind_rig_fini(&race.rig);
    free(race.data);
    return balances ? 0 : 1;
}

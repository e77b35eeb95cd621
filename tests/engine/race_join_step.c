/*
 * Threads of the stage join deferred call chains (engine/drain/join_step.h): in the end each sample is in a chunk that
 * came out, no record of a user part is, and the counts of all threads say how many were joined. A plain program, so
 * that it also runs under ThreadSanitizer.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/drain/chunk_stage.h"
#include "tests/engine/join_rig.h"

#define WORKERS     3u
#define CHUNK_BYTES (64u * 1024)
#define CHUNKS      16u
#define SUBMITS     400u
#define LATE_EVERY  16u /* the record of one sample in so many is in no chunk */

struct race {
    struct join_rig rig;
    struct weir_chunk_stage stage;
    struct weir_chunk chunks[CHUNKS];
    uint8_t *data;
    uint64_t submitted, completed, made, made_late, found, found_joined, others;
};

static void fill(struct race *race, struct weir_chunk *chunk)
{
    chunk->used = 0;
    for (; chunk->used < CHUNK_BYTES - 1024; race->made++) {
        const struct join_sample sample = {.tid = 10, .cookie = 1 + race->made, .kernel = 1};
        join_rig_append(chunk, &sample);
        if (race->made % LATE_EVERY == 0)
            race->made_late++;
        else
            join_rig_append_record(chunk, 10, 1 + race->made, 0x400000, 1 + (unsigned)(race->made % 40));
    }
}

static void take(struct race *race, const struct weir_chunk_stage_result *result)
{
    struct joined sample;
    int next;
    for (uint32_t at = 0; (next = join_rig_next(result->chunk, &at, &sample)) >= 0;) {
        race->found += (uint64_t)next;
        race->others += next == 0;
        race->found_joined += next > 0 && sample.frames > 2;
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
    struct weir_error err = {0};
    race.data = calloc(CHUNKS, CHUNK_BYTES);
    if (!race.data || !join_rig_init(&race.rig))
        return 1;
    for (unsigned i = 0; i < CHUNKS; i++)
        race.chunks[i].data = race.data + (size_t)i * CHUNK_BYTES;
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {weir_join_step_rewriter(&race.rig.step)},
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
    join_rig_fini(&race.rig);
    free(race.data);
    return balances ? 0 : 1;
}

#include "tests/engine/step_race.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNKS  16u
#define SUBMITS 400u

struct run {
    const struct step_race *race;
    struct weir_chunk_stage stage;
    struct weir_chunk chunks[CHUNKS];
    uint64_t submitted, completed;
};

static void submit(struct run *run)
{
    const struct step_race *race = run->race;
    struct weir_chunk *chunk = &run->chunks[run->submitted % CHUNKS];
    run->submitted++;
    chunk->used = 0;
    race->fill(race->ctx, chunk);
    weir_chunk_stage_submit(&run->stage, chunk, race->pressed_every && run->submitted % race->pressed_every == 0);
    weir_chunk_stage_kick(&run->stage);
}

static void pass_all(struct run *run)
{
    struct weir_chunk_stage_result result;
    while (run->completed < SUBMITS) {
        while (run->submitted < SUBMITS && run->submitted - run->completed < CHUNKS)
            submit(run);
        while (weir_chunk_stage_next(&run->stage, &result)) {
            run->race->take(run->race->ctx, &run->stage, &result, run->completed);
            weir_chunk_stage_complete(&run->stage, result.chunk);
            run->completed++;
        }
        sched_yield();
    }
}

bool step_race_run(const struct step_race *race)
{
    static struct run run;
    struct weir_error err = {0};
    uint8_t *data = calloc(CHUNKS, STEP_RACE_CHUNK_BYTES);
    if (!data) {
        printf("no memory\n");
        return false;
    }
    run = (struct run){.race = race};
    for (unsigned i = 0; i < CHUNKS; i++)
        run.chunks[i].data = data + (size_t)i * STEP_RACE_CHUNK_BYTES;
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {race->step},
        .rewriter_count = 1,
        .workers = STEP_RACE_WORKERS,
        .chunk_bytes = STEP_RACE_CHUNK_BYTES,
    };
    bool is_set_up =
        weir_chunk_stage_init(&run.stage, &setup, &err) == 0 && weir_chunk_stage_start(&run.stage, &err) == 0;
    if (is_set_up) {
        pass_all(&run);
        weir_chunk_stage_stop(&run.stage);
    } else {
        printf("cannot set up: %s\n", err.what);
    }
    weir_chunk_stage_fini(&run.stage);
    free(data);
    return is_set_up;
}

/*
 * The frame of programs that race a step of the stage (engine/drain/chunk_rewriter.h): chunks are filled, go through a
 * stage with several threads, and are looked at when they come out.
 */
#ifndef WEIR_TESTS_ENGINE_STEP_RACE_H
#define WEIR_TESTS_ENGINE_STEP_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk_stage.h"

#define STEP_RACE_WORKERS     3u
#define STEP_RACE_CHUNK_BYTES (64u * 1024)

struct step_race {
    struct weir_chunk_rewriter step;
    unsigned pressed_every; /* the last of so many chunks comes when the pool is nearly empty; 0: none does */
    void (*fill)(void *ctx, struct weir_chunk *chunk);
    /* Looks at the chunk that came out as number `number`, from 0 on. */
    void (*take)(void *ctx, const struct weir_chunk_stage *stage, const struct weir_chunk_stage_result *result,
                 uint64_t number);
    void *ctx; /* borrowed */
};

/* Runs until all chunks have come out, and ends the threads. False: it could not be set up, and said why. */
bool step_race_run(const struct step_race *race);

#endif

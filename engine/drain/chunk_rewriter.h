/*
 * One step of the stage (chunk_stage.h) that rewrites the records of a chunk where they lie. A recording names its
 * steps in their order; each worker of the stage has a state of its own for each step.
 *
 * rewrite() may change, drop and shorten records, and sets chunk->used, which stays within the bytes of a chunk
 * (begin()). A step without memory of its own needs no more room than it has read: each record that it writes ends no
 * later than the record that it has read. It keeps the order of records, and gives none a time outside of those that
 * the chunk had. Each sample that goes in comes out or is counted by the step. A chunk that is empty afterwards goes
 * back to the pool.
 *
 * Steps see chunks of data only, in no promised order: a reader's chunks may meet several workers at once. So a step
 * knows nothing of the chunk before. There are no round marks in the chunk (weir_modes_make_marks()).
 */
#ifndef WEIR_ENGINE_DRAIN_CHUNK_REWRITER_H
#define WEIR_ENGINE_DRAIN_CHUNK_REWRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/drain/chunk.h"

struct weir_chunk_rewriter {
    const void *plan; /* borrowed: the same for all workers; const while they run */

    /* Returns the memory of one state. Any thread. */
    size_t (*state_bytes)(const void *plan, uint32_t chunk_bytes);

    /* Makes the state of one worker for chunks of so many bytes; NULL: no memory. Coordinator. */
    void *(*begin)(const void *plan, uint32_t chunk_bytes);
    void (*end)(void *state); /* NULL is allowed. Coordinator, after the worker */

    /* Rewrites a chunk with at least one record. is_hurried: the pool is nearly empty and the workers are behind, so
     * the step does not wait. The state's worker; allocates nothing that has no bound. */
    void (*rewrite)(void *state, struct weir_chunk *chunk, bool is_hurried);

    /* Takes back the step's counts of merged samples for samples in [records, records + bytes) that did not reach their
     * file. Adds the merged samples to each of `count` tables of samples, by place and event. Writer. NULL: a sample
     * stands for itself. */
    void (*take_back)(const void *plan, const uint8_t *records, uint64_t bytes, uint64_t *const samples[],
                      unsigned count);
};

#define WEIR_CHUNK_REWRITERS_MAX 4u

#endif

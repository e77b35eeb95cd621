/*
 * The sink of a reader: the owner of the chunk that the reader fills with records for the file.
 *
 *     take        a chunk from the reader's share of the pool
 *     make room   keep the current chunk, or hand it over and take another one
 *     hand over   push the current chunk into the writer's queue
 *     push        a chunk that another part has filled: a retained chunk (retention.h) or a train (chunk.h)
 *
 * A caller that moves records into the current chunk calls hold() before it releases the ring's tail. holding is true
 * while a round marker has to wait for the reader. That is while the current chunk holds records, a drop is not
 * reported yet (untold_rings), or bytes of an AUX area are owed.
 *
 *     (holding-clear) The coordinator that reads holding = false also sees the push, so a round marker that it pushes
 *                     later stands behind the chunk. The release of data_tail orders holding = true: see
 *                     weir_ring_is_drained().
 *
 * Reader thread, but for init() and fini(). No function makes a system call other than a futex wake (of the writer:
 * chunk_queue.h; of the pool's grower), takes a lock or allocates.
 */
#ifndef WEIR_ENGINE_DRAIN_CHUNK_SINK_H
#define WEIR_ENGINE_DRAIN_CHUNK_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/copy.h"
#include "engine/drain/aux_hooks.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/pool_grower.h"
#include "engine/drain/pressure.h"
#include "engine/drain/side_tee.h"

/* All borrowed. */
struct weir_chunk_sink_setup {
    struct weir_pool *pool;
    struct weir_pool_grower *grower; /* NULL: all of the pool is ready */
    struct weir_chunk_queue *queue;
    const struct weir_clock *clock; /* stamps chunks at the hand-over; NULL: nobody wants the time */
    unsigned number;                /* of the reader, in the pipeline */
    unsigned pool_share;            /* the share of the pool from which the reader takes first */
};

struct weir_chunk_sink {
    /* Constant once the thread runs; all borrowed. */
    const struct weir_chunk_sink_setup *setup;
    const struct weir_aux_hooks *aux; /* NULL: no ring has an AUX area */
    void *aux_ctx;
    struct weir_side_tee *tee; /* gets a copy of all side records; NULL: nobody wants one */
    bool past_caches;          /* records of data rings are copied past the caches (base/copy.h) */

    /* Reader thread only (readable by others after it was joined). */
    struct weir_chunk *chunk;                     /* being filled; NULL: none */
    unsigned untold_rings;                        /* rings with dropped samples that the file does not report yet */
    uint64_t handed;                              /* chunks pushed */
    uint64_t lent_bytes;                          /* handed over in chunks of another share than the reader's own */
    uint64_t pressure_rises[WEIR_PRESSURE_COUNT]; /* [level]: how often it was entered from below */

    /* Written by the reader, read by the coordinator. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t handed_bytes;
    _Atomic bool holding;                 /* (holding-clear) */
    _Atomic(enum weir_pressure) pressure; /* of the pool, as the reader saw it last */

    /* Written by the writer, read by the reader. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t returned; /* chunks back in the pool */
};

/* setup: borrowed until fini(). */
void weir_chunk_sink_init(struct weir_chunk_sink *sink, const struct weir_chunk_sink_setup *setup);

/* Gives the current chunk back to the pool. */
void weir_chunk_sink_fini(struct weir_chunk_sink *sink);

/* A chunk from the pool, or NULL. is_first: the caller has none yet; further chunks never come from the reserve. */
struct weir_chunk *weir_chunk_sink_take(struct weir_chunk_sink *sink, bool is_first);

/* Pushes a chunk that is not the current one. */
void weir_chunk_sink_push(struct weir_chunk_sink *sink, struct weir_chunk *chunk);

/* Pushes a train. If the current chunk holds records, pushes both as one item of the queue, so that no rotation comes
 * between them. The caller then calls note_holding(). */
void weir_chunk_sink_push_train(struct weir_chunk_sink *sink, struct weir_chunk *train);

/* Pushes the current chunk, which holds records. */
void weir_chunk_sink_hand_over(struct weir_chunk_sink *sink);

/* Sets holding, of a sink whose current chunk holds no records, to whether anything else is owed. (holding-clear) */
void weir_chunk_sink_note_holding(struct weir_chunk_sink *sink);

/* Hands over the current chunk, if there is one, and takes another. False: the pool is empty, there is none now. */
bool weir_chunk_sink_change(struct weir_chunk_sink *sink);

/* Looks at the pool's pressure. */
void weir_chunk_sink_note_pressure(struct weir_chunk_sink *sink);

/* The reader's chunks on their way to the disk. */
uint64_t weir_chunk_sink_outside(const struct weir_chunk_sink *sink);

/* Makes sure that the current chunk has room for so many bytes; 0: that there is a chunk. False: the pool is empty. */
static inline bool weir_chunk_sink_make_room(struct weir_chunk_sink *sink, uint64_t bytes)
{
    bool has_room = sink->chunk && weir_chunk_room(sink->chunk) >= bytes;
    return has_room || weir_chunk_sink_change(sink);
}

/* Records were added to the current chunk, or are owed to it. Relaxed: the release of the tail that follows orders the
 * store (D of ring.h); records that no ring holds are no older than a round. */
static inline void weir_chunk_sink_hold(struct weir_chunk_sink *sink)
{
    atomic_store_explicit(&sink->holding, true, memory_order_relaxed);
}

/* Orders the stores that went past the caches, before another thread gets the chunk. (On x86-64 the exchange of the
 * queue's push would do; C11 orders no such stores.) */
static inline void weir_chunk_sink_fence(const struct weir_chunk_sink *sink)
{
    if (sink->past_caches)
        weir_copy_fence();
}

/* The pressure as the reader saw it last. Relaxed: our own word, a hint for others. */
static inline enum weir_pressure weir_chunk_sink_pressure(const struct weir_chunk_sink *sink)
{
    return atomic_load_explicit(&sink->pressure, memory_order_relaxed);
}

#endif

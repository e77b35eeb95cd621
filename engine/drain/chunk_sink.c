/* Taking chunks from the pool and handing them to the writer. Reader thread. Protocol: chunk_sink.h. */
#include "engine/drain/chunk_sink.h"

#include <string.h>

#include "base/probe.h"
#include "engine/kernel/test_point.h"

void weir_chunk_sink_init(struct weir_chunk_sink *sink, const struct weir_chunk_sink_setup *setup)
{
    memset(sink, 0, sizeof(*sink));
    sink->setup = setup;
}

void weir_chunk_sink_fini(struct weir_chunk_sink *sink)
{
    if (sink->chunk)
        weir_pool_put(sink->setup->pool, sink->chunk);
    sink->chunk = NULL;
}

uint64_t weir_chunk_sink_outside(const struct weir_chunk_sink *sink)
{
    /* Relaxed: see weir_pool_put. */
    return sink->handed - atomic_load_explicit(&sink->returned, memory_order_relaxed);
}

void weir_chunk_sink_note_pressure(struct weir_chunk_sink *sink)
{
    enum weir_pressure before = weir_chunk_sink_pressure(sink), now = weir_pool_pressure(sink->setup->pool, before);
    for (unsigned level = before; level < now; level++)
        sink->pressure_rises[level + 1]++;
    if (now != before)
        atomic_store_explicit(&sink->pressure, now, memory_order_relaxed);
}

struct weir_chunk *weir_chunk_sink_take(struct weir_chunk_sink *sink, bool is_first)
{
    const struct weir_chunk_sink_setup *setup = sink->setup;
    weir_chunk_sink_note_pressure(sink);
    /* A reader without chunks in the pipeline may take from the reserve. */
    bool use_reserve = is_first && weir_chunk_sink_outside(sink) == 0;
    struct weir_chunk *chunk = weir_pool_take(setup->pool, setup->pool_share, use_reserve);
    if (setup->grower)
        weir_pool_grower_tell(setup->grower);
    return chunk;
}

/* Fills in the fields that the writer reads, of a chunk and of its followers. */
static void make_ready(struct weir_chunk_sink *sink, struct weir_chunk *chunk)
{
    const struct weir_chunk_sink_setup *setup = sink->setup;
    weir_chunk_sink_fence(sink);
    /* Relaxed: the coordinator only compares sums, to see whether anything has moved. */
    uint64_t bytes = atomic_load_explicit(&sink->handed_bytes, memory_order_relaxed) + weir_chunk_train_bytes(chunk);
    atomic_store_explicit(&sink->handed_bytes, bytes, memory_order_relaxed);
    if (sink->tee && !chunk->opaque) {
        chunk->tee = setup->number + 1;
        chunk->side_bytes = weir_side_tee_pushed(sink->tee);
    }
    uint64_t now_ns = setup->clock ? weir_clock_now_ns(setup->clock) : 0;
    for (; chunk; chunk = chunk->follower) {
        chunk->returned = &sink->returned;
        chunk->reader = setup->number + 1;
        chunk->handed_ns = now_ns;
        weir_probe_hand_over(setup->number, chunk->used);
        sink->handed++;
        sink->lent_bytes += chunk->share == setup->pool_share ? 0 : chunk->used;
    }
}

void weir_chunk_sink_push(struct weir_chunk_sink *sink, struct weir_chunk *chunk)
{
    make_ready(sink, chunk);
    weir_chunk_queue_push(sink->setup->queue, chunk);
}

void weir_chunk_sink_push_train(struct weir_chunk_sink *sink, struct weir_chunk *train)
{
    struct weir_chunk *chunk = sink->chunk;
    if (!chunk || chunk->used == 0) {
        weir_chunk_sink_push(sink, train);
        return;
    }
    make_ready(sink, chunk);
    make_ready(sink, train);
    sink->chunk = NULL;
    weir_chunk_queue_push_pair(sink->setup->queue, chunk, train);
}

void weir_chunk_sink_note_holding(struct weir_chunk_sink *sink)
{
    bool holds = sink->untold_rings > 0 || (sink->aux && sink->aux->owes(sink->aux_ctx));
    atomic_store_explicit(&sink->holding, holds, memory_order_release); /* (holding-clear) */
}

void weir_chunk_sink_hand_over(struct weir_chunk_sink *sink)
{
    if (!sink->aux || !sink->aux->push_chunk(sink->aux_ctx))
        weir_chunk_sink_push(sink, sink->chunk);
    sink->chunk = NULL;
    weir_test_point(WEIR_AT_READER_HELD);
    weir_chunk_sink_note_holding(sink);
}

bool weir_chunk_sink_change(struct weir_chunk_sink *sink)
{
    if (sink->chunk)
        weir_chunk_sink_hand_over(sink);
    sink->chunk = weir_chunk_sink_take(sink, true);
    return sink->chunk != NULL;
}

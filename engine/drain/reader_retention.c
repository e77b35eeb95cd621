/*
 * What a reader keeps in memory (-M) of its data rings: chunks are opened, sealed, evicted when another is needed or
 * time has passed, and handed over to a snapshot. Reader thread, but for init and evicted(). The list: retention.h.
 */
#include "engine/drain/reader_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernel/test_point.h"

int weir_reader_init_retention(struct weir_reader *reader, const struct weir_reader_setup *setup)
{
    if (setup->retained_chunks == 0)
        return 0;
    reader->retention = calloc(1, sizeof(*reader->retention));
    if (!reader->retention)
        return -ENOMEM;
    return weir_retention_init(reader->retention, &(struct weir_retention_setup){
                                                      .pool = setup->pool,
                                                      .room = setup->retained_chunks,
                                                      .span_ns = setup->retained_span_ns,
                                                      .counters = (size_t)setup->ring_count * setup->event_count,
                                                  });
}

/* Evicts the oldest chunk and returns it, or NULL: no room in the file's chunk for what must not be evicted. */
static struct weir_chunk *evict(struct weir_reader *reader)
{
    struct weir_retention *retention = reader->retention;
    uint64_t side_bytes = weir_retention_side_bytes(retention);
    if (side_bytes > 0 && !weir_reader_make_room(reader, side_bytes))
        return NULL;
    struct weir_chunk *chunk = weir_retention_evict(retention, reader->chunk);
    if (side_bytes > 0) /* relaxed: no ring holds these records any more, so nobody takes them for drained */
        atomic_store_explicit(&reader->holding, true, memory_order_relaxed);
    return chunk;
}

static bool evict_to_pool(struct weir_reader *reader)
{
    struct weir_chunk *chunk = evict(reader);
    if (!chunk)
        return false;
    weir_reader_settle(reader);
    weir_pool_retain(reader->pool, -1);
    weir_pool_put(reader->pool, chunk);
    return true;
}

struct weir_chunk *weir_reader_open_retained(struct weir_reader *reader)
{
    struct weir_retention *retention = reader->retention;
    struct weir_chunk *chunk = weir_retention_has_room(retention) ? weir_reader_take_chunk(reader, true) : NULL;
    if (chunk)
        weir_pool_retain(reader->pool, 1);
    else if (retention->count > 0)
        chunk = evict(reader);
    if (chunk)
        weir_retention_open(retention, chunk);
    return chunk;
}

void weir_reader_seal_retained(struct weir_reader *reader)
{
    uint64_t *counters = weir_retention_counters(reader->retention);
    for (unsigned i = 0; i < reader->ring_count; i++)
        memcpy(counters + (size_t)i * reader->event_count, reader->rings[i].counts.samples,
               reader->event_count * sizeof(*counters));
    weir_retention_seal(reader->retention);
}

/* False: come again, there is no room for what must not be evicted. */
static bool evict_outdated(struct weir_reader *reader, uint64_t newest_ns)
{
    while (weir_retention_is_outdated(reader->retention, newest_ns)) {
        if (!evict_to_pool(reader))
            return false;
    }
    return true;
}

void weir_reader_end_slice(struct weir_reader *reader)
{
    weir_reader_seal_retained(reader);
    evict_outdated(reader, 0);
}

/* What no snapshot has asked for. False: come again. */
static bool empty_at_end(struct weir_reader *reader)
{
    uint64_t before = weir_retention_evicted(reader->retention);
    bool emptied = true;
    while (emptied && reader->retention->count > 0)
        emptied = evict_to_pool(reader);
    reader->left_samples += weir_retention_evicted(reader->retention) - before;
    return emptied;
}

bool weir_reader_pass_retained(struct weir_reader *reader, uint64_t epoch, bool hands_over)
{
    const struct weir_reader_control *control = reader->control;
    struct weir_retention *retention = reader->retention;
    bool stops = epoch >= atomic_load_explicit(&control->stop_epoch, memory_order_relaxed);
    if (!hands_over && !stops)
        return true;

    if (retention->open.chunk && retention->open.chunk->used > 0)
        weir_reader_seal_retained(reader);
    if (!evict_outdated(reader, atomic_load_explicit(&control->newest_ns, memory_order_relaxed)))
        return false;
    /* What was copied out of evicted chunks is older than what is retained. */
    if (hands_over && reader->chunk && reader->chunk->used > 0)
        weir_reader_hand_over(reader);
    struct weir_chunk *chunk;
    while (hands_over && (chunk = weir_retention_take(retention))) {
        weir_pool_retain(reader->pool, -1);
        weir_test_point(WEIR_AT_SNAPSHOT_PUSH);
        weir_reader_push(reader, chunk);
    }
    return empty_at_end(reader);
}

uint64_t weir_reader_evicted(const struct weir_reader *reader, unsigned ring, unsigned event)
{
    return reader->retention ? reader->retention->evicted[(size_t)ring * reader->event_count + event] : 0;
}

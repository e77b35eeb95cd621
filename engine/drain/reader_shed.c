/*
 * What a reader does without when the output is behind: cutting stack dumps in the chunk that it fills, dropping
 * samples out of the ring, telling of both. Reader thread. When and why: shed.h.
 */
#include "engine/drain/reader_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

int weir_reader_init_shedding(struct weir_reader *reader, const struct weir_reader_setup *setup)
{
    reader->shed = setup->shed;
    if (!setup->shed || setup->shed->most < WEIR_SHED_CPUS)
        return 0;
    uint32_t room = setup->pool->chunk_count - setup->pool->reserve;
    reader->share_chunks = (uint32_t)weir_max_u64(room / setup->reader_count / 2, 1);
    for (unsigned i = 0; i < reader->ring_count; i++) {
        reader->rings[i].gaps = calloc(setup->event_count, sizeof(*reader->rings[i].gaps));
        if (!reader->rings[i].gaps)
            return -ENOMEM;
    }
    return 0;
}

uint64_t weir_reader_chunks_outside(const struct weir_reader *reader)
{
    /* Relaxed: see weir_pool_put. */
    return reader->handed - atomic_load_explicit(&reader->returned, memory_order_relaxed);
}

void weir_reader_note_pressure(struct weir_reader *reader)
{
    enum weir_pressure before = weir_reader_pressure(reader), now = weir_pool_pressure(reader->pool, before);
    for (unsigned level = before; level < now; level++)
        reader->pressure_rises[level + 1]++;
    if (now != before)
        atomic_store_explicit(&reader->pressure, now, memory_order_relaxed);
}

/* Adds to a count of its own that others look at. */
static void add_to(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
}

uint64_t weir_reader_trim(struct weir_reader *reader, const struct weir_reader_ring *r, uint8_t *data, uint64_t bytes)
{
    if (r->sideband || r->ring.newest || weir_reader_retains(reader, r))
        return bytes;
    struct weir_shed_trimmed trimmed = {0};
    uint64_t left = weir_shed_trim(reader->shed, &reader->layout, data, bytes, &trimmed);
    add_to(&reader->trimmed_samples, trimmed.samples);
    add_to(&reader->trimmed_bytes, trimmed.bytes);
    return left;
}

bool weir_reader_holds_back(const struct weir_reader *reader, const struct weir_reader_ring *r)
{
    return weir_reader_pressure(reader) == WEIR_PRESSURE_FULL && r->gaps && !r->sideband && !reader->stopping &&
           !weir_reader_retains(reader, r) && weir_reader_chunks_outside(reader) > reader->share_chunks;
}

bool weir_reader_tell(struct weir_reader *reader, struct weir_reader_ring *r)
{
    for (unsigned event = 0; r->untold && event < reader->event_count; event++) {
        if (r->gaps[event].untold == 0)
            continue;
        if (!weir_reader_make_room(reader, WEIR_SHED_TOLD_BYTES_MAX))
            return false;
        struct weir_chunk *chunk = reader->chunk;
        uint8_t *to = chunk->data + chunk->used;
        uint32_t bytes = weir_shed_tell(reader->shed, event, &r->gaps[event], to);
        if (weir_reader_renames(r))
            weir_record_rename(reader->set, to, bytes);
        chunk->used += bytes;
        /* Relaxed: holding was set when the samples were dropped; it stays what it is. */
        atomic_store_explicit(&reader->holding, true, memory_order_relaxed);
    }
    reader->untold_rings -= r->untold;
    r->untold = false;
    return true;
}

bool weir_reader_tell_all(struct weir_reader *reader)
{
    bool all = true;
    for (unsigned i = 0; reader->untold_rings > 0 && i < reader->ring_count; i++)
        all &= weir_reader_tell(reader, &reader->rings[i]);
    return all;
}

bool weir_reader_drop(struct weir_reader *reader, struct weir_reader_ring *r, uint64_t head)
{
    uint64_t before = 0, after = 0;
    for (unsigned event = 0; event < reader->event_count; event++)
        before += r->gaps[event].samples;
    uint64_t to = weir_shed_drop(reader->shed, &reader->layout, &r->ring, head, r->ring.bytes / 2, r->gaps);
    for (unsigned event = 0; event < reader->event_count; event++)
        after += r->gaps[event].samples;
    if (to == r->ring.tail)
        return false;
    add_to(&reader->shed_samples, after - before);
    reader->untold_rings += !r->untold;
    r->untold = true;
    /* Relaxed: ordered before the release of the tail that follows (D). */
    atomic_store_explicit(&reader->holding, true, memory_order_relaxed);
    weir_ring_release(&r->ring, to);
    return true;
}

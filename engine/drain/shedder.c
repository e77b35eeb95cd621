/* Trimming, dropping, and the records that report drops. Reader thread, but for init(). When and why: shed.h. */
#include "engine/drain/shedder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "engine/drain/record_rename.h"

int weir_shedder_init(struct weir_shedder *shedder, const struct weir_shedder_setup *setup)
{
    *shedder = (struct weir_shedder){.setup = *setup};
    if (!setup->plan || setup->plan->most < WEIR_SHED_CPUS)
        return 0;
    const struct weir_pool *pool = setup->sink->setup->pool;
    uint32_t room = pool->chunk_count - pool->reserve;
    shedder->share_chunks = (uint32_t)weir_max_u64(room / setup->reader_count / 2, 1);
    for (unsigned i = 0; i < setup->rings->count; i++) {
        struct weir_reader_ring *r = &setup->rings->at[i];
        r->gaps = calloc(setup->rings->event_count, sizeof(*r->gaps));
        if (!r->gaps)
            return -ENOMEM;
    }
    return 0;
}

/* Adds to a count that only this thread writes and others read. */
static void add_to(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
}

uint64_t weir_shedder_trim(struct weir_shedder *shedder, uint8_t *data, uint64_t bytes)
{
    struct weir_shed_trimmed trimmed = {0};
    uint64_t left = weir_shed_trim(shedder->setup.plan, shedder->setup.layout, data, bytes, &trimmed);
    add_to(&shedder->trimmed_samples, trimmed.samples);
    add_to(&shedder->trimmed_bytes, trimmed.bytes);
    return left;
}

bool weir_shedder_holds_back(const struct weir_shedder *shedder, const struct weir_reader_ring *r)
{
    return weir_chunk_sink_pressure(shedder->setup.sink) == WEIR_PRESSURE_FULL && r->gaps && !r->sideband &&
           weir_chunk_sink_outside(shedder->setup.sink) > shedder->share_chunks;
}

bool weir_shedder_tell(struct weir_shedder *shedder, struct weir_reader_ring *r)
{
    struct weir_chunk_sink *sink = shedder->setup.sink;
    for (unsigned event = 0; r->untold && event < shedder->setup.rings->event_count; event++) {
        if (r->gaps[event].untold == 0)
            continue;
        if (!weir_chunk_sink_make_room(sink, WEIR_SHED_TOLD_BYTES_MAX))
            return false;
        struct weir_chunk *chunk = sink->chunk;
        uint8_t *to = chunk->data + chunk->used;
        uint32_t bytes = weir_shed_tell(shedder->setup.plan, event, &r->gaps[event], to);
        if (weir_reader_ring_renames(r))
            weir_record_rename(shedder->setup.set, to, bytes);
        chunk->used += bytes;
        weir_chunk_sink_hold(sink); /* as it has been since the drop */
    }
    sink->untold_rings -= r->untold;
    r->untold = false;
    return true;
}

bool weir_shedder_tell_all(struct weir_shedder *shedder)
{
    bool all = true;
    for (unsigned i = 0; shedder->setup.sink->untold_rings > 0 && i < shedder->setup.rings->count; i++)
        all &= weir_shedder_tell(shedder, &shedder->setup.rings->at[i]);
    return all;
}

static uint64_t dropped_samples(const struct weir_reader_ring *r, unsigned event_count)
{
    uint64_t samples = 0;
    for (unsigned event = 0; event < event_count; event++)
        samples += r->gaps[event].samples;
    return samples;
}

bool weir_shedder_drop(struct weir_shedder *shedder, struct weir_reader_ring *r, uint64_t head)
{
    unsigned event_count = shedder->setup.rings->event_count;
    uint64_t before = dropped_samples(r, event_count);
    uint64_t to =
        weir_shed_drop(shedder->setup.plan, shedder->setup.layout, &r->ring, head, r->ring.bytes / 2, r->gaps);
    if (to == r->ring.tail)
        return false;
    add_to(&shedder->shed_samples, dropped_samples(r, event_count) - before);
    shedder->setup.sink->untold_rings += !r->untold;
    r->untold = true;
    weir_chunk_sink_hold(shedder->setup.sink);
    weir_ring_release(&r->ring, to);
    return true;
}

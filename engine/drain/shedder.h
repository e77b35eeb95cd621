/*
 * Sheds samples of one reader while the output is behind. It trims stack dumps in the current chunk, drops samples out
 * of a ring, and reports the drops in the file. When and why: shed.h.
 *
 * Dropped samples count as held (chunk_sink.h) until a record of the file reports them. Reader thread, but for init().
 */
#ifndef WEIR_ENGINE_DRAIN_SHEDDER_H
#define WEIR_ENGINE_DRAIN_SHEDDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk_sink.h"
#include "engine/drain/reader_ring.h"
#include "engine/drain/shed.h"

/* All borrowed. */
struct weir_shedder_setup {
    const struct weir_shed_plan *plan; /* NULL: nothing is shed */
    const struct weir_walk_layout *layout;
    const struct weir_event_set *set; /* for rings that rename; else may be NULL */
    struct weir_chunk_sink *sink;
    struct weir_reader_rings *rings;
    unsigned reader_count; /* readers that share the pool */
};

struct weir_shedder {
    struct weir_shedder_setup setup;
    uint32_t share_chunks; /* half of the pool's chunks that an equal share would give the reader, at least one */

    /* Written by the reader, read by the coordinator. */
    _Atomic uint64_t shed_samples, trimmed_samples, trimmed_bytes;
};

/* 0 or -ENOMEM; the rings own the memory. */
int weir_shedder_init(struct weir_shedder *shedder, const struct weir_shedder_setup *setup);

/* Trims the stack dumps of the whole records in [data, data + bytes). Returns the bytes that are left. */
uint64_t weir_shedder_trim(struct weir_shedder *shedder, uint8_t *data, uint64_t bytes);

/* Whether the reader leaves a ring alone: it has more than its share on the way, and the pool is nearly full. */
bool weir_shedder_holds_back(const struct weir_shedder *shedder, const struct weir_reader_ring *r);

/* Drops samples from the ring's tail until the ring is half empty, or another record stands first. False: dropped none.
 */
bool weir_shedder_drop(struct weir_shedder *shedder, struct weir_reader_ring *r, uint64_t head);

/* Reports the drops of one ring in the sink's chunk. False: come again, the pool is empty. */
bool weir_shedder_tell(struct weir_shedder *shedder, struct weir_reader_ring *r);

/* Reports the drops of all rings. False: come again. */
bool weir_shedder_tell_all(struct weir_shedder *shedder);

/* Whether the pressure is high enough to trim stack dumps, and the plan allows it. */
static inline bool weir_shedder_trims(const struct weir_shedder *shedder)
{
    return weir_chunk_sink_pressure(shedder->setup.sink) >= WEIR_PRESSURE_HIGH && shedder->setup.plan &&
           shedder->setup.plan->most >= WEIR_SHED_STACKS && shedder->setup.plan->has_stacks;
}

#endif

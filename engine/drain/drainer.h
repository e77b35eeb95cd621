/*
 * Drains the rings of one reader: copies their records into chunks block by block, and walks each block while it is in
 * the cache. A block that is copied past the caches is walked where it came from, and some of the next block is copied
 * on the way.
 *
 * Records of sideband rings go to the chunk of the sink; those of data rings too, or, with a retention, to its open
 * chunk. Per block, in this order: copy, walk, hold (chunk_sink.h), release of the tail (D of ring.h).
 *
 * Reader thread, but for init(). Nothing here makes a system call other than a futex wake, takes a lock or allocates.
 */
#ifndef WEIR_ENGINE_DRAIN_DRAINER_H
#define WEIR_ENGINE_DRAIN_DRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk_sink.h"
#include "engine/drain/mark_maker.h"
#include "engine/drain/reader_ring.h"
#include "engine/drain/record_walk.h"
#include "engine/drain/retention.h"
#include "engine/drain/shedder.h"

struct weir_drainer {
    /* Constant once the thread runs; all borrowed. */
    struct weir_chunk_sink *sink;
    struct weir_retention *retention; /* NULL: samples go to the sink, too */
    struct weir_shedder *shedder;
    struct weir_mark_maker *marks;
    const struct weir_walk_layout *layout;
    const struct weir_event_set *set; /* for ids of events that were opened anew; may be NULL when none ever is */
    unsigned off_cpu_event;           /* 1 + index of whose samples are put in order (off_cpu_sample.h); 0: none */

    /* Of one step; reset by begin(). */
    bool stopping;           /* no later step comes */
    bool half_full;          /* a ring had to be left at least half full */
    uint32_t fill_per_mille; /* of the fullest ring, before it was drained */
};

/* Begins a step. */
static inline void weir_drainer_begin(struct weir_drainer *drainer, bool stopping)
{
    drainer->stopping = stopping;
    drainer->half_full = false;
    drainer->fill_per_mille = 0;
}

/* Drains a mapped ring up to its head at the call. False: come again, the pool is empty or the ring is held back. */
bool weir_drainer_drain(struct weir_drainer *drainer, struct weir_reader_ring *r);

/* Reads a ring of the newest records, newest first. The kernel does not write to the ring meanwhile. False: come again,
 * the pool is empty. */
bool weir_drainer_read_newest(struct weir_drainer *drainer, struct weir_reader_ring *r);

#endif

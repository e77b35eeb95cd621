/*
 * How readers keep up: how long a reader leaves its rings alone, how full they are when it comes back, how long it
 * waits for memory. Gaps and waits around a rotation of the output are kept apart.
 *
 *     gap     from one look at the rings to the next look that a watermark has called for
 *     fill    of the fullest ring at that look, in thousandths
 *     wait    for a chunk: begins with a look that leaves records in the rings for want of a chunk; ends with the next
 *             look that leaves none
 *
 * In a storm the gap is the period of the drains; otherwise it is the time in which a quarter of a ring fills. A reader
 * that was held up has a longer gap and a fuller ring than others in the same storm. Looks for a round or a snapshot
 * find rings below their watermark: they count as no gap and no fill, but the next gap begins with them.
 *
 * A rotation takes CPU time and the disk until the finisher ends its work on the old file, fsync included. A gap or a
 * wait is around a rotation when it overlaps the time from the rotation's beginning to that end.
 *
 * A look costs one clock reading and a few instructions; a record costs nothing. The reader's thread calls look(). Any
 * thread may call sum() at any time.
 */
#ifndef WEIR_ENGINE_DRAIN_DRAIN_WATCH_H
#define WEIR_ENGINE_DRAIN_DRAIN_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "engine/drain/rotation_count.h"

enum weir_drain_moment {
    WEIR_DRAIN_ELSEWHERE,
    WEIR_DRAIN_AT_ROTATION,
    WEIR_DRAIN_MOMENTS,
};

struct weir_drain_figures {
    struct weir_shared_histogram gap_us, fill_per_mille, wait_us;
};

/* All zero: has seen nothing. */
struct weir_drain_watch {
    struct weir_drain_figures figures[WEIR_DRAIN_MOMENTS];
    /* The reader's alone. */
    uint64_t looked_ns;        /* 0: never */
    uint64_t looked_rotations; /* the word at that look */
    uint64_t waits_from_ns;    /* 0: it does not wait */
    bool wait_met_rotation;
};

struct weir_drain_look {
    uint64_t at_ns;                              /* when it began; monotonic, > 0 */
    const struct weir_rotation_count *rotations; /* borrowed for the call */
    bool due;                                    /* a ring had called for it, or records had been left behind */
    bool leaves_behind;                          /* records, for want of a chunk */
    uint32_t fill_per_mille;                     /* of the fullest ring, before it was drained */
};

/* Once for each look at the rings, after it. */
void weir_drain_watch_look(struct weir_drain_watch *watch, const struct weir_drain_look *look);

struct weir_drain_sums {
    struct weir_histogram gap_us, fill_per_mille, wait_us;
};

/* Adds the figures of one reader so far. */
void weir_drain_watch_sum(const struct weir_drain_watch *watch, enum weir_drain_moment moment,
                          struct weir_drain_sums *sums);

struct weir_drain_spread {
    uint64_t count, p50, p99, max;
};

struct weir_drain_summary {
    struct weir_drain_spread gap_us, fill_per_mille, wait_us;
};

void weir_drain_sums_summarize(const struct weir_drain_sums *sums, struct weir_drain_summary *summary);

#endif

/*
 * The words by which the coordinator directs all readers. The coordinator writes them, readers read them; the edges are
 * those of reader.h.
 */
#ifndef WEIR_ENGINE_DRAIN_READER_CONTROL_H
#define WEIR_ENGINE_DRAIN_READER_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/drain/rotation_count.h"

/* The kernel takes a record's time at most so long before it publishes the record by moving data_head: rounds.h. */
#define WEIR_ROUND_GRACE_NS (2 * WEIR_NS_PER_MS)

struct weir_reader_control {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t epoch; /* grows by one; 0: none opened yet */
    /* The release of an epoch publishes the next two words (epoch-open). */
    _Atomic uint64_t stop_epoch;          /* a reader ends once it has passed this epoch; UINT64_MAX: it goes on */
    _Atomic uint64_t snapshot_epoch;      /* the newest epoch that is a snapshot; 0: none */
    _Atomic uint64_t newest_ns;           /* of the newest sample that any reader retained when that was opened */
    _Atomic bool mapping;                 /* a dormant ring whose events are enabled is being mapped: round_mark.h */
    struct weir_rotation_count rotations; /* the coordinator begins them, the finisher may end them */
};

#endif

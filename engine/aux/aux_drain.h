/*
 * Drains AUX areas (engine/kernel/ring.h): their bytes become AUXTRACE records in trains of chunks
 * (engine/drain/chunk.h).
 *
 * The reader drains the ring first, and then the area, up to the end of the AUX records that it has seen in the ring.
 * So AUX records and the bytes that they describe stand in the same file, also around a rotation. When the pool is
 * empty a train ends early.
 *
 * The kernel disables an event whose area is full. A reader that may have seen a full area sets wants_enable and writes
 * to the eventfd. The coordinator enables the event, because the coordinator alone knows whether the event is to be on.
 * An area of the newest bytes is read when a snapshot is passed, while its event is disabled.
 *
 * The hooks below are all that the rest of a reader knows of this.
 */
#ifndef WEIR_ENGINE_AUX_AUX_DRAIN_H
#define WEIR_ENGINE_AUX_AUX_DRAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/aux_hooks.h"
#include "engine/drain/chunk.h"
#include "engine/kernel/ring.h"

/* The AUX area beside a ring, and the piece of it that is being copied. By the reader, but where it says otherwise. */
struct weir_aux_drain {
    struct weir_aux_area area; /* not mapped: there is none */
    uint32_t index;            /* of the area, in AUXTRACE records; set with task and cpu by the mapper */
    int task, cpu;             /* of the area, in AUXTRACE records */
    uint32_t entry_bytes;      /* bytes before the wrap are cut to whole entries of that size; 1: taken as they are */
    uint64_t snapshot_bytes;   /* of a newest area: at most so many of its newest bytes */
    bool sampled;              /* the kernel copies its bytes into samples: nobody reads the area */

    uint64_t from, before_wrap, behind_wrap; /* the piece: a position of the area, and its bytes */
    uint64_t left_out;                       /* bytes between these two that are no whole entry */
    uint64_t copied;                         /* bytes of the piece */
    struct weir_chunk *train, *last;         /* they were copied to these chunks; NULL: none yet */
    bool reading;                            /* a snapshot is being copied; resumes after a wait for a chunk */
    bool was_read;                           /* in the snapshot that is being passed, while other areas still wait */
    bool was_full;                           /* of a newest area: it was once written to its end */
    unsigned waits;                          /* steps in a row in which bytes of an AUX record were not published */
    uint64_t truncated_seen;                 /* truncated AUX records when its event was last to be enabled */
    uint64_t pieces, bytes;                  /* handed over, and bytes of the area in them */
    uint64_t cut_pieces;                     /* of these, because the pool was empty */
    _Atomic bool wants_enable;               /* its event may be disabled for want of room: set by the reader, cleared
                                              * by the coordinator */
    uint64_t enable_at_ns, enable_step_ns;   /* coordinator only: when to enable the event once more; 0: never */
    uint64_t head_then;                      /* coordinator only: the area's head when it last enabled the event */
};

extern const struct weir_aux_hooks weir_aux_drain_hooks;

#endif

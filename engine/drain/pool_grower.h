/*
 * The thread that makes more of the pool ready while recording, so that neither a reader nor the writer ever waits for
 * the kernel to zero memory.
 *
 *     reader (with each chunk), writer (each pass)    grower
 *     less than half of what is ready is free?        AWAKE to ASLEEP, unless it is TOLD; futex wait while ASLEEP
 *     word = TOLD, release            (W)             word = AWAKE, acquire             (W)
 *     it was ASLEEP -> futex wake                     grow until half is free
 *
 *     (W) only says "look again": what there is to see are the pool's own counters. Who finds it ASLEEP is the one that
 *         wakes it, so there is at most one wake for each time that it waits, and none while it works.
 *
 * Readers tell it too, because what they take fastest they take while the writer does not come back: from a write, an
 * fallocate(2) or the head of the file, in a system call that the file system keeps. When all is ready there is
 * nothing to tell.
 *
 * It ends by itself when all is ready or when the kernel has no memory left: then the pool stays as large as it is.
 */
#ifndef WEIR_ENGINE_DRAIN_POOL_GROWER_H
#define WEIR_ENGINE_DRAIN_POOL_GROWER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk.h"

struct weir_pool_grower {
    struct weir_pool *pool; /* borrowed; the grower is the one thread that calls weir_pool_grow() */
    _Atomic uint32_t word;  /* futex word, see pool_grower.c */
    _Atomic bool stopping;  /* written by stop() */
    int error;              /* 0, or -ENOMEM: the pool could not grow further; readable after the thread was joined */
};

void weir_pool_grower_init(struct weir_pool_grower *grower, struct weir_pool *pool);

/* The body of its thread. */
void weir_pool_grower_run(struct weir_pool_grower *grower);

/* Makes run() grow the pool when that is wanted (weir_pool_wants_growth()). Readers and writer; a system call only when
 * the grower sleeps. */
void weir_pool_grower_tell(struct weir_pool_grower *grower);

/* Makes run() return. Any thread. */
void weir_pool_grower_stop(struct weir_pool_grower *grower);

#endif

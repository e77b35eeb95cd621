/*
 * The thread that makes more of the pool ready while recording. So neither a reader nor the writer ever waits for the
 * kernel to zero memory.
 *
 *     reader (with each chunk), writer (each pass)     grower
 *     less than half of the ready chunks is free?      AWAKE to ASLEEP, unless it is TOLD; futex wait while ASLEEP
 *     word = TOLD, release          (grower-told)      word = AWAKE, acquire        (grower-told)
 *     it was ASLEEP -> futex wake                      grow until half is free
 *
 *     (grower-told) The word only asks the grower to look again: the grower then reads the pool's own counters. The
 *                   thread that finds the word ASLEEP wakes the grower. So there is at most one wake for each wait, and
 *                   none while the grower works.
 *
 * Readers tell the grower, too. They take chunks fastest while a system call holds the writer (a write, an
 * fallocate(2), the head of the file). When all chunks are ready, no thread tells the grower anything.
 *
 * The grower ends by itself when all chunks are ready, or when the kernel has no memory left. The pool then keeps its
 * size.
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

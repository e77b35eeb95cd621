/*
 * The way of chunks from many readers to the one writer: an intrusive, unbounded-by-itself FIFO (it holds at most the
 * pool, which is bounded). Producers never wait and make no system call, except that one of them wakes a parked writer
 * when there are as many chunks as it has parked for: at most one futex wake for each time that it sleeps.
 *
 * Algorithm: D. Vyukov, "Intrusive MPSC node-based queue" (1024cores.net, 2010). A push is one exchange on `last`; the
 * order of exchanges is the order of the queue, whoever links its node first. That is what rounds rest on: a round
 * marker pushed after all chunks that it closes were pushed also leaves after them.
 *
 *     producer                                        writer
 *     node.next = NULL                                next = first.next, acquire        (G)
 *     before = exchange(last, node)        (F)        ... chunk contents ...; popped++
 *     before.next = node, release          (G)        wake_at = popped + chunks
 *     n = ++pushed                         (H)        parked = PARKED                   (H)
 *     parked == PARKED, n >= wake_at?      (H)        pushed >= wake_at?                (H)
 *         -> PARKED to WOKEN, futex wake                  no -> futex wait
 *
 *     (F) acquire-release: a producer's own earlier stores are ordered before the link of any later producer.
 *     (G) the writer reads the chunk only after its producer's stores.
 *     (H) sequentially consistent on both sides: either the producer whose push completes the number sees PARKED, and
 *         the wake_at of that park or of a later one, or the writer sees its count. Who exchanges PARKED for WOKEN is
 *         the one who wakes. A chunk may be popped before its producer has counted it; then popped is ahead for that
 *         moment, and so is wake_at.
 */
#ifndef WEIR_ENGINE_DRAIN_CHUNK_QUEUE_H
#define WEIR_ENGINE_DRAIN_CHUNK_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/drain/chunk.h"

struct weir_chunk_queue {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic(struct weir_chunk *) last; /* producers */
    _Atomic uint64_t pushed;                                           /* producers: chunks, once they are linked */
    _Alignas(WEIR_CACHE_LINE_BYTES) struct weir_chunk *first;          /* writer only */
    uint64_t popped;                                                   /* writer only */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t parked;           /* futex word, see chunk_queue.c */
    _Atomic uint64_t wake_at; /* writer: it has parked until so many were pushed */
    struct weir_chunk stub;   /* keeps the list non-empty */
};

void weir_chunk_queue_init(struct weir_chunk_queue *queue);

/* FILLING -> QUEUED; the chunk, with those that follow it, is the writer's from here on. One that is awaited ends a
 * park as wake() does. Any thread; wait-free but for the wake. */
void weir_chunk_queue_push(struct weir_chunk_queue *queue, struct weir_chunk *chunk);

/* The same with two, between which no other push comes. Any thread. */
void weir_chunk_queue_push_pair(struct weir_chunk_queue *queue, struct weir_chunk *first, struct weir_chunk *second);

/* QUEUED -> IN_FLIGHT, or NULL: empty, or the next producer has not linked its chunk yet. Writer thread. */
struct weir_chunk *weir_chunk_queue_pop(struct weir_chunk_queue *queue);

/* True when every push that has begun was popped. Writer thread. */
bool weir_chunk_queue_is_empty(struct weir_chunk_queue *queue);

/* The last chunk of those that stand in the queue, when all of them are data of that reader (chunk->reader), or NULL
 * when there is none; false: they are not, or there are more than a few, or a push is under way. Writer thread. */
bool weir_chunk_queue_is_of(struct weir_chunk_queue *queue, uint32_t reader, const struct weir_chunk **last);

enum weir_chunk_queue_park {
    WEIR_PARK_NEEDLESS,  /* it did not sleep: the chunks were there already */
    WEIR_PARK_WOKEN,     /* by a push or by wake(), perhaps before it slept */
    WEIR_PARK_TIMED_OUT, /* it slept for timeout_ms */
};

/* Sleeps until that many chunks (at least one) stand in the queue, an awaited one is pushed, wake() or timeout_ms (< 0:
 * none). Chunks that stand behind one that is not linked yet count, and cannot be popped: who parks needlessly and
 * finds nothing to pop has to pause. Writer thread. */
enum weir_chunk_queue_park weir_chunk_queue_park(struct weir_chunk_queue *queue, unsigned chunks, int timeout_ms);

/* Ends a park() without a push (stop); the next one, when none is under way. Any thread. */
void weir_chunk_queue_wake(struct weir_chunk_queue *queue);

#endif

/*
 * The way of chunks from many readers to the one writer: an intrusive, unbounded-by-itself FIFO (it holds at most the
 * pool, which is bounded). Producers never wait and make no system call, except one futex wake when the writer is
 * parked, which it is only after the flow has stopped for a while (writer.c).
 *
 * Algorithm: D. Vyukov, "Intrusive MPSC node-based queue" (1024cores.net, 2010). A push is one exchange on `last`; the
 * order of exchanges is the order of the queue, whoever links its node first. That is what rounds rest on: a round
 * marker pushed after all chunks that it closes were pushed also leaves after them.
 *
 *     producer                                        writer
 *     node.next = NULL                                next = first.next, acquire        (G)
 *     before = exchange(last, node)        (F)        ... chunk contents ...
 *     before.next = node, release          (G)        parked = 1; fence; last == first? (H)
 *     parked? -> wake                      (H)
 *
 *     (F) acquire-release: a producer's own earlier stores are ordered before the link of any later producer.
 *     (G) the writer reads the chunk only after its producer's stores.
 *     (H) sequentially consistent on both sides: either the producer sees parked, or the writer sees its exchange.
 */
#ifndef WEIR_ENGINE_DRAIN_CHUNK_QUEUE_H
#define WEIR_ENGINE_DRAIN_CHUNK_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/drain/chunk.h"

struct weir_chunk_queue {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic(struct weir_chunk *) last; /* producers */
    _Alignas(WEIR_CACHE_LINE_BYTES) struct weir_chunk *first;          /* writer only */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t parked;           /* futex word, see chunk_queue.c */
    struct weir_chunk stub;                                            /* keeps the list non-empty */
};

void weir_chunk_queue_init(struct weir_chunk_queue *queue);

/* FILLING -> QUEUED; the chunk is the writer's from here on. Any thread; wait-free but for the wake. */
void weir_chunk_queue_push(struct weir_chunk_queue *queue, struct weir_chunk *chunk);

/* QUEUED -> IN_FLIGHT, or NULL: empty, or the next producer has not linked its chunk yet. Writer thread. */
struct weir_chunk *weir_chunk_queue_pop(struct weir_chunk_queue *queue);

/* True when every push that has begun was popped. Writer thread. */
bool weir_chunk_queue_is_empty(struct weir_chunk_queue *queue);

/* Sleeps until a push, wake() or timeout_ms (< 0: none) when the queue is empty. Writer thread. */
void weir_chunk_queue_park(struct weir_chunk_queue *queue, int timeout_ms);

/* Ends a park() without a push (stop); the next one, when none is under way. Any thread. */
void weir_chunk_queue_wake(struct weir_chunk_queue *queue);

#endif

/*
 * The queue of chunks from all readers to the writer: an intrusive FIFO. It holds at most the pool, which is bounded.
 * Producers never wait. They make no system call but one: a producer wakes a parked writer once the queue has as many
 * chunks as the writer parked for. That is at most one futex wake for each sleep of the writer.
 *
 * Algorithm: D. Vyukov, "Intrusive MPSC node-based queue" (1024cores.net, 2010). A push is one exchange on `last`. The
 * order of exchanges is the order of the queue, whichever node is linked first. Rounds rest on that order: a round
 * marker that is pushed after all chunks of its round also leaves the queue after them.
 *
 *     producer                                               writer
 *     node.next = NULL                                       next = first.next, acquire    (queue-link)
 *     before = exchange(last, node)        (queue-order)     ... chunk contents ...; popped++
 *     before.next = node, release          (queue-link)      wake_at = popped + chunks
 *     n = ++pushed                         (queue-park)      parked = PARKED               (queue-park)
 *     parked == PARKED, n >= wake_at?      (queue-park)      pushed >= wake_at?            (queue-park)
 *         -> PARKED to WOKEN, futex wake                         no -> futex wait
 *
 *     (queue-order) Acquire-release: a producer's own earlier stores are ordered before the link of any later producer.
 *     (queue-link)  The writer reads the chunk only after its producer's stores.
 *     (queue-park)  Sequentially consistent on both sides. Either the producer whose push completes the number sees
 *                   PARKED, and the wake_at of that park or of a later one; or the writer sees that producer's count.
 *                   The producer that exchanges PARKED for WOKEN wakes the writer. The writer may pop a chunk before
 *                   its producer has counted it: popped is then ahead for that moment, and so is wake_at.
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

/* FILLING -> QUEUED; the chunk and its followers are the writer's from here on. An awaited chunk ends a park as wake()
 * does. Any thread; wait-free but for the wake. */
void weir_chunk_queue_push(struct weir_chunk_queue *queue, struct weir_chunk *chunk);

/* Pushes two chunks as weir_chunk_queue_push() does, with no other push between them. Any thread. */
void weir_chunk_queue_push_pair(struct weir_chunk_queue *queue, struct weir_chunk *first, struct weir_chunk *second);

/* QUEUED -> IN_FLIGHT, or NULL: empty, or the next producer has not linked its chunk yet. Writer thread. */
struct weir_chunk *weir_chunk_queue_pop(struct weir_chunk_queue *queue);

/* True when every push that has begun was popped. Writer thread. */
bool weir_chunk_queue_is_empty(struct weir_chunk_queue *queue);

/* Whether the queue holds only data of the reader (chunk->reader), round markers aside. Then *last is the newest of
 * these chunks, or NULL if the queue holds none. Otherwise *last is NULL. Also false when more than a few chunks stand
 * in the queue, or when a push is under way. Writer thread. */
bool weir_chunk_queue_is_of(struct weir_chunk_queue *queue, uint32_t reader, const struct weir_chunk **last);

enum weir_chunk_queue_park {
    WEIR_PARK_NEEDLESS,  /* it did not sleep: the chunks were there already */
    WEIR_PARK_WOKEN,     /* by a push or by wake(), perhaps before it slept */
    WEIR_PARK_TIMED_OUT, /* it slept for timeout_ms */
};

/* Sleeps until that many chunks (at least one) stand in the queue. A push of an awaited chunk, wake() and timeout_ms
 * (below 0: none) end the sleep, too. Chunks behind a chunk that is not linked yet count, but cannot be popped. A
 * writer that parks needlessly and finds nothing to pop has to pause. Writer thread. */
enum weir_chunk_queue_park weir_chunk_queue_park(struct weir_chunk_queue *queue, unsigned chunks, int timeout_ms);

/* Ends a park() without a push (stop), or the next park() when none is under way. Any thread. */
void weir_chunk_queue_wake(struct weir_chunk_queue *queue);

#endif

/*
 * The queue from the readers to the writer. push: any thread; pop, is_empty and park: the writer. Protocol and memory
 * order: chunk_queue.h.
 */
#include "engine/drain/chunk_queue.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/kernel/test_point.h"

#define LOOK_AHEAD 64u /* chunks that is_of() looks at */

enum { /* values of weir_chunk_queue.parked */
    AWAKE,
    PARKED, /* the writer sleeps, or is about to */
    WOKEN,  /* by a push, or by a wake that the next park has still to take */
};

void weir_chunk_queue_init(struct weir_chunk_queue *queue)
{
    atomic_init(&queue->stub.queue_next, NULL);
    atomic_init(&queue->last, &queue->stub);
    atomic_init(&queue->pushed, 0);
    atomic_init(&queue->parked, AWAKE);
    atomic_init(&queue->wake_at, 0);
    queue->first = &queue->stub;
    queue->popped = 0;
}

static void futex_wake(struct weir_chunk_queue *queue)
{
    syscall(SYS_futex, &queue->parked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void weir_chunk_queue_wake(struct weir_chunk_queue *queue)
{
    atomic_store_explicit(&queue->parked, WOKEN, memory_order_seq_cst);
    futex_wake(queue);
}

static void advance_train(struct weir_chunk *chunk, enum weir_chunk_state from, enum weir_chunk_state to)
{
    for (; chunk; chunk = chunk->follower)
        weir_chunk_advance(chunk, from, to);
}

/* first to last are linked already. */
static void link_last(struct weir_chunk_queue *queue, struct weir_chunk *first, struct weir_chunk *last)
{
    atomic_store_explicit(&last->queue_next, NULL, memory_order_relaxed); /* not shared yet */
    /* (queue-order), and the producer's half of (queue-park) */
    struct weir_chunk *before = atomic_exchange_explicit(&queue->last, last, memory_order_seq_cst);
    weir_test_point(WEIR_AT_QUEUE_LINK);
    /* (queue-link) */
    atomic_store_explicit(&before->queue_next, first, memory_order_release);
}

static void count_pushed(struct weir_chunk_queue *queue, unsigned count, bool awaited)
{
    weir_test_point(WEIR_AT_QUEUE_COUNT);
    /* (queue-park) */
    uint64_t pushed = atomic_fetch_add_explicit(&queue->pushed, count, memory_order_seq_cst) + count;
    weir_test_point(WEIR_AT_QUEUE_WAKE);
    if (awaited) {
        weir_chunk_queue_wake(queue);
        return;
    }
    uint32_t state = atomic_load_explicit(&queue->parked, memory_order_seq_cst);
    /* Relaxed: stored before the PARKED that was just read. */
    if (state != PARKED || pushed < atomic_load_explicit(&queue->wake_at, memory_order_relaxed))
        return;
    /* Release on success: as wake(). */
    if (atomic_compare_exchange_strong_explicit(&queue->parked, &state, WOKEN, memory_order_release,
                                                memory_order_relaxed))
        futex_wake(queue);
}

void weir_chunk_queue_push(struct weir_chunk_queue *queue, struct weir_chunk *chunk)
{
    bool awaited = chunk->awaited; /* the writer owns the chunk once it is linked */
    advance_train(chunk, WEIR_CHUNK_FILLING, WEIR_CHUNK_QUEUED);
    link_last(queue, chunk, chunk);
    count_pushed(queue, 1, awaited);
}

void weir_chunk_queue_push_pair(struct weir_chunk_queue *queue, struct weir_chunk *first, struct weir_chunk *second)
{
    bool awaited = first->awaited || second->awaited;
    advance_train(first, WEIR_CHUNK_FILLING, WEIR_CHUNK_QUEUED);
    advance_train(second, WEIR_CHUNK_FILLING, WEIR_CHUNK_QUEUED);
    atomic_store_explicit(&first->queue_next, second, memory_order_relaxed); /* published by (queue-link) */
    link_last(queue, first, second);
    count_pushed(queue, 2, awaited);
}

struct weir_chunk *weir_chunk_queue_pop(struct weir_chunk_queue *queue)
{
    struct weir_chunk *first = queue->first;
    /* (queue-link) */
    struct weir_chunk *next = atomic_load_explicit(&first->queue_next, memory_order_acquire);
    if (first == &queue->stub) {
        if (!next)
            return NULL;
        queue->first = first = next;
        next = atomic_load_explicit(&first->queue_next, memory_order_acquire);
    }
    if (!next) {
        /* first is the only linked node: it can leave once something stands behind it. Acquire pairs with
         * (queue-order). */
        if (first != atomic_load_explicit(&queue->last, memory_order_acquire))
            return NULL; /* a producer is between (queue-order) and (queue-link) */
        link_last(queue, &queue->stub, &queue->stub);
        next = atomic_load_explicit(&first->queue_next, memory_order_acquire);
        if (!next)
            return NULL;
    }
    queue->first = next;
    queue->popped++;
    advance_train(first, WEIR_CHUNK_QUEUED, WEIR_CHUNK_IN_FLIGHT);
    return first;
}

bool weir_chunk_queue_is_empty(struct weir_chunk_queue *queue)
{
    /* (queue-park): everything that a producer exchanged before this load is seen. */
    return atomic_load_explicit(&queue->last, memory_order_seq_cst) == &queue->stub && queue->first == &queue->stub;
}

bool weir_chunk_queue_is_of(struct weir_chunk_queue *queue, uint32_t reader, const struct weir_chunk **last)
{
    /* (queue-order): as is_empty(). Up to there all pushes that the caller can know of are linked, or one is under way.
     */
    const struct weir_chunk *end = atomic_load_explicit(&queue->last, memory_order_seq_cst);
    const struct weir_chunk *node = queue->first;
    *last = NULL;
    for (unsigned n = 0; node && n < LOOK_AHEAD; n++) {
        if (node != &queue->stub && node->kind != WEIR_CHUNK_ROUND) {
            if (node->kind != WEIR_CHUNK_DATA || node->reader != reader)
                break;
            *last = node;
        }
        if (node == end)
            return true;
        node = atomic_load_explicit(&node->queue_next, memory_order_acquire); /* (queue-link) */
    }
    *last = NULL;
    return false;
}

enum weir_chunk_queue_park weir_chunk_queue_park(struct weir_chunk_queue *queue, unsigned chunks, int timeout_ms)
{
    uint64_t wake_at = queue->popped + chunks;
    weir_test_point(WEIR_AT_QUEUE_REST);
    /* Relaxed: published by the exchange that follows. */
    atomic_store_explicit(&queue->wake_at, wake_at, memory_order_relaxed);
    uint32_t state = AWAKE;
    /* (queue-park) */
    atomic_compare_exchange_strong_explicit(&queue->parked, &state, PARKED, memory_order_seq_cst, memory_order_acquire);
    weir_test_point(WEIR_AT_QUEUE_PARK);
    bool sleeps = state == AWAKE && atomic_load_explicit(&queue->pushed, memory_order_seq_cst) < wake_at;
    if (sleeps) {
        struct timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
        syscall(SYS_futex, &queue->parked, FUTEX_WAIT_PRIVATE, PARKED, timeout_ms < 0 ? NULL : &timeout, NULL, 0);
    }
    /* Acquire pairs with wake(): the writer that takes a wake sees the stores before it (its stopping flag). */
    bool woken = atomic_exchange_explicit(&queue->parked, AWAKE, memory_order_acquire) == WOKEN;
    return woken ? WEIR_PARK_WOKEN : sleeps ? WEIR_PARK_TIMED_OUT : WEIR_PARK_NEEDLESS;
}

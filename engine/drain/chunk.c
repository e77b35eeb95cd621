/*
 * The pool of chunks. take: readers and set-up threads; put: the writer. Protocol: chunk.h.
 */
#include "engine/drain/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/kernel/test_point.h"
#include "topology/node_memory.h"

#define INDEX_MASK 0xffffffffull
#define TAG_ONE    (1ull << 32)

#define BUFFER_MAX_BYTES  (1ull << 30) /* one registered buffer, io_uring_register(2) */
#define POOL_PER_READER   (32ull << 20)
#define POOL_READY_BYTES  (4ull << 20) /* per reader: twice the bytes in use while the disk keeps up */
#define POOL_MIN_BYTES    (16ull << 20)
#define POOL_MAX_BYTES    (4ull << 30)
#define POOL_MEMORY_SHARE 32 /* at most this part of the machine's memory */
#define CHUNKS_PER_READER 8  /* below this many, chunks get smaller: one for each reader is the reserve */

void weir_chunk_advance(struct weir_chunk *chunk, enum weir_chunk_state from, enum weir_chunk_state to)
{
    /* Relaxed: the stack and the queue pass on ownership; the field only witnesses it. */
    weir_assert(atomic_load_explicit(&chunk->state, memory_order_relaxed) == from);
    /* Release: for round markers, which no stack takes back. Their owner learns from FREE alone that the writer is done
     * with one (push_marker() in rounds.c has the acquire). */
    atomic_store_explicit(&chunk->state, to, memory_order_release);
}

void weir_chunk_cut(struct weir_chunk *chunk, uint32_t bytes)
{
    chunk->used = bytes;
    while (chunk->mark_count > 0 && chunk->marks[chunk->mark_count - 1].at >= bytes)
        chunk->mark_count--;
}

void weir_chunk_empty(struct weir_chunk *chunk)
{
    chunk->used = chunk->tee = chunk->reader = 0;
    chunk->awaited = false;
    chunk->first_sample_ns = chunk->last_sample_ns = chunk->lost_reported = 0;
    chunk->returned = NULL;
    chunk->handed_ns = 0;
    chunk->follower = NULL;
    chunk->follows = chunk->opaque = false;
    chunk->mark_count = chunk->marker_count = 0;
}

uint64_t weir_chunk_train_bytes(const struct weir_chunk *chunk)
{
    uint64_t bytes = 0;
    for (; chunk; chunk = chunk->follower)
        bytes += chunk->used;
    return bytes;
}

static void push_free(struct weir_pool_node *node, struct weir_chunk *chunk)
{
    uint64_t top = atomic_load_explicit(&node->top, memory_order_relaxed);
    uint64_t pushed;
    do {
        atomic_store_explicit(&chunk->free_next, (uint32_t)(top & INDEX_MASK), memory_order_relaxed);
        pushed = ((top & ~INDEX_MASK) + TAG_ONE) | (chunk->index + 1);
        weir_test_point(WEIR_AT_POOL_PUT);
        /* Release pairs with pop_free's acquire: the taker sees the chunk as its last owner left it. */
    } while (
        !atomic_compare_exchange_weak_explicit(&node->top, &top, pushed, memory_order_release, memory_order_relaxed));
    weir_test_point(WEIR_AT_POOL_COUNT);
    atomic_fetch_add_explicit(&node->free_count, 1, memory_order_relaxed);
}

static struct weir_chunk *pop_free(struct weir_pool *pool, struct weir_pool_node *node)
{
    /* Acquire on the failure path too: free_next below must be read from the chunk that this top names. */
    uint64_t top = atomic_load_explicit(&node->top, memory_order_acquire);
    struct weir_chunk *chunk;
    uint64_t next;
    do {
        if ((top & INDEX_MASK) == 0)
            return NULL;
        chunk = &pool->chunks[(top & INDEX_MASK) - 1];
        /* May be stale when another thread took the chunk meanwhile; then the tag has moved and the exchange fails. */
        next = (top & ~INDEX_MASK) | atomic_load_explicit(&chunk->free_next, memory_order_relaxed);
        weir_test_point(WEIR_AT_POOL_TAKE);
    } while (
        !atomic_compare_exchange_weak_explicit(&node->top, &top, next, memory_order_acquire, memory_order_acquire));
    weir_test_point(WEIR_AT_POOL_COUNT);
    atomic_fetch_sub_explicit(&node->free_count, 1, memory_order_relaxed);
    return chunk;
}

struct weir_chunk *weir_pool_take(struct weir_pool *pool, unsigned share, bool use_reserve)
{
    if (!use_reserve && weir_pool_free_count(pool) <= pool->reserve)
        return NULL;
    for (unsigned i = 0; i < pool->node_count; i++) {
        struct weir_chunk *chunk = pop_free(pool, &pool->nodes[(share + i) % pool->node_count]);
        if (chunk) {
            weir_chunk_advance(chunk, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
            weir_chunk_empty(chunk);
            return chunk;
        }
    }
    return NULL;
}

void weir_pool_put(struct weir_pool *pool, struct weir_chunk *chunk)
{
    weir_assert(atomic_load_explicit(&chunk->state, memory_order_relaxed) != WEIR_CHUNK_FREE);
    atomic_store_explicit(&chunk->state, WEIR_CHUNK_FREE, memory_order_relaxed);
    _Atomic uint64_t *returned = chunk->returned;
    push_free(&pool->nodes[chunk->share], chunk);
    /* Relaxed: the reader only compares it with its own count, to know its share. */
    if (returned)
        atomic_fetch_add_explicit(returned, 1, memory_order_relaxed);
}

void weir_pool_put_train(struct weir_pool *pool, struct weir_chunk *chunk)
{
    for (struct weir_chunk *next; chunk; chunk = next) {
        next = chunk->follower;
        weir_pool_put(pool, chunk);
    }
}

uint32_t weir_pool_free_count(const struct weir_pool *pool)
{
    /* Relaxed, and summed without a common moment: used for thresholds only. A pop may be counted before the push that
     * made it possible, so a node's count can be one below zero for an instant. */
    int64_t count = 0;
    for (unsigned i = 0; i < pool->node_count; i++)
        count += (int32_t)atomic_load_explicit(&pool->nodes[i].free_count, memory_order_relaxed);
    return count < 0 ? 0 : (uint32_t)count;
}

uint64_t weir_pool_default_bytes(uint64_t memory_bytes, unsigned readers)
{
    uint64_t most = weir_min_u64(POOL_MAX_BYTES, memory_bytes / POOL_MEMORY_SHARE);
    return weir_max_u64(POOL_MIN_BYTES, weir_min_u64(readers * POOL_PER_READER, most));
}

uint64_t weir_pool_default_ready_bytes(unsigned readers)
{
    return readers * POOL_READY_BYTES;
}

uint32_t weir_pool_used_count(const struct weir_pool *pool)
{
    /* Relaxed: for thresholds, as weir_pool_free_count(). */
    uint32_t ready = atomic_load_explicit(&pool->ready_count, memory_order_relaxed);
    int64_t used =
        (int64_t)ready - weir_pool_free_count(pool) - atomic_load_explicit(&pool->retained_count, memory_order_relaxed);
    return used > 0 ? (uint32_t)used : 0;
}

void weir_pool_retain(struct weir_pool *pool, int32_t chunks)
{
    /* Relaxed: for thresholds, as weir_pool_free_count(). */
    atomic_fetch_add_explicit(&pool->retained_count, chunks, memory_order_relaxed);
}

/* ---- making chunks ready ---- */

bool weir_pool_wants_growth(const struct weir_pool *pool)
{
    /* Relaxed: for thresholds, as weir_pool_free_count(). */
    uint32_t ready = atomic_load_explicit(&pool->ready_count, memory_order_relaxed);
    int64_t passing = (int64_t)ready - atomic_load_explicit(&pool->retained_count, memory_order_relaxed);
    return ready < pool->chunk_count && (int64_t)weir_pool_free_count(pool) < passing / 2;
}

static int make_ready(struct weir_pool *pool, struct weir_pool_node *node, uint32_t count)
{
    uint32_t first = node->ready;
    uint8_t *start = (uint8_t *)node->memory + (size_t)first * pool->chunk_bytes;
    int result = weir_node_memory_fault_in(start, (size_t)count * pool->chunk_bytes);
    if (result < 0)
        return result;
    weir_test_point(WEIR_AT_POOL_GROW);
    node->ready += count;
    atomic_fetch_add_explicit(&pool->ready_count, count, memory_order_relaxed); /* a threshold */
    /* Pushed last to first: the first taken is the first in memory. */
    for (uint32_t i = first + count; i > first; i--)
        push_free(node, &pool->chunks[node->first + i - 1]);
    return 0;
}

/* The node with chunks to make ready whose free chunks are the smallest part of it; NULL when all are ready. */
static struct weir_pool_node *node_to_grow(struct weir_pool *pool)
{
    struct weir_pool_node *best = NULL;
    uint64_t best_free = 0;
    for (unsigned i = 0; i < pool->node_count; i++) {
        struct weir_pool_node *node = &pool->nodes[i];
        if (node->ready == node->count)
            continue;
        int32_t lagging = (int32_t)atomic_load_explicit(&node->free_count, memory_order_relaxed); /* a threshold */
        uint64_t free = lagging < 0 ? 0 : (uint64_t)lagging;
        if (!best || free * best->count < best_free * node->count) {
            best = node;
            best_free = free;
        }
    }
    return best;
}

int weir_pool_grow(struct weir_pool *pool)
{
    struct weir_pool_node *node = node_to_grow(pool);
    if (!node)
        return -ENOSPC;
    uint32_t step = weir_max_u64(WEIR_POOL_GROW_BYTES / pool->chunk_bytes, 1);
    return make_ready(pool, node, (uint32_t)weir_min_u64(step, node->count - node->ready));
}

/* ---- building ---- */

static int reserve_node(struct weir_pool *pool, struct weir_pool_node *node)
{
    node->bytes = (size_t)node->count * pool->chunk_bytes;
    int result = weir_node_memory_reserve(&node->memory, node->bytes, node->node);
    for (uint32_t i = 0; result == 0 && i < node->count; i++) {
        struct weir_chunk *chunk = &pool->chunks[node->first + i];
        chunk->kind = WEIR_CHUNK_DATA;
        chunk->index = node->first + i;
        chunk->share = (uint32_t)(node - pool->nodes);
        chunk->capacity = pool->chunk_bytes;
        chunk->data = (uint8_t *)node->memory + (size_t)i * pool->chunk_bytes;
    }
    return result;
}

/* Appends the memory of the node's chunks [first, end) to the buffers. Chunk sizes divide the largest buffer's, so none
 * straddles two. */
static void add_buffers(struct weir_pool *pool, const struct weir_pool_node *node, uint32_t first, uint32_t end)
{
    uint32_t most = (uint32_t)(BUFFER_MAX_BYTES / pool->chunk_bytes);
    for (; first < end; first += most) {
        uint32_t count = (uint32_t)weir_min_u64(most, end - first);
        struct weir_chunk *chunks = &pool->chunks[node->first + first];
        for (uint32_t i = 0; i < count; i++)
            chunks[i].buffer_index = (int)pool->buffer_count;
        pool->buffers[pool->buffer_count++] =
            (struct iovec){.iov_base = chunks[0].data, .iov_len = (size_t)count * pool->chunk_bytes};
    }
}

/* How many chunks of the node are ready from the start. */
static uint32_t first_ready(const struct weir_pool *pool, const struct weir_pool_node *node, unsigned readers,
                            unsigned all_readers, uint64_t ready_bytes)
{
    /* At most all chunks: the product must not overflow. */
    uint64_t chunks = weir_min_u64(ready_bytes / pool->chunk_bytes, pool->chunk_count);
    uint64_t wanted = ready_bytes == WEIR_POOL_ALL_READY ? node->count : chunks * readers / all_readers;
    return (uint32_t)weir_min_u64(node->count, weir_max_u64(wanted, 2ull * readers));
}

static uint32_t chunk_bytes_for(uint64_t total_bytes, uint32_t chunk_bytes_max, unsigned readers)
{
    /* cppcheck-suppress zerodiv ; asserted by the callers */
    uint64_t wanted = total_bytes / ((uint64_t)readers * CHUNKS_PER_READER);
    return (uint32_t)weir_clamp_u64(weir_round_down_power_of_two(wanted | 1), WEIR_CHUNK_MIN_BYTES, chunk_bytes_max);
}

uint32_t weir_pool_chunk_bytes(uint64_t total_bytes, unsigned readers)
{
    weir_assert(readers > 0);
    return chunk_bytes_for(total_bytes, WEIR_CHUNK_MAX_BYTES, readers);
}

uint64_t weir_pool_whole_bytes(uint64_t total_bytes, unsigned readers)
{
    uint32_t chunk_bytes = weir_pool_chunk_bytes(total_bytes, readers);
    return weir_max_u64(total_bytes / chunk_bytes, 2ull * readers) * chunk_bytes;
}

static int allocate(struct weir_pool *pool, uint64_t total_bytes, uint32_t chunk_bytes_max,
                    const struct weir_pool_share *shares, unsigned share_count, unsigned readers)
{
    pool->chunk_bytes = chunk_bytes_for(total_bytes, chunk_bytes_max, readers);
    uint64_t total = weir_max_u64(total_bytes / pool->chunk_bytes, 2ull * readers);
    pool->node_count = share_count;
    pool->nodes = aligned_alloc(WEIR_CACHE_LINE_BYTES, share_count * sizeof(*pool->nodes));
    if (!pool->nodes)
        return -ENOMEM;
    memset(pool->nodes, 0, share_count * sizeof(*pool->nodes));

    size_t buffers = 0;
    for (unsigned i = 0; i < share_count; i++) {
        struct weir_pool_node *node = &pool->nodes[i];
        node->node = shares[i].node;
        node->first = pool->chunk_count;
        node->count = (uint32_t)weir_max_u64(2ull * shares[i].readers, total * shares[i].readers / readers);
        pool->chunk_count += node->count;
        buffers += (uint64_t)node->count * pool->chunk_bytes / BUFFER_MAX_BYTES + 2; /* ready and late */
    }
    pool->chunks = aligned_alloc(WEIR_CACHE_LINE_BYTES, pool->chunk_count * sizeof(*pool->chunks));
    pool->buffers = calloc(buffers, sizeof(*pool->buffers));
    if (!pool->chunks || !pool->buffers)
        return -ENOMEM;
    memset(pool->chunks, 0, pool->chunk_count * sizeof(*pool->chunks));
    return 0;
}

/* Builds the pool, but for the chunks that become ready later. */
static int build(struct weir_pool *pool, uint64_t total_bytes, uint64_t ready_bytes, uint32_t chunk_bytes_max,
                 uint64_t kept_bytes, const struct weir_pool_share *shares, unsigned share_count)
{
    unsigned readers = 0;
    for (unsigned i = 0; i < share_count; i++)
        readers += shares[i].readers;
    weir_assert(readers > 0);

    int result = allocate(pool, total_bytes, chunk_bytes_max, shares, share_count, readers);
    for (unsigned i = 0; result == 0 && i < share_count; i++)
        result = reserve_node(pool, &pool->nodes[i]);
    for (unsigned i = 0; result == 0 && i < share_count; i++) {
        struct weir_pool_node *node = &pool->nodes[i];
        uint32_t ready = first_ready(pool, node, shares[i].readers, readers, ready_bytes);
        add_buffers(pool, node, 0, ready);
        result = make_ready(pool, node, ready);
    }
    if (result < 0)
        return result;

    unsigned registered = pool->buffer_count;
    for (unsigned i = 0; i < share_count; i++)
        add_buffers(pool, &pool->nodes[i], pool->nodes[i].ready, pool->nodes[i].count);
    pool->late_count = pool->buffer_count - registered;

    /* Every reader can have one chunk to fill even while others wait for the disk. But when all of them hold one, one
     * more must be free above the reserve. Otherwise emit() would wait for chunks that no reader hands over. */
    uint32_t ready = atomic_load_explicit(&pool->ready_count, memory_order_relaxed); /* our own word */
    uint32_t kept = (uint32_t)(kept_bytes / pool->chunk_bytes);
    weir_assert(ready - kept >= 2 * readers);
    pool->reserve = (uint32_t)weir_min_u64(readers, ready - kept - readers - 1);
    return 0;
}

int weir_pool_init(struct weir_pool *pool, uint64_t total_bytes, uint64_t ready_bytes, uint32_t chunk_bytes_max,
                   uint64_t kept_bytes, const struct weir_pool_share *shares, unsigned share_count,
                   struct weir_error *err)
{
    memset(pool, 0, sizeof(*pool));
    int result = build(pool, total_bytes, ready_bytes, chunk_bytes_max, kept_bytes, shares, share_count);
    if (result < 0) {
        uint64_t bytes = (uint64_t)pool->chunk_count * pool->chunk_bytes;
        weir_pool_fini(pool);
        weir_error_set_errno(err, result, "cannot map the chunk pool (%llu MiB)", (unsigned long long)(bytes >> 20));
        weir_error_hint(err, "give a smaller pool with --buffer-size");
    }
    return result;
}

void weir_pool_fini(struct weir_pool *pool)
{
    if (!pool)
        return;
    for (unsigned i = 0; pool->nodes && i < pool->node_count; i++) {
        if (pool->nodes[i].memory)
            weir_node_memory_unmap(pool->nodes[i].memory, pool->nodes[i].bytes);
    }
    free(pool->nodes);
    free(pool->chunks);
    free(pool->buffers);
    memset(pool, 0, sizeof(*pool));
}

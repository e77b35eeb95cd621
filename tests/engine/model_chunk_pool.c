/*
 * The stack of free chunks (engine/drain/chunk.h) on the machine of weak_memory.h: two threads that take chunks of a
 * pool of three and put them back, or keep them. No chunk is with two of them, each is as its last owner left it, and
 * at the end all are there.
 */
#include "tests/engine/weak_memory.h"

#include "engine/drain/chunk.c"

#define CHUNKS 3u

static struct weir_pool pool;
static struct weir_pool_node node;
static struct weir_chunk chunks[CHUNKS];
static _Atomic uint32_t uses[CHUNKS]; /* of the owner, as the chunk's own fields */
static unsigned taken[CHUNKS], total;
static bool held[CHUNKS];

static void begin(void)
{
    memset(&pool, 0, sizeof(pool));
    memset(&node, 0, sizeof(node));
    memset(chunks, 0, sizeof(chunks));
    pool.chunks = chunks;
    pool.nodes = &node;
    pool.node_count = 1;
    pool.chunk_count = CHUNKS;
    total = 0;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        chunks[i].index = i;
        atomic_init(&chunks[i].free_next, i); /* index + 1 of the one below */
        atomic_init(&uses[i], 0);
        taken[i] = 0;
        held[i] = false;
    }
    atomic_init(&node.top, CHUNKS);
    atomic_init(&node.free_count, CHUNKS);
}

static struct weir_chunk *take(void)
{
    struct weir_chunk *chunk = pop_free(&pool, &node);
    if (!chunk)
        return NULL;
    if (held[chunk->index])
        weak_fail("a chunk is with two threads");
    held[chunk->index] = true;
    uint32_t found = atomic_load_explicit(&uses[chunk->index], memory_order_relaxed);
    if (found != taken[chunk->index])
        weak_fail("a chunk is not as its last owner left it");
    taken[chunk->index]++;
    total++;
    atomic_store_explicit(&uses[chunk->index], found + 1, memory_order_relaxed);
    return chunk;
}

static void put(struct weir_chunk *chunk)
{
    if (!chunk)
        return;
    held[chunk->index] = false;
    push_free(&node, chunk);
}

static void take_one(void)
{
    put(take());
}

/* So that the top of the stack is what it was, and what stands below it is not. */
static void take_two(void)
{
    struct weir_chunk *first = take(), *second = take();
    put(first);
    (void)second; /* kept */
}

static bool is_right(void)
{
    uint32_t at = (uint32_t)(atomic_load_explicit(&node.top, memory_order_relaxed) & INDEX_MASK);
    unsigned found = 0;
    for (; at != 0 && found <= CHUNKS; at = atomic_load_explicit(&chunks[at - 1].free_next, memory_order_relaxed))
        found += held[at - 1] ? CHUNKS + 1 : 1;
    unsigned kept = 0;
    for (unsigned i = 0; i < CHUNKS; i++)
        kept += held[i];
    return found + kept == CHUNKS && total >= 2;
}

int main(void)
{
    static const struct weak_program program = {
        .name = "stack of free chunks",
        .begin = begin,
        .threads = {take_one, take_two},
        .is_right = is_right,
        .preemptions = 3,
    };
    return weak_explore(&program) ? 0 : 1;
}

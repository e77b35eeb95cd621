/*
 * Threads that take chunks from a small pool of two nodes and put them back, as readers and writer do at once, while
 * one more makes the second half of the pool ready. No chunk may be with two of them (each writes its mark into the
 * chunk and looks for it later), and none may be lost. A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/drain/chunk.h"
#include "engine/drain/pool_grower.h"
#include "tests/engine/parking.h"

#define THREADS     6
#define TURNS       40000u
#define HELD_MAX    3
#define MARK_BYTES  64
#define NODE_CHUNKS 8 /* two nodes of them: fewer than the threads want */
#define NODE_READY  4 /* of these, at first */

struct taker {
    struct weir_pool *pool;          /* borrowed */
    struct weir_pool_grower *grower; /* borrowed; told by the first thread, as by the writer */
    unsigned number;
    uint64_t taken, refused, broken;
    _Atomic uint64_t returned;
    pthread_barrier_t *start; /* borrowed */
    pthread_t thread;
};

static bool holds_mark(const struct weir_chunk *chunk, unsigned number)
{
    for (unsigned i = 0; i < MARK_BYTES; i++) {
        if (chunk->data[i] != number)
            return false;
    }
    return chunk->used == MARK_BYTES;
}

static void *take_and_put(void *argument)
{
    struct taker *taker = argument;
    struct weir_chunk *held[HELD_MAX] = {NULL};
    pthread_barrier_wait(taker->start);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        unsigned place = turn * 7 % HELD_MAX;
        if (taker->number == 1)
            weir_pool_grower_tell(taker->grower);
        if (held[place]) {
            taker->broken += !holds_mark(held[place], taker->number);
            weir_pool_put(taker->pool, held[place]);
            held[place] = NULL;
            continue;
        }
        struct weir_chunk *chunk = weir_pool_take(taker->pool, taker->number % 2, turn % 3 != 0);
        if (!chunk) {
            taker->refused++;
            continue;
        }
        memset(chunk->data, (int)taker->number, MARK_BYTES);
        chunk->used = MARK_BYTES;
        chunk->returned = &taker->returned;
        held[place] = chunk;
        taker->taken++;
    }
    for (unsigned i = 0; i < HELD_MAX; i++) {
        if (held[i])
            weir_pool_put(taker->pool, held[i]);
    }
    return NULL;
}

static void *grow(void *argument)
{
    weir_pool_grower_run(argument);
    return NULL;
}

static int check(struct weir_pool *pool, const struct taker *takers)
{
    int failures = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct taker *t = &takers[i];
        printf("thread %u: took %llu, refused %llu, put %llu, broken %llu\n", t->number, (unsigned long long)t->taken,
               (unsigned long long)t->refused, (unsigned long long)t->returned, (unsigned long long)t->broken);
        failures += t->broken != 0 || t->taken != t->returned;
    }
    /* Under load the takers may be done before the grower is; what it has made ready must be there. */
    uint32_t ready = pool->ready_count;
    if (weir_pool_free_count(pool) != ready) {
        printf("%u of %u chunks are free at the end\n", weir_pool_free_count(pool), ready);
        failures++;
    }
    /* Each chunk is on a free list exactly once. */
    bool seen[2 * NODE_CHUNKS] = {false};
    struct weir_chunk *chunk;
    while ((chunk = weir_pool_take(pool, 0, true))) {
        failures += seen[chunk->index];
        seen[chunk->index] = true;
    }
    for (unsigned i = 0; i < pool->chunk_count; i++)
        ready -= seen[i];
    return failures + (ready != 0);
}

static int race(void *ctx)
{
    (void)ctx;
    const struct weir_pool_share shares[] = {{.node = -1, .readers = 2}, {.node = -1, .readers = 2}};
    struct weir_pool pool;
    struct weir_error err;
    if (weir_pool_init(&pool, 2 * NODE_CHUNKS * WEIR_CHUNK_MIN_BYTES, 0, WEIR_CHUNK_MAX_BYTES, 0, shares, 2, &err) <
            0 ||
        pool.chunk_count != 2 * NODE_CHUNKS || weir_pool_free_count(&pool) != 2 * NODE_READY) {
        printf("cannot make the pool: %s\n", err.what);
        return 1;
    }
    struct weir_pool_grower grower;
    pthread_t grower_thread;
    weir_pool_grower_init(&grower, &pool);
    if (pthread_create(&grower_thread, NULL, grow, &grower))
        return 1;
    struct taker takers[THREADS];
    pthread_barrier_t start;
    memset(takers, 0, sizeof(takers));
    pthread_barrier_init(&start, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        takers[i].pool = &pool;
        takers[i].grower = &grower;
        takers[i].number = i + 1;
        takers[i].start = &start;
        if (pthread_create(&takers[i].thread, NULL, take_and_put, &takers[i]))
            return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(takers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    weir_pool_grower_stop(&grower);
    pthread_join(grower_thread, NULL);
    int failures = check(&pool, takers);
    weir_pool_fini(&pool);
    return failures ? 1 : 0;
}

int main(void)
{
    static const enum weir_test_point points[] = {
        WEIR_AT_POOL_TAKE, WEIR_AT_POOL_PUT, WEIR_AT_POOL_COUNT, WEIR_AT_POOL_GROW, WEIR_AT_GROWER_SLEEP,
    };
    return parking_run(points, WEIR_ARRAY_COUNT(points), race, NULL) ? 1 : 0;
}

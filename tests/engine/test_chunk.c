/*
 * The chunk pool on one thread: its size and shares, who may take of the reserve, what is lent and given back. Threads:
 * race_chunk_pool.c.
 */
#include "engine/drain/chunk.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/base/failing_alloc.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static const struct weir_pool_share one_reader = {.node = 0, .readers = 1};

static void make_pool(struct weir_pool *pool, uint64_t bytes, const struct weir_pool_share *shares, unsigned count)
{
    struct weir_error err;
    cr_assert_eq(weir_pool_init(pool, bytes, WEIR_POOL_ALL_READY, WEIR_CHUNK_MAX_BYTES, 0, shares, count, &err), 0,
                 "%s", err.what);
}

/* Puts back what take() gave and the test no longer looks at. */
static void drop(struct weir_pool *pool, struct weir_chunk *chunk)
{
    weir_pool_put(pool, chunk);
}

/* ---- failures ---- */

Test(chunk, fini_takes_null_and_an_empty_pool)
{
    struct weir_pool pool;
    memset(&pool, 0, sizeof(pool));
    weir_pool_fini(NULL);
    weir_pool_fini(&pool);
}

Test(chunk, out_of_memory_leaves_nothing_behind)
{
    struct weir_pool pool;
    struct weir_error err;
    failing_alloc_after(0);
    cr_assert_eq(weir_pool_init(&pool, 256 * KIB, WEIR_POOL_ALL_READY, WEIR_CHUNK_MAX_BYTES, 0, &one_reader, 1, &err),
                 -ENOMEM);
    cr_assert_eq(err.code, -ENOMEM);
    cr_assert_str_eq(err.what, "cannot map the chunk pool (0 MiB): Cannot allocate memory");
    cr_assert_str_eq(err.hint, "give a smaller pool with --buffer-size");
    cr_assert_null(pool.nodes);
    cr_assert_null(pool.chunks);
}

/* What the process has mapped by now, from /proc/self/statm. */
static rlim_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    cr_assert_not_null(statm);
    cr_assert_eq(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

Test(chunk, refused_mapping_of_the_second_node_leaves_nothing_behind)
{
    const struct weir_pool_share shares[] = {{.node = 0, .readers = 1}, {.node = 0, .readers = 15}};
    struct rlimit limit = {.rlim_cur = mapped_bytes() + 128 * MIB, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    struct weir_pool pool;
    struct weir_error err;
    cr_assert_eq(weir_pool_init(&pool, 512 * MIB, WEIR_POOL_ALL_READY, WEIR_CHUNK_MAX_BYTES, 0, shares, 2, &err),
                 -ENOMEM);
    cr_assert_str_eq(err.what, "cannot map the chunk pool (512 MiB): Cannot allocate memory");
    cr_assert_null(pool.nodes);
}

Test(chunk, wrong_state_is_a_bug, .signal = SIGABRT)
{
    struct weir_chunk chunk;
    memset(&chunk, 0, sizeof(chunk));
    weir_chunk_advance(&chunk, WEIR_CHUNK_FILLING, WEIR_CHUNK_QUEUED);
}

Test(chunk, second_put_is_a_bug, .signal = SIGABRT)
{
    struct weir_pool pool;
    make_pool(&pool, 256 * KIB, &one_reader, 1);
    struct weir_chunk *chunk = weir_pool_take(&pool, 0, true);
    weir_pool_put(&pool, chunk);
    weir_pool_put(&pool, chunk);
}

/* ---- sizes ---- */

Test(chunk, default_bytes_follow_readers_within_memory)
{
    cr_assert_eq(weir_pool_default_bytes(1024 * 1024 * MIB, 1), 32 * MIB);
    cr_assert_eq(weir_pool_default_bytes(1024 * 1024 * MIB, 8), 256 * MIB);
    cr_assert_eq(weir_pool_default_bytes(1024 * 1024 * MIB, 1024), 4096 * MIB);
    cr_assert_eq(weir_pool_default_bytes(2048 * MIB, 64), 64 * MIB);
    cr_assert_eq(weir_pool_default_bytes(64 * MIB, 64), 16 * MIB);
}

struct size_case {
    uint64_t bytes;
    unsigned readers;
    uint32_t chunk_bytes, chunk_count;
};

static const struct size_case size_cases[] = {
    {0, 1, WEIR_CHUNK_MIN_BYTES, 2},
    {1, 3, WEIR_CHUNK_MIN_BYTES, 6},
    {256 * KIB, 1, WEIR_CHUNK_MIN_BYTES, 2},
    {768 * KIB, 1, WEIR_CHUNK_MIN_BYTES, 6},
    {2 * MIB - 1, 1, WEIR_CHUNK_MIN_BYTES, 15},
    {2 * MIB, 1, 256 * KIB, 8},
    {16 * MIB - 1, 1, MIB, 15},
    {16 * MIB, 1, WEIR_CHUNK_MAX_BYTES, 8},
    {18 * MIB, 1, WEIR_CHUNK_MAX_BYTES, 9},
    {32 * MIB, 8, 512 * KIB, 64},
};

Test(chunk, chunks_get_smaller_rather_than_fewer_than_eight)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(size_cases); i++) {
        const struct size_case *c = &size_cases[i];
        struct weir_pool_share share = {.node = 0, .readers = c->readers};
        struct weir_pool pool;
        make_pool(&pool, c->bytes, &share, 1);
        cr_assert_eq(pool.chunk_bytes, c->chunk_bytes, "case %zu: %u", i, pool.chunk_bytes);
        cr_assert_eq(pool.chunk_count, c->chunk_count, "case %zu: %u", i, pool.chunk_count);
        cr_assert_eq(weir_pool_free_count(&pool), c->chunk_count, "case %zu", i);
        weir_pool_fini(&pool);
    }
}

Test(chunk, every_chunk_lies_aligned_in_its_registered_buffer)
{
    const struct weir_pool_share shares[] = {{.node = 0, .readers = 2}, {.node = -1, .readers = 1}};
    struct weir_pool pool;
    make_pool(&pool, 6 * MIB, shares, 2);
    cr_assert_eq(pool.chunk_count, 24);
    cr_assert_eq(pool.buffer_count, 2);
    for (uint32_t i = 0; i < pool.chunk_count; i++) {
        const struct weir_chunk *chunk = &pool.chunks[i];
        const struct iovec *buffer = &pool.buffers[chunk->buffer_index];
        cr_assert_eq(chunk->index, i);
        cr_assert_eq(chunk->buffer_index, i < 16 ? 0 : 1);
        cr_assert_eq((uintptr_t)chunk->data % 4096, 0);
        cr_assert_eq(chunk->data, (uint8_t *)buffer->iov_base + (i < 16 ? i : i - 16) * 256 * KIB);
        cr_assert_leq(chunk->data + chunk->capacity, (uint8_t *)buffer->iov_base + buffer->iov_len);
    }
    weir_pool_fini(&pool);
}

/* ---- take and put ---- */

Test(chunk, empty_pool_gives_null)
{
    struct weir_pool pool;
    struct weir_chunk *taken[2];
    make_pool(&pool, 256 * KIB, &one_reader, 1);
    taken[0] = weir_pool_take(&pool, 0, true);
    taken[1] = weir_pool_take(&pool, 0, true);
    cr_assert_null(weir_pool_take(&pool, 0, true));
    cr_assert_eq(weir_pool_free_count(&pool), 0);
    drop(&pool, taken[0]);
    cr_assert_eq(weir_pool_free_count(&pool), 1);
    cr_assert_eq(weir_pool_take(&pool, 0, true), taken[0]);
    drop(&pool, taken[0]);
    drop(&pool, taken[1]);
    weir_pool_fini(&pool);
}

Test(chunk, taken_chunk_is_fresh_and_last_in_comes_first_out)
{
    struct weir_pool pool;
    make_pool(&pool, 512 * KIB, &one_reader, 1);
    _Atomic uint64_t returned = 0;
    struct weir_chunk *first = weir_pool_take(&pool, 0, true);
    struct weir_chunk *second = weir_pool_take(&pool, 0, true);
    cr_assert_eq(first, &pool.chunks[0]);
    cr_assert_eq(second, &pool.chunks[1]);
    first->used = 64;
    first->returned = &returned;
    weir_pool_put(&pool, second);
    weir_pool_put(&pool, first);
    cr_assert_eq(returned, 1);

    struct weir_chunk *again = weir_pool_take(&pool, 0, true);
    cr_assert_eq(again, first);
    cr_assert_eq(again->used, 0);
    cr_assert_null(again->returned);
    cr_assert_eq(again->state, WEIR_CHUNK_FILLING);
    weir_pool_put(&pool, again);
    cr_assert_eq(returned, 1);
    weir_pool_fini(&pool);
}

Test(chunk, own_node_is_served_first_and_others_lend)
{
    const struct weir_pool_share shares[] = {{.node = 0, .readers = 1}, {.node = 0, .readers = 1}};
    struct weir_pool pool;
    make_pool(&pool, 512 * KIB, shares, 2);
    cr_assert_eq(pool.chunk_count, 4);
    struct weir_chunk *taken[4];
    const uint32_t order[] = {2, 3, 0, 1}; /* of share 1: its own two, then those of share 0 */
    for (unsigned i = 0; i < 4; i++) {
        taken[i] = weir_pool_take(&pool, 1, true);
        cr_assert_eq(taken[i]->index, order[i]);
    }
    cr_assert_null(weir_pool_take(&pool, 1, true));
    /* A lent chunk goes home. */
    weir_pool_put(&pool, taken[2]);
    cr_assert_eq(weir_pool_take(&pool, 0, true), taken[2]);
    for (unsigned i = 0; i < 4; i++)
        drop(&pool, taken[i]);
    weir_pool_fini(&pool);
}

Test(chunk, reserve_is_for_those_who_have_nothing_in_the_pipeline)
{
    const struct weir_pool_share share = {.node = 0, .readers = 2};
    struct weir_pool pool;
    make_pool(&pool, 768 * KIB, &share, 1);
    cr_assert_eq(pool.chunk_count, 6);
    cr_assert_eq(pool.reserve, 2);
    struct weir_chunk *taken[6];
    for (unsigned i = 0; i < 4; i++) {
        taken[i] = weir_pool_take(&pool, 0, false);
        cr_assert_not_null(taken[i]);
    }
    cr_assert_null(weir_pool_take(&pool, 0, false));
    cr_assert_eq(weir_pool_free_count(&pool), 2);
    taken[4] = weir_pool_take(&pool, 0, true);
    taken[5] = weir_pool_take(&pool, 0, true);
    cr_assert_not_null(taken[4]);
    cr_assert_not_null(taken[5]);
    cr_assert_null(weir_pool_take(&pool, 0, true));
    for (unsigned i = 0; i < 6; i++)
        drop(&pool, taken[i]);
    weir_pool_fini(&pool);
}

/* Synthesized records are emitted while every reader may hold a chunk that it has not filled: if the reserve were all
 * that is left then, they would wait for each other. */
Test(chunk, smallest_pool_has_a_chunk_beside_readers_and_reserve)
{
    for (unsigned readers = 1; readers <= 5; readers++) {
        const struct weir_pool_share share = {.node = 0, .readers = readers};
        struct weir_pool pool;
        make_pool(&pool, 0, &share, 1);
        struct weir_chunk *held[5];
        for (unsigned i = 0; i < readers; i++)
            held[i] = weir_pool_take(&pool, 0, true);
        struct weir_chunk *emitted = weir_pool_take(&pool, 0, false);
        cr_assert_not_null(emitted, "%u readers", readers);
        drop(&pool, emitted);
        for (unsigned i = 0; i < readers; i++)
            drop(&pool, held[i]);
        weir_pool_fini(&pool);
    }
}

/* ---- growing ---- */

/* The same when readers keep chunks for themselves, which are no more to be had than those that they fill. */
Test(chunk, what_readers_keep_is_no_part_of_what_is_left_beside_the_reserve)
{
    for (unsigned readers = 1; readers <= 5; readers++) {
        const struct weir_pool_share share = {.node = 0, .readers = readers};
        const uint64_t kept_bytes = 3ull * readers * WEIR_CHUNK_MIN_BYTES;
        struct weir_pool pool;
        cr_assert_eq(weir_pool_init(&pool, 5ull * readers * WEIR_CHUNK_MIN_BYTES, WEIR_POOL_ALL_READY,
                                    WEIR_CHUNK_MIN_BYTES, kept_bytes, &share, 1, NULL),
                     0);
        cr_assert_eq(pool.chunk_count, 5 * readers);
        struct weir_chunk *held[20];
        for (unsigned i = 0; i < 4 * readers; i++) { /* kept, and one to fill for each */
            held[i] = weir_pool_take(&pool, 0, true);
            cr_assert_not_null(held[i]);
        }
        struct weir_chunk *chunk = weir_pool_take(&pool, 0, false);
        cr_assert_not_null(chunk, "%u readers", readers);
        drop(&pool, chunk);
        for (unsigned i = 0; i < 4 * readers; i++)
            drop(&pool, held[i]);
        weir_pool_fini(&pool);
    }
}

Test(chunk, what_is_ready_at_first_is_at_least_two_chunks_for_each_reader)
{
    const struct weir_pool_share shares[] = {{.node = -1, .readers = 1}, {.node = -1, .readers = 3}};
    struct weir_pool pool;
    cr_assert_eq(weir_pool_init(&pool, 32 * MIB, 0, WEIR_CHUNK_MAX_BYTES, 0, shares, 2, NULL), 0);
    cr_assert_eq(pool.chunk_bytes, MIB);
    cr_assert_eq(pool.chunk_count, 32);
    cr_assert_eq(pool.nodes[0].ready, 2);
    cr_assert_eq(pool.nodes[1].ready, 6);
    cr_assert_eq(weir_pool_free_count(&pool), 8);
    cr_assert_eq(pool.reserve, 3);
    weir_pool_fini(&pool);
}

Test(chunk, what_is_ready_at_first_is_spread_by_readers_and_registered)
{
    const struct weir_pool_share shares[] = {{.node = -1, .readers = 1}, {.node = -1, .readers = 3}};
    struct weir_pool pool;
    cr_assert_eq(weir_pool_init(&pool, 64 * MIB, 16 * MIB, WEIR_CHUNK_MAX_BYTES, 0, shares, 2, NULL), 0);
    cr_assert_eq(pool.nodes[0].ready, 2);
    cr_assert_eq(pool.nodes[1].ready, 6);
    cr_assert_eq(pool.buffer_count, 4);
    cr_assert_eq(pool.late_count, 2);
    const struct weir_pool_node *second = &pool.nodes[1];
    const struct {
        uint32_t chunk;
        int buffer;
        size_t bytes;
    } parts[] = {
        {0, 0, 4 * MIB},
        {2, 2, 12 * MIB},
        {second->first, 1, 12 * MIB},
        {second->first + 6, 3, 36 * MIB},
    };
    for (size_t i = 0; i < 4; i++) {
        const struct weir_chunk *chunk = &pool.chunks[parts[i].chunk];
        cr_assert_eq(chunk->buffer_index, parts[i].buffer, "part %zu", i);
        cr_assert_eq(pool.buffers[parts[i].buffer].iov_base, chunk->data, "part %zu", i);
        cr_assert_eq(pool.buffers[parts[i].buffer].iov_len, parts[i].bytes, "part %zu", i);
    }
    cr_assert_eq(pool.chunks[second->first - 1].buffer_index, 2);
    cr_assert_eq(pool.chunks[pool.chunk_count - 1].buffer_index, 3);
    weir_pool_fini(&pool);
}

/* Pages of [start, start + bytes) that are in memory, by mincore(2). */
static size_t resident_bytes(void *start, size_t bytes)
{
    static unsigned char pages[(64 * MIB) >> 12];
    size_t resident = 0;
    cr_assert_eq(mincore(start, bytes, pages), 0);
    for (size_t i = 0; i < bytes >> 12; i++)
        resident += (pages[i] & 1) ? 4096 : 0;
    return resident;
}

Test(chunk, growth_is_wanted_below_half_and_faults_in_a_step)
{
    struct weir_pool pool;
    cr_assert_eq(weir_pool_init(&pool, 32 * MIB, 8 * MIB, WEIR_CHUNK_MAX_BYTES, 0, &one_reader, 1, NULL), 0);
    cr_assert_eq(resident_bytes(pool.nodes[0].memory, 32 * MIB), 8 * MIB);
    struct weir_chunk *taken[3];
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_not(weir_pool_wants_growth(&pool), "with %u of 4 in use", i);
        cr_assert_eq(weir_pool_used_count(&pool), i);
        taken[i] = weir_pool_take(&pool, 0, true);
    }
    cr_assert(weir_pool_wants_growth(&pool));
    cr_assert_eq(weir_pool_grow(&pool), 0);
    cr_assert_eq(resident_bytes(pool.nodes[0].memory, 32 * MIB), 12 * MIB);
    cr_assert_eq(weir_pool_free_count(&pool), 3);
    cr_assert_eq(weir_pool_used_count(&pool), 3);
    cr_assert_not(weir_pool_wants_growth(&pool));
    for (int i = 0; i < 3; i++)
        drop(&pool, taken[i]);
    weir_pool_fini(&pool);
}

Test(chunk, growth_ends_when_all_is_ready)
{
    struct weir_pool pool;
    cr_assert_eq(weir_pool_init(&pool, 10 * MIB, 4 * MIB, WEIR_CHUNK_MAX_BYTES, 0, &one_reader, 1, NULL), 0);
    cr_assert_eq(pool.chunk_count, 10);
    cr_assert_eq(weir_pool_grow(&pool), 0);
    cr_assert_eq(weir_pool_free_count(&pool), 8);
    cr_assert_eq(weir_pool_grow(&pool), 0);
    cr_assert_eq(weir_pool_free_count(&pool), 10);
    cr_assert_eq(weir_pool_grow(&pool), -ENOSPC);
    for (int i = 0; i < 10; i++)
        cr_assert_not_null(weir_pool_take(&pool, 0, true));
    cr_assert_null(weir_pool_take(&pool, 0, true));
    cr_assert_not(weir_pool_wants_growth(&pool));
    weir_pool_fini(&pool);
}

Test(chunk, the_node_with_the_least_free_grows_first)
{
    const struct weir_pool_share shares[] = {{.node = -1, .readers = 1}, {.node = -1, .readers = 1}};
    struct weir_pool pool;
    cr_assert_eq(weir_pool_init(&pool, 64 * MIB, 8 * MIB, WEIR_CHUNK_MAX_BYTES, 0, shares, 2, NULL), 0);
    struct weir_chunk *chunk = weir_pool_take(&pool, 1, true);
    cr_assert_eq(weir_pool_grow(&pool), 0);
    cr_assert_eq(pool.nodes[0].ready, 2);
    cr_assert_eq(pool.nodes[1].ready, 4);
    drop(&pool, chunk);
    weir_pool_fini(&pool);
}

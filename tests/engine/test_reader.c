/*
 * Readers, one step at a time, over rings that the test fills: what no kernel should write, records at every place of
 * the ring, chunks, the empty pool, epochs. Sleeping and waking: test_reader_wait.c. Threads: race_reader.c.
 */
#include "engine/drain/reader.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>

#include "format/perf_file.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define SMALL_BYTES 64u

static void expect_step(struct reader_rig *rig, enum weir_reader_state state)
{
    cr_assert_eq(weir_reader_step(&rig->readers[0]), state);
}

/* Makes the reader hand over what it has by passing an epoch. */
static struct weir_chunk *flush(struct reader_rig *rig)
{
    rig_open_epoch(rig);
    expect_step(rig, WEIR_READER_DRAINED);
    return rig_pop(rig);
}

/* ---- setting up ---- */

Test(reader, out_of_memory_leaves_nothing_behind)
{
    struct weir_reader_setup setup = {.event_count = 2, .ring_count = 2, .ended_fd = -1};
    struct weir_reader reader;
    unsigned failures = 0;
    for (;; failures++) {
        failing_alloc_after(failures);
        int result = weir_reader_init(&reader, &setup);
        weir_reader_fini(&reader);
        cr_assert_eq(reader.wake_fds[0], -1);
        cr_assert_null(reader.rings.at);
        if (result == 0)
            break;
        cr_assert_eq(result, -ENOMEM);
    }
    cr_assert_eq(failures, 4); /* rings, polls, two counters */
}

Test(reader, no_descriptor_left_is_reported)
{
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    struct weir_reader_setup setup = {.event_count = 1, .ring_count = 1, .ended_fd = -1};
    struct weir_reader reader;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = weir_reader_init(&reader, &setup);
    weir_reader_fini(&reader);
    setrlimit(RLIMIT_NOFILE, &before); /* Criterion needs some itself */
    cr_assert_eq(result, -EMFILE);
}

Test(reader, fini_takes_null)
{
    weir_reader_fini(NULL);
}

/* ---- rings that hold no records ---- */

Test(reader, empty_ring_costs_nothing)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2, .start = 4088});
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_null(rig.readers[0].sink.chunk);
    cr_assert_eq(weir_pool_free_count(&rig.pool), 7);
    cr_assert_null(rig_pop(&rig));
    cr_assert_eq(rig.readers[0].sink.holding, false);
    rig_fini(&rig);
}

static const uint16_t impossible_sizes[] = {0, 7, 4, 12, 65535};

Test(reader, ring_that_begins_with_no_record_is_skipped_and_counted)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(impossible_sizes); i++) {
        struct reader_rig rig;
        uint8_t bytes[SMALL_BYTES] = {0};
        rig_init(&rig, &(struct rig_options){.start = 4096 - 8});
        test_header_put(bytes, PERF_RECORD_SAMPLE, impossible_sizes[i]);
        raw_ring_put(&rig.raw, 0, bytes, sizeof(bytes));
        expect_step(&rig, WEIR_READER_DRAINED);
        cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, sizeof(bytes), "size %u", impossible_sizes[i]);
        cr_assert_eq(raw_ring_tail(&rig.raw, 0), raw_ring_head(&rig.raw, 0));
        cr_assert_eq(rig.readers[0].rings.at[0].drained_bytes, 0);

        rig_put_sample(&rig, 0, 1, SMALL_BYTES);
        rig_expect_samples(&rig, flush(&rig), 1, 1);
        cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, sizeof(bytes));
        rig_fini(&rig);
    }
}

Test(reader, good_records_before_a_bad_one_are_kept)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(impossible_sizes); i++) {
        struct reader_rig rig;
        uint8_t bytes[SMALL_BYTES] = {0};
        rig_init(&rig, &(struct rig_options){0});
        rig_put_sample(&rig, 0, 1, SMALL_BYTES);
        rig_put_sample(&rig, 0, 2, SMALL_BYTES);
        test_header_put(bytes, PERF_RECORD_SAMPLE, impossible_sizes[i]);
        raw_ring_put(&rig.raw, 0, bytes, sizeof(bytes));
        expect_step(&rig, WEIR_READER_DRAINED);
        cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, sizeof(bytes), "size %u", impossible_sizes[i]);
        cr_assert_eq(rig.readers[0].rings.at[0].drained_bytes, 2 * SMALL_BYTES);
        rig_expect_samples(&rig, flush(&rig), 1, 2);
        rig_fini(&rig);
    }
}

/* Whatever is missing of it: found in an empty chunk, behind other records, and longer than the copy loop's block. */
Test(reader, record_that_reaches_beyond_the_head_is_skipped_and_counted)
{
    for (unsigned good = 0; good <= 1; good++) {
        for (uint32_t size = 72; size <= WEIR_RECORD_MAX_BYTES; size += size < 256 ? 8 : 8152) {
            struct reader_rig rig;
            static uint8_t bytes[WEIR_RECORD_MAX_BYTES];
            rig_init(&rig, &(struct rig_options){.ring_bytes = 128 * 1024});
            for (unsigned n = 0; n < good; n++)
                rig_put_sample(&rig, 0, n, SMALL_BYTES);
            test_header_put(bytes, PERF_RECORD_SAMPLE, (uint16_t)size);
            raw_ring_put(&rig.raw, 0, bytes, size - 8);
            expect_step(&rig, WEIR_READER_DRAINED);
            cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, size - 8, "size %u", size);
            cr_assert_eq(rig.readers[0].rings.at[0].counts.samples[0], good);
            cr_assert_eq(raw_ring_tail(&rig.raw, 0), raw_ring_head(&rig.raw, 0));
            rig_fini(&rig);
        }
    }
}

Test(reader, bytes_that_hold_no_header_are_skipped_and_counted)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    raw_ring_put(&rig.raw, 0, "\x09\x00\x00\x00", 4);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, 4);
    cr_assert_eq(raw_ring_tail(&rig.raw, 0), 4);
    rig_fini(&rig);
}

Test(reader, bad_ring_does_not_concern_the_next_one)
{
    struct reader_rig rig;
    uint64_t zeros[4] = {0};
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    raw_ring_put(&rig.raw, 0, zeros, sizeof(zeros));
    rig_put_sample(&rig, 1, 9, SMALL_BYTES);
    rig_expect_samples(&rig, flush(&rig), 9, 1);
    cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, sizeof(zeros));
    cr_assert_eq(rig.readers[0].rings.at[1].discarded_bytes, 0);
    rig_fini(&rig);
}

/* ---- records at every place ---- */

/* Each of them with the chunk written through the caches and past them. */
static void for_both_copies(void (*check)(bool past_caches))
{
    check(false);
    check(true);
}

/* At every fourth byte, so that the wrap also splits headers, which the kernel never does. */
static void check_wraps(bool past_caches)
{
    for (uint64_t start = 4096 - 136; start <= 4096; start += 4) {
        struct reader_rig rig;
        rig_init(&rig, &(struct rig_options){.past_caches = past_caches, .start = start});
        rig_put_sample(&rig, 0, start, 128);
        rig_put_sample(&rig, 0, start + 1, 40);
        rig_expect_samples(&rig, flush(&rig), start, 2);
        cr_assert_eq(raw_ring_tail(&rig.raw, 0), start + 168);
        rig_fini(&rig);
    }
}

Test(reader, record_is_read_whole_wherever_the_ring_wraps)
{
    for_both_copies(check_wraps);
}

static void check_round_and_round(bool past_caches)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.past_caches = past_caches});
    uint64_t sequence = 0;
    for (uint16_t bytes = 32; bytes <= 4096; bytes += 8) {
        rig_put_sample(&rig, 0, sequence, bytes);
        rig_expect_samples(&rig, flush(&rig), sequence++, 1);
    }
    cr_assert_eq(rig.readers[0].rings.at[0].counts.samples[0], 509);
    cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, 0);
    rig_fini(&rig);
}

Test(reader, records_are_read_whole_round_and_round_the_ring)
{
    for_both_copies(check_round_and_round);
}

Test(reader, record_that_ends_with_the_ring_is_read_whole)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.start = 4096 - 128});
    rig_put_sample(&rig, 0, 1, 128);
    expect_step(&rig, WEIR_READER_DRAINED);
    rig_put_sample(&rig, 0, 2, 128);
    rig_expect_samples(&rig, flush(&rig), 1, 2);
    rig_fini(&rig);
}

static void check_full_ring(bool past_caches)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.past_caches = past_caches, .start = 2000});
    for (unsigned n = 0; n < 64; n++)
        rig_put_sample(&rig, 0, n, SMALL_BYTES);
    cr_assert_eq(raw_ring_head(&rig.raw, 0) - raw_ring_tail(&rig.raw, 0), 4096);
    rig_expect_samples(&rig, flush(&rig), 0, 64);
    rig_fini(&rig);
}

Test(reader, full_ring_is_read_whole)
{
    for_both_copies(check_full_ring);
}

static void check_greatest_record(bool past_caches)
{
    for (uint64_t start = 0; start < 128 * 1024; start += 4088) {
        struct reader_rig rig;
        rig_init(&rig, &(struct rig_options){.past_caches = past_caches, .ring_bytes = 128 * 1024, .start = start});
        rig_put_sample(&rig, 0, 5, 32);
        rig_put_sample(&rig, 0, 6, WEIR_RECORD_MAX_BYTES);
        rig_put_sample(&rig, 0, 7, 32);
        rig_expect_samples(&rig, flush(&rig), 5, 3);
        rig_fini(&rig);
    }
}

Test(reader, greatest_record_is_read_whole_wherever_the_ring_wraps)
{
    for_both_copies(check_greatest_record);
}

/* Around the block of the copy loop, 8 KiB, and what is added to it at a time. */
static void check_lengths_about_a_block(bool past_caches)
{
    for (unsigned bytes = 8 * 1024 - 40; bytes <= 12 * 1024 + 40; bytes += 8) {
        struct reader_rig rig;
        rig_init(&rig, &(struct rig_options){
                           .past_caches = past_caches, .ring_bytes = 128 * 1024, .start = 128 * 1024 - 12 * 1024});
        rig_put_sample(&rig, 0, 1, (uint16_t)bytes);
        rig_put_sample(&rig, 0, 2, (uint16_t)bytes);
        rig_put_sample(&rig, 0, 3, 32);
        rig_expect_samples(&rig, flush(&rig), 1, 3);
        rig_fini(&rig);
    }
}

Test(reader, record_about_as_long_as_a_block_is_read_whole)
{
    for_both_copies(check_lengths_about_a_block);
}

/* ---- chunks ---- */

Test(reader, chunk_filled_up_to_its_room_for_padding_is_handed_over_with_the_next_record)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.ring_bytes = 256 * 1024});
    for (unsigned n = 0; n < 32; n++)
        rig_put_sample(&rig, 0, n, RIG_CHUNK_BYTES / 32 - (n == 31 ? WEIR_RECORD_PADDING_LEAST : 0));
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].sink.chunk->used, RIG_CHUNK_BYTES - WEIR_RECORD_PADDING_LEAST);
    cr_assert_eq(weir_chunk_room(rig.readers[0].sink.chunk), 0);
    cr_assert_eq(rig.readers[0].sink.handed, 0);
    cr_assert_null(rig_pop(&rig));

    rig_put_sample(&rig, 0, 32, SMALL_BYTES);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].sink.handed, 1);
    cr_assert_eq(rig.readers[0].sink.handed_bytes, RIG_CHUNK_BYTES - WEIR_RECORD_PADDING_LEAST);
    cr_assert_eq(rig.readers[0].sink.chunk->used, SMALL_BYTES);
    cr_assert_eq(rig.readers[0].sink.holding, true);
    rig_expect_samples(&rig, rig_pop(&rig), 0, 32);
    rig_fini(&rig);
}

Test(reader, chunk_tells_when_it_was_handed_over_where_there_is_a_clock)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    struct fake_clock fake = {.now_ns = 77};
    const struct weir_clock clock = fake_clock_interface(&fake);
    for (unsigned told = 0; told < 2; told++) {
        rig.readers[0].setup.sink.clock = told ? &clock : NULL;
        rig_put_sample(&rig, 0, told, SMALL_BYTES);
        struct weir_chunk *chunk = flush(&rig);
        cr_assert_eq(chunk->handed_ns, told ? 77 : 0);
        rig_expect_samples(&rig, chunk, told, 1);
    }
    rig_fini(&rig);
}

Test(reader, bytes_in_chunks_of_another_node_are_counted)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    rig_put_sample(&rig, 0, 0, SMALL_BYTES);
    rig_expect_samples(&rig, flush(&rig), 0, 1);
    cr_assert_eq(rig.readers[0].sink.lent_bytes, 0);
    rig.readers[0].setup.sink.pool_share = 1; /* of a pool that has one share, so that all is lent */
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    rig_expect_samples(&rig, flush(&rig), 1, 1);
    cr_assert_eq(rig.readers[0].sink.lent_bytes, SMALL_BYTES);
    rig_fini(&rig);
}

Test(reader, record_that_does_not_fit_begins_the_next_chunk_in_mid_drain)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.ring_bytes = 256 * 1024, .start = 100 * 1024});
    for (unsigned n = 0; n < 5; n++)
        rig_put_sample(&rig, 0, n, 48 * 1024);
    expect_step(&rig, WEIR_READER_DRAINED);
    struct weir_chunk *first = rig_pop(&rig), *second = rig_pop(&rig);
    cr_assert_eq(first->used, 96 * 1024);
    rig_expect_samples(&rig, first, 0, 2);
    rig_expect_samples(&rig, second, 2, 2);
    cr_assert_null(rig_pop(&rig));
    cr_assert_eq(rig.readers[0].sink.handed_bytes, 192 * 1024);
    rig_expect_samples(&rig, flush(&rig), 4, 1);
    rig_fini(&rig);
}

Test(reader, rings_of_a_reader_share_a_chunk)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 3});
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    rig_put_sample(&rig, 1, 2, SMALL_BYTES);
    rig_put_sample(&rig, 2, 3, SMALL_BYTES);
    rig_expect_samples(&rig, flush(&rig), 1, 3);
    cr_assert_eq(rig.readers[0].sink.handed, 1);
    for (unsigned n = 0; n < 3; n++)
        cr_assert_eq(rig.readers[0].rings.at[n].counts.samples[0], 1);
    rig_fini(&rig);
}

/* ---- the empty pool ---- */

/* Takes what is free, so that the reader finds `left` chunks. */
static unsigned take_all_but(struct reader_rig *rig, struct weir_chunk **taken, unsigned left)
{
    unsigned count = 0;
    while (weir_pool_free_count(&rig->pool) > left)
        taken[count++] = weir_pool_take(&rig->pool, 0, true);
    return count;
}

static void put_all(struct reader_rig *rig, struct weir_chunk **taken, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        weir_pool_put(&rig->pool, taken[i]);
}

Test(reader, empty_pool_leaves_records_in_the_ring_until_a_chunk_is_free)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){0});
    unsigned count = take_all_but(&rig, taken, 0);
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    rig_put_sample(&rig, 0, 2, SMALL_BYTES);
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_STARVED);
    expect_step(&rig, WEIR_READER_STARVED);
    cr_assert_eq(rig.readers[0].starved_steps, 2);
    cr_assert_eq(raw_ring_tail(&rig.raw, 0), 0);
    cr_assert_eq(rig.readers[0].passed_epoch, 0);
    cr_assert_eq(rig.readers[0].rings.at[0].starved, false); /* the ring has room */

    put_all(&rig, taken, count);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].passed_epoch, 1);
    rig_expect_samples(&rig, rig_pop(&rig), 1, 2);
    rig_fini(&rig);
}

Test(reader, starving_in_mid_drain_keeps_what_was_read_and_resumes_behind_it)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.ring_bytes = 512 * 1024, .chunks = 2});
    for (unsigned n = 0; n < 10; n++)
        rig_put_sample(&rig, 0, n, 48 * 1024);
    /* Two chunks of two records each; every one that comes back takes two more. */
    for (uint64_t n = 0; n < 6; n += 2) {
        expect_step(&rig, WEIR_READER_STARVED);
        cr_assert_null(rig.readers[0].sink.chunk);
        cr_assert_eq(raw_ring_tail(&rig.raw, 0), (n + 4) * 48 * 1024);
        rig_expect_samples(&rig, rig_pop(&rig), n, 2);
    }
    expect_step(&rig, WEIR_READER_DRAINED);
    rig_expect_samples(&rig, rig_pop(&rig), 6, 2);
    rig_expect_samples(&rig, flush(&rig), 8, 2);
    rig_fini(&rig);
}

/* A reader whose chunks are all under way leaves the last ones to those that have none. */
Test(reader, reserve_is_left_to_readers_with_nothing_under_way)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){.readers = 2, .chunks = 6});
    cr_assert_eq(rig.pool.reserve, 2);
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    struct weir_chunk *under_way = flush(&rig);
    unsigned count = take_all_but(&rig, taken, rig.pool.reserve);
    rig_put_sample(&rig, 0, 2, SMALL_BYTES);
    rig_put_sample(&rig, 1, 3, SMALL_BYTES);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_STARVED);
    cr_assert_eq(weir_reader_step(&rig.readers[1]), WEIR_READER_DRAINED);
    cr_assert_eq(weir_pool_free_count(&rig.pool), 1);
    rig_return(&rig, under_way);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    put_all(&rig, taken, count);
    rig_fini(&rig);
}

static void put_lost(struct reader_rig *rig, uint64_t lost)
{
    uint8_t record[TEST_LOST_BYTES];
    raw_ring_put(&rig->raw, 0, record, test_lost_put(record, RIG_ID, lost));
}

Test(reader, losses_are_told_apart_when_the_pool_was_empty_and_the_ring_nearly_full)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){0});
    put_lost(&rig, 3); /* nobody starved: not the pool's */
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].rings.at[0].lost_while_starved, 0);
    struct weir_chunk *chunk = flush(&rig);
    rig_return(&rig, chunk);

    unsigned count = take_all_but(&rig, taken, 0);
    for (unsigned n = 0; n < 56; n++) /* seven eighths of the ring */
        rig_put_sample(&rig, 0, n, SMALL_BYTES);
    expect_step(&rig, WEIR_READER_STARVED);
    cr_assert_eq(rig.readers[0].rings.at[0].starved, true);
    put_all(&rig, taken, count);
    expect_step(&rig, WEIR_READER_DRAINED);
    put_lost(&rig, 40);
    expect_step(&rig, WEIR_READER_DRAINED);
    put_lost(&rig, 2); /* a later loss has another cause */
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].rings.at[0].lost_while_starved, 40);
    cr_assert_eq(rig.readers[0].rings.at[0].starved, false);
    cr_assert_eq(rig.readers[0].rings.at[0].counts.lost_reported, 45);
    rig_fini(&rig);
}

Test(reader, side_records_that_a_starved_ring_loses_are_not_told_as_samples)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    struct weir_reader_ring *ring = &rig.readers[0].rings.at[0];
    ring->sideband = ring->starved = true;
    put_lost(&rig, 40);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(ring->counts.lost_reported, 40);
    cr_assert_eq(ring->lost_while_starved, 0);
    rig_fini(&rig);
}

static struct weir_drain_summary drains_of(const struct weir_reader *reader, enum weir_drain_moment moment)
{
    struct weir_drain_sums sums = {0};
    struct weir_drain_summary summary;
    weir_drain_watch_sum(&reader->drain_watch, moment, &sums);
    weir_drain_sums_summarize(&sums, &summary);
    return summary;
}

Test(reader, gaps_between_drains_fill_of_rings_and_waits_are_counted)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2, .ring_bytes = 4096});
    struct fake_clock fake = {.now_ns = WEIR_NS_PER_S};
    const struct weir_clock clock = fake_clock_interface(&fake);
    struct weir_reader *reader = &rig.readers[0];
    reader->setup.sink.clock = &clock;
    expect_step(&rig, WEIR_READER_DRAINED);
    rig_put_sample(&rig, 1, 0, SMALL_BYTES);
    fake.now_ns += 7 * WEIR_NS_PER_MS;
    expect_step(&rig, WEIR_READER_DRAINED); /* nobody has called for it */

    reader->wakeups++;                 /* as wait() counts a watermark */
    for (unsigned n = 1; n <= 16; n++) /* a quarter of the second ring */
        rig_put_sample(&rig, 1, n, 64);
    fake.now_ns += 3 * WEIR_NS_PER_MS;
    expect_step(&rig, WEIR_READER_DRAINED);
    struct weir_drain_summary drains = drains_of(reader, WEIR_DRAIN_ELSEWHERE);
    cr_expect_eq(drains.gap_us.count, 1);
    cr_expect_eq(drains.gap_us.max, 3000);
    cr_expect_eq(drains.fill_per_mille.max, 250);
    cr_expect_eq(drains.wait_us.count, 0);

    weir_rotation_count_begin(&rig.control.rotations);
    rig_return(&rig, flush(&rig));
    unsigned count = take_all_but(&rig, taken, 0);
    for (unsigned n = 17; n < 17 + 32; n++)
        rig_put_sample(&rig, 0, n, 64);
    for (unsigned n = 0; n < 3; n++) {
        expect_step(&rig, WEIR_READER_STARVED);
        fake.now_ns += WEIR_NS_PER_MS;
    }
    put_all(&rig, taken, count);
    expect_step(&rig, WEIR_READER_DRAINED);
    drains = drains_of(reader, WEIR_DRAIN_AT_ROTATION);
    cr_expect_eq(drains.gap_us.count, 3); /* to the second, third and last of these looks */
    cr_expect_eq(drains.gap_us.max, 1000);
    cr_expect_eq(drains.fill_per_mille.max, 500);
    cr_expect_eq(drains.wait_us.count, 1);
    cr_expect_eq(drains.wait_us.max, 3000);
    cr_expect_eq(drains_of(reader, WEIR_DRAIN_ELSEWHERE).gap_us.count, 1);
    rig_fini(&rig);
}

/* The kernel tells of a loss only with the next record that fits: the ring may be half empty again by then. */
Test(reader, ring_behind_a_waiting_one_is_marked_as_starved_too)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    unsigned count = take_all_but(&rig, taken, 0);
    rig_put_sample(&rig, 0, 0, SMALL_BYTES);
    for (unsigned n = 0; n < 56; n++) /* seven eighths of the ring */
        rig_put_sample(&rig, 1, n, SMALL_BYTES);
    expect_step(&rig, WEIR_READER_STARVED);
    cr_assert_eq(rig.readers[0].starved_steps, 1);
    cr_assert_eq(rig.readers[0].rings.at[0].starved, false);
    cr_assert_eq(rig.readers[0].rings.at[1].starved, true);
    put_all(&rig, taken, count);
    expect_step(&rig, WEIR_READER_DRAINED);
    rig_fini(&rig);
}

Test(reader, ring_stays_marked_as_starved_until_its_losses_are_told)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){.ring_bytes = 256 * 1024});
    unsigned count = take_all_but(&rig, taken, 0);
    for (unsigned n = 0; n < 5; n++)
        rig_put_sample(&rig, 0, n, 48 * 1024);
    expect_step(&rig, WEIR_READER_STARVED);
    cr_assert_eq(rig.readers[0].rings.at[0].starved, true);

    weir_pool_put(&rig.pool, taken[--count]); /* for two of them */
    expect_step(&rig, WEIR_READER_STARVED);
    expect_step(&rig, WEIR_READER_STARVED);
    put_all(&rig, taken, count);
    put_lost(&rig, 40);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].rings.at[0].lost_while_starved, 40);
    rig_fini(&rig);
}

/* ---- counting ---- */

Test(reader, what_passes_is_counted)
{
    struct reader_rig rig;
    uint8_t record[SMALL_BYTES];
    rig_init(&rig, &(struct rig_options){0});
    rig_put_sample(&rig, 0, 100, SMALL_BYTES);
    test_sample_put(record, RIG_ID + 1000, 101, 101, SMALL_BYTES);
    raw_ring_put(&rig.raw, 0, record, SMALL_BYTES);
    rig_put_sample(&rig, 0, 102, SMALL_BYTES);
    put_lost(&rig, 5);
    put_lost(&rig, 6);
    raw_ring_put(&rig.raw, 0, record, test_side_put(record, PERF_RECORD_THROTTLE, RIG_ID));
    raw_ring_put(&rig.raw, 0, record, test_side_put(record, PERF_RECORD_COMM, RIG_SIDE_ID));
    expect_step(&rig, WEIR_READER_DRAINED);

    const struct weir_reader_ring *r = &rig.readers[0].rings.at[0];
    cr_assert_eq(r->counts.samples[0], 2);
    cr_assert_eq(r->counts.samples[1], 0);
    cr_assert_eq(r->counts.unknown_samples, 1);
    cr_assert_eq(r->counts.lost_reported, 11);
    cr_assert_eq(r->counts.throttled, 1);
    cr_assert_eq(r->counts.other_records, 2); /* THROTTLE and COMM */
    cr_assert_eq(r->counts.first_sample_ns, 100);
    cr_assert_eq(r->counts.last_sample_ns, 102);
    cr_assert_eq(r->drained_bytes, 3 * SMALL_BYTES + 2 * TEST_LOST_BYTES + 2 * TEST_SIDE_BYTES);
    cr_assert_eq(r->discarded_bytes, 0);
    cr_assert_eq(rig.readers[0].sink.chunk->used, r->drained_bytes);
    rig_fini(&rig);
}

/* ---- epochs ---- */

Test(reader, epoch_is_passed_without_a_chunk_when_there_is_nothing)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].passed_epoch, 1);
    cr_assert_eq(rig.readers[0].sink.handed, 0);
    cr_assert_null(rig_pop(&rig));
    rig_fini(&rig);
}

Test(reader, epoch_is_passed_once_with_all_that_was_there)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig)); /* no epoch, no hurry */
    cr_assert_eq(rig.readers[0].sink.holding, true);

    rig_put_sample(&rig, 1, 2, SMALL_BYTES);
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].passed_epoch, 1);
    cr_assert_eq(rig.readers[0].sink.holding, false);
    rig_expect_samples(&rig, rig_pop(&rig), 1, 2);

    rig_put_sample(&rig, 0, 3, SMALL_BYTES);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig));
    rig_fini(&rig);
}

Test(reader, stop_epoch_is_the_last_step)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    rig.control.stop_epoch = 2;
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_DRAINED);
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_STOPPED);
    rig_expect_samples(&rig, rig_pop(&rig), 1, 1);
    rig_fini(&rig);
}

Test(reader, starved_reader_does_not_stop)
{
    struct reader_rig rig;
    struct weir_chunk *taken[7];
    rig_init(&rig, &(struct rig_options){0});
    unsigned count = take_all_but(&rig, taken, 0);
    rig_put_sample(&rig, 0, 1, SMALL_BYTES);
    rig.control.stop_epoch = 1;
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_STARVED);
    put_all(&rig, taken, count);
    expect_step(&rig, WEIR_READER_STOPPED);
    rig_expect_samples(&rig, rig_pop(&rig), 1, 1);
    rig_fini(&rig);
}

/* ---- what the coordinator sees from outside ---- */

Test(reader, idle_reader_is_past_every_epoch_without_a_step)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    cr_assert(weir_reader_is_past(&rig.readers[0], 1));
    cr_assert(weir_reader_is_past(&rig.readers[0], 1000));
    rig_fini(&rig);
}

Test(reader, reader_is_not_past_while_a_ring_or_its_chunk_holds_records)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    rig_put_sample(&rig, 1, 1, SMALL_BYTES);
    cr_assert_not(weir_reader_is_past(&rig.readers[0], 1));
    expect_step(&rig, WEIR_READER_DRAINED); /* before the epoch is opened: the record is in its chunk */
    cr_assert_not(weir_reader_is_past(&rig.readers[0], 1));
    rig_open_epoch(&rig);
    cr_assert_not(weir_reader_is_past(&rig.readers[0], 1));
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert(weir_reader_is_past(&rig.readers[0], 1));

    rig_put_sample(&rig, 0, 2, SMALL_BYTES); /* younger than the epoch */
    cr_assert(weir_reader_is_past(&rig.readers[0], 1));
    cr_assert_not(weir_reader_is_past(&rig.readers[0], 2));
    rig_fini(&rig);
}

/* A chunk that is pushed because it was full: what has come since lies in the next one. */
Test(reader, reader_is_past_without_a_step_once_its_last_chunk_is_pushed)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.ring_bytes = 256 * 1024});
    for (unsigned n = 0; n < 3; n++)
        rig_put_sample(&rig, 0, n, 48 * 1024);
    expect_step(&rig, WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].sink.handed, 1);
    cr_assert_not(weir_reader_is_past(&rig.readers[0], 1));
    struct weir_chunk *chunk = flush(&rig);
    cr_assert(weir_reader_is_past(&rig.readers[0], 2));
    rig_return(&rig, chunk);
    rig_fini(&rig);
}

/* ---- what the writer is to know of a chunk ---- */

Test(reader, chunk_tells_its_oldest_and_newest_sample_and_the_next_one_begins_anew)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    rig_put_sample(&rig, 0, 7, SMALL_BYTES);
    rig_put_sample(&rig, 0, 9, SMALL_BYTES);
    rig_put_sample(&rig, 1, 5, SMALL_BYTES);
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_DRAINED);
    struct weir_chunk *chunk = rig_pop(&rig);
    cr_assert_eq(chunk->first_sample_ns, 5);
    cr_assert_eq(chunk->last_sample_ns, 9);
    cr_assert_eq(chunk->tee, 0); /* without a tee there is nothing to tell */
    rig_return(&rig, chunk);

    rig_put_sample(&rig, 0, 20, SMALL_BYTES);
    rig_open_epoch(&rig);
    expect_step(&rig, WEIR_READER_DRAINED);
    chunk = rig_pop(&rig);
    cr_assert_eq(chunk->first_sample_ns, 20);
    cr_assert_eq(chunk->last_sample_ns, 20);
    rig_return(&rig, chunk);
    rig_fini(&rig);
}

/*
 * Readers that keep samples in memory: what stays, what is evicted and counted, and what a snapshot hands over. Samples
 * of 4 KiB: a chunk of 128 KiB holds 32 of them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "tests/base/failing_alloc.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define SAMPLE_BYTES 4096u
#define PER_CHUNK    ((RIG_CHUNK_BYTES - WEIR_RECORD_PADDING_LEAST) / SAMPLE_BYTES)

struct fixture {
    struct reader_rig rig;
    uint64_t next; /* sequence number */
};

static void fixture_init(struct fixture *f, unsigned retained_chunks, uint64_t span_ns)
{
    rig_init(&f->rig, &(struct rig_options){
                          .rings_per_reader = 2,
                          .ring_bytes = 256 * 1024,
                          .chunks = retained_chunks + 2,
                          .retained_chunks = retained_chunks,
                          .retained_span_ns = span_ns,
                      });
    f->rig.readers[0].rings.at[1].sideband = true;
    f->next = 1;
}

static enum weir_reader_state produce(struct fixture *f, unsigned samples)
{
    enum weir_reader_state state = WEIR_READER_DRAINED;
    for (unsigned n = 0; n < samples; n++) {
        rig_put_sample(&f->rig, 0, f->next++, SAMPLE_BYTES);
        state = weir_reader_step(&f->rig.readers[0]);
    }
    return state;
}

/* Opens an epoch that is a snapshot, and lets the reader pass it. */
static enum weir_reader_state snapshot(struct fixture *f)
{
    f->rig.control.snapshot_epoch = f->rig.control.epoch + 1;
    rig_open_epoch(&f->rig);
    return weir_reader_step(&f->rig.readers[0]);
}

/* Asserts that the queue holds exactly these samples, in order. */
static void expect_handed_over(struct fixture *f, uint64_t first, uint64_t last)
{
    uint64_t next = first;
    struct weir_chunk *chunk;
    while ((chunk = rig_pop(&f->rig))) {
        cr_assert_eq(chunk->first_sample_ns, next, "a sample's time is its number");
        for (uint32_t at = 0; at < chunk->used; at += test_record_bytes(chunk->data + at)) {
            cr_assert(test_sample_is_whole(chunk->data + at));
            cr_assert_eq(test_sample_sequence(chunk->data + at), next, "%lu instead of %lu",
                         (unsigned long)test_sample_sequence(chunk->data + at), (unsigned long)next);
            next++;
        }
        cr_assert_eq(chunk->last_sample_ns, next - 1);
        rig_return(&f->rig, chunk);
    }
    cr_assert_eq(next, last + 1);
}

static uint64_t evicted(const struct fixture *f)
{
    return weir_reader_evicted(&f->rig.readers[0], 0, 0);
}

/* ---- what stays in memory ---- */

Test(reader_retention, out_of_memory_at_any_allocation_leaves_nothing_behind)
{
    struct weir_pool pool;
    struct weir_pool_share share = {.node = -1, .readers = 1};
    cr_assert_eq(
        weir_pool_init(&pool, 4 * RIG_CHUNK_BYTES, WEIR_POOL_ALL_READY, WEIR_CHUNK_MAX_BYTES, 0, &share, 1, NULL), 0);
    int result = -1;
    for (unsigned failures = 0; result != 0; failures++) {
        struct weir_retention retention;
        failing_alloc_after(failures);
        result =
            weir_retention_init(&retention, &(struct weir_retention_setup){.pool = &pool, .room = 2, .counters = 2});
        failing_alloc_never();
        cr_assert(result == 0 || result == -ENOMEM);
        cr_assert(failures <= 4);
        weir_retention_fini(&retention);
    }
    weir_pool_fini(&pool);
}

Test(reader_retention, epochs_hand_over_nothing)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    produce(&f, 5);
    rig_open_epoch(&f.rig);
    cr_assert_eq(weir_reader_step(&f.rig.readers[0]), WEIR_READER_DRAINED);
    cr_assert_eq(f.rig.readers[0].passed_epoch, 1);
    cr_assert(weir_reader_is_past(&f.rig.readers[0], 1));
    cr_assert_null(rig_pop(&f.rig));
    cr_assert_eq(evicted(&f), 0);
    rig_fini(&f.rig);
}

Test(reader_retention, a_reader_that_retains_has_not_passed_an_epoch_it_has_not_seen)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    produce(&f, 1);
    f.rig.control.snapshot_epoch = 1;
    rig_open_epoch(&f.rig);
    cr_assert(weir_reader_is_past(&f.rig.readers[0], 1), "its ring is empty and nothing is on its way to the file");
    cr_assert(!weir_reader_has_passed(&f.rig.readers[0], 1));
    rig_fini(&f.rig);
}

Test(reader_retention, the_newest_samples_survive_and_the_others_are_counted)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    unsigned samples = 10 * PER_CHUNK + 7;
    cr_assert_eq(produce(&f, samples), WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&f.rig));
    cr_assert_eq(weir_pool_free_count(&f.rig.pool), f.rig.pool.chunk_count - 3, "never more than it may hold");
    cr_assert_eq(weir_pool_used_count(&f.rig.pool), 0, "nothing is on its way");

    cr_assert_eq(snapshot(&f), WEIR_READER_DRAINED);
    /* Two full chunks and the one that was being filled. */
    expect_handed_over(&f, samples - 2 * PER_CHUNK - 7 + 1, samples);
    cr_assert_eq(evicted(&f), 8 * PER_CHUNK);
    rig_fini(&f.rig);
}

Test(reader_retention, a_snapshot_holds_what_came_since_the_last_one)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    produce(&f, 3);
    snapshot(&f);
    expect_handed_over(&f, 1, 3);
    snapshot(&f);
    cr_assert_null(rig_pop(&f.rig), "nothing has come");
    produce(&f, PER_CHUNK);
    snapshot(&f);
    expect_handed_over(&f, 4, 3 + PER_CHUNK);
    cr_assert_eq(evicted(&f), 0);
    rig_fini(&f.rig);
}

Test(reader_retention, records_that_are_no_samples_are_not_evicted)
{
    struct fixture f;
    uint8_t record[64];
    fixture_init(&f, 2, 0);
    produce(&f, 1);
    raw_ring_put(&f.rig.raw, 0, record, test_lost_put(record, RIG_ID, 5));
    raw_ring_put(&f.rig.raw, 0, record, test_side_put(record, PERF_RECORD_THROTTLE, RIG_ID));
    produce(&f, 2 * PER_CHUNK);
    rig_open_epoch(&f.rig);
    weir_reader_step(&f.rig.readers[0]);

    struct weir_chunk *chunk = rig_pop(&f.rig);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->used, TEST_LOST_BYTES + TEST_SIDE_BYTES);
    cr_assert_eq(test_record_type(chunk->data), PERF_RECORD_LOST);
    cr_assert_eq(test_record_type(chunk->data + TEST_LOST_BYTES), PERF_RECORD_THROTTLE);
    rig_return(&f.rig, chunk);
    cr_assert_null(rig_pop(&f.rig));
    cr_assert_gt(evicted(&f), 0);
    rig_fini(&f.rig);
}

Test(reader_retention, side_rings_go_to_the_file_as_ever)
{
    struct fixture f;
    uint8_t record[64];
    fixture_init(&f, 2, 0);
    produce(&f, 1);
    raw_ring_put(&f.rig.raw, 1, record, test_side_put(record, PERF_RECORD_COMM, RIG_SIDE_ID));
    weir_reader_step(&f.rig.readers[0]);
    cr_assert(f.rig.readers[0].sink.holding);
    rig_open_epoch(&f.rig);
    weir_reader_step(&f.rig.readers[0]);
    struct weir_chunk *chunk = rig_pop(&f.rig);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->used, TEST_SIDE_BYTES);
    rig_return(&f.rig, chunk);
    rig_fini(&f.rig);
}

Test(reader_retention, an_empty_pool_costs_the_oldest_chunk_not_the_newest)
{
    struct fixture f;
    fixture_init(&f, 5, 0);
    struct weir_chunk *taken[8];
    produce(&f, 2 * PER_CHUNK);
    unsigned count = 0;
    while ((taken[count] = weir_pool_take(&f.rig.pool, 0, true)))
        count++;
    cr_assert_eq(produce(&f, PER_CHUNK), WEIR_READER_DRAINED);
    for (unsigned i = 0; i < count; i++)
        weir_pool_put(&f.rig.pool, taken[i]);
    snapshot(&f);
    expect_handed_over(&f, PER_CHUNK + 1, 3 * PER_CHUNK);
    cr_assert_eq(evicted(&f), PER_CHUNK);
    rig_fini(&f.rig);
}

Test(reader_retention, without_any_chunk_records_stay_in_the_ring)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    struct weir_chunk *taken[8];
    unsigned count = 0;
    while ((taken[count] = weir_pool_take(&f.rig.pool, 0, true)))
        count++;
    cr_assert_eq(produce(&f, 1), WEIR_READER_STARVED);
    for (unsigned i = 0; i < count; i++)
        weir_pool_put(&f.rig.pool, taken[i]);
    cr_assert_eq(snapshot(&f), WEIR_READER_DRAINED);
    expect_handed_over(&f, 1, 1);
    rig_fini(&f.rig);
}

/* ---- by time: a sample's time is its number ---- */

Test(reader_retention, what_is_older_than_the_span_is_evicted)
{
    struct fixture f;
    fixture_init(&f, 12, 64); /* a slice is sealed when it covers 8 */
    produce(&f, 1000);
    snapshot(&f);
    uint64_t kept = 1000 - evicted(&f);
    cr_assert(kept >= 64 && kept <= 64 + 2 * 9, "%lu", (unsigned long)kept);
    expect_handed_over(&f, 1000 - kept + 1, 1000);
    rig_fini(&f.rig);
}

Test(reader_retention, samples_after_a_pause_do_not_keep_those_before_it)
{
    struct fixture f;
    fixture_init(&f, 12, 64);
    produce(&f, 3);
    f.next = 1000;
    produce(&f, 3);
    snapshot(&f);
    expect_handed_over(&f, 1000, 1002);
    cr_assert_eq(evicted(&f), 3);
    rig_fini(&f.rig);
}

Test(reader_retention, a_quiet_reader_goes_by_the_newest_sample_of_all)
{
    struct fixture f;
    fixture_init(&f, 12, 64);
    produce(&f, 3);
    f.rig.control.newest_ns = 3 + 64;
    snapshot(&f);
    expect_handed_over(&f, 1, 3);
    produce(&f, 3);
    f.rig.control.newest_ns = 6 + 65;
    snapshot(&f);
    cr_assert_null(rig_pop(&f.rig));
    cr_assert_eq(evicted(&f), 3);
    rig_fini(&f.rig);
}

/* ---- the end ---- */

static void stop(struct fixture *f, bool with_snapshot)
{
    f->rig.control.stop_epoch = f->rig.control.epoch + 1;
    if (with_snapshot)
        f->rig.control.snapshot_epoch = f->rig.control.epoch + 1;
    rig_open_epoch(&f->rig);
    cr_assert_eq(weir_reader_step(&f->rig.readers[0]), WEIR_READER_STOPPED);
}

Test(reader_retention, what_is_retained_at_the_end_is_evicted)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    produce(&f, PER_CHUNK + 1);
    stop(&f, false);
    cr_assert_null(rig_pop(&f.rig));
    cr_assert_eq(evicted(&f), PER_CHUNK + 1);
    cr_assert_eq(weir_pool_free_count(&f.rig.pool), f.rig.pool.chunk_count);
    rig_fini(&f.rig);
}

Test(reader_retention, a_snapshot_at_the_end_hands_it_over)
{
    struct fixture f;
    fixture_init(&f, 3, 0);
    produce(&f, PER_CHUNK + 1);
    stop(&f, true);
    expect_handed_over(&f, 1, PER_CHUNK + 1);
    cr_assert_eq(evicted(&f), 0);
    rig_fini(&f.rig);
}

/* ---- how memory is dealt out ---- */

Test(reader_retention, memory_is_dealt_out_in_chunks_that_are_an_eighth_or_less)
{
    struct weir_retention_plan plan = weir_retention_plan(64ull << 20, 0, 2);
    cr_expect_eq(plan.chunk_bytes, 2u << 20);
    cr_expect_eq(plan.chunks_per_reader, 16);
    cr_expect_eq(plan.bytes, 64ull << 20);
    plan = weir_retention_plan(3ull << 20, 0, 1);
    cr_expect_eq(plan.chunk_bytes, 256u << 10);
    cr_expect_eq(plan.chunks_per_reader, 12);
    plan = weir_retention_plan(1, 0, 4); /* less than there can be */
    cr_expect_eq(plan.chunk_bytes, WEIR_CHUNK_MIN_BYTES);
    cr_expect_eq(plan.bytes, 4ull * WEIR_RETENTION_CHUNKS_MIN * WEIR_CHUNK_MIN_BYTES);
    plan = weir_retention_plan(1, 1, 4);
    cr_expect_eq(plan.chunks_per_reader, WEIR_RETENTION_SPAN_CHUNKS_MIN);
}

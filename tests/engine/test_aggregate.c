/* Merging of equal samples in one chunk: what stays apart, then what becomes one, with exact sums. */
#include "engine/drain/aggregate.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/failing_alloc.h"
#include "tests/base/random.h"
#include "tests/engine/aggregate_rig.h"

#define CHUNK_BYTES (1u << 20)
#define INTERVAL_NS 1000u
#define LIST_MAX    16u

static struct aggregate_rig rig;
static struct weir_chunk_rewriter step;
static struct weir_chunk chunk;
static void *state;

static void begin_with(bool by_process)
{
    cr_assert(aggregate_rig_init(&rig, INTERVAL_NS, by_process));
    step = weir_aggregate_rewriter(&rig.aggregate);
    state = step.begin(step.plan, CHUNK_BYTES);
    chunk = (struct weir_chunk){.data = calloc(1, CHUNK_BYTES), .capacity = CHUNK_BYTES};
    cr_assert(state && chunk.data);
}

static void begin(void)
{
    begin_with(false);
}

static void end(void)
{
    step.end(state);
    free(chunk.data);
    aggregate_rig_fini(&rig);
}

static const struct aggregate_sample usual = {
    .pid = 10, .tid = 11, .ip = 0x1000, .time_ns = 100, .period = 7, .frames = 3};

static void put(struct aggregate_sample sample)
{
    aggregate_rig_append_sample(&chunk, &sample);
}

/* Rewrites the chunk and returns the number of its samples, the first ones in list. */
static unsigned rewrite(struct aggregate_sample list[LIST_MAX])
{
    struct aggregate_sums before = {0}, after = {0};
    aggregate_rig_add(&chunk, &before);
    step.rewrite(state, &chunk, false);
    aggregate_rig_add(&chunk, &after);
    cr_expect_eq(after.samples, before.records);
    cr_expect_eq(after.period, before.period);
    unsigned count = 0;
    struct aggregate_sample sample;
    int found;
    for (uint32_t at = 0; (found = aggregate_rig_next(&chunk, &at, &sample)) >= 0;) {
        if (found && count < LIST_MAX)
            list[count] = sample;
        count += (unsigned)found;
    }
    return count;
}

static uint64_t merged(unsigned place)
{
    return weir_aggregate_merged(&rig.aggregate, place, 0);
}

TestSuite(aggregate, .init = begin, .fini = end);

Test(aggregate, without_memory_is_no_aggregate)
{
    struct aggregate_rig other;
    for (unsigned successes = 0; successes < 2; successes++) {
        failing_alloc_after(successes);
        cr_expect_not(aggregate_rig_init(&other, 1, false), "after %u", successes);
    }
    failing_alloc_after(0);
    cr_expect_null(step.begin(step.plan, CHUNK_BYTES));
    failing_alloc_never();
    step.end(NULL);
}

Test(aggregate, samples_that_differ_in_one_field_stay_apart)
{
    struct aggregate_sample list[LIST_MAX], other[] = {usual, usual, usual, usual, usual, usual};
    other[0].pid++;
    other[1].tid++;
    other[2].ip++;
    other[3].cpu++;
    other[4].frames++;
    other[5].time_ns += INTERVAL_NS;
    put(usual);
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(other); i++)
        put(other[i]);
    cr_assert_eq(rewrite(list), 7);
    for (unsigned i = 0; i < 7; i++) {
        cr_expect_eq(list[i].weight, 1, "sample %u", i);
        cr_expect_eq(list[i].period, 7, "sample %u", i);
    }
    cr_expect_eq(merged(0) + merged(1), 0);
}

Test(aggregate, samples_of_no_event_and_short_ones_pass_as_they_are)
{
    struct aggregate_sample stranger = usual;
    stranger.cpu = AGGREGATE_RIG_PLACES;
    stranger.weight = 99;
    put(stranger);
    put(stranger);
    const struct perf_event_header cut = {.type = PERF_RECORD_SAMPLE, .size = sizeof(cut)};
    for (unsigned i = 0; i < 2; i++, chunk.used += sizeof(cut))
        memcpy(chunk.data + chunk.used, &cut, sizeof(cut));
    uint32_t used = chunk.used;
    uint8_t *before = malloc(used);
    cr_assert(before);
    memcpy(before, chunk.data, used);
    step.rewrite(state, &chunk, false);
    cr_expect_eq(chunk.used, used);
    cr_expect_arr_eq(chunk.data, before, used);
    free(before);
}

Test(aggregate, equal_samples_become_the_first_with_the_sum_of_periods)
{
    struct aggregate_sample list[LIST_MAX], one = usual, other = usual;
    other.ip = 0x2000;
    for (unsigned i = 0; i < 5; i++) {
        one.time_ns = 100 + i * 10;
        one.period = 1 + i;
        one.weight = 1000 + i; /* of the kernel */
        put(one);
        other.time_ns = one.time_ns + 1;
        other.cpu = i % 2;
        put(other);
    }
    cr_assert_eq(rewrite(list), 3);
    cr_expect_eq(list[0].ip, 0x1000);
    cr_expect_eq(list[0].time_ns, 100);
    cr_expect_eq(list[0].period, 1 + 2 + 3 + 4 + 5);
    cr_expect_eq(list[0].weight, 5);
    cr_expect_eq(list[1].weight, 3);
    cr_expect_eq(list[1].time_ns, 101);
    cr_expect_eq(list[2].weight, 2);
    cr_expect_eq(list[2].time_ns, 111);
    cr_expect_eq(merged(0), 4 + 2);
    cr_expect_eq(merged(1), 1);
}

Test(aggregate, interval_begins_with_each_sample_that_stays)
{
    struct aggregate_sample list[LIST_MAX], sample = usual;
    for (unsigned i = 0; i < 5; i++, sample.time_ns += 600)
        put(sample);
    cr_assert_eq(rewrite(list), 3);
    cr_expect_eq(list[0].weight, 2);
    cr_expect_eq(list[1].time_ns, 100 + 1200);
    cr_expect_eq(list[1].weight, 2);
    cr_expect_eq(list[2].weight, 1);
}

/* A ring of the newest records is read from its newest record on. */
Test(aggregate, samples_in_falling_order_of_time_merge_as_well)
{
    struct aggregate_sample list[LIST_MAX], sample = usual;
    sample.time_ns = 10000;
    for (unsigned i = 0; i < 4; i++, sample.time_ns -= 300)
        put(sample);
    cr_assert_eq(rewrite(list), 1);
    cr_expect_eq(list[0].weight, 4);
    cr_expect_eq(list[0].time_ns, 10000);
}

Test(aggregate, other_records_keep_their_places_among_the_samples)
{
    struct aggregate_sample sample;
    put(usual);
    aggregate_rig_append_comm(&chunk, 77, 77, 5);
    put(usual);
    aggregate_rig_append_comm(&chunk, 78, 78, 6);
    step.rewrite(state, &chunk, false);
    uint32_t at = 0;
    cr_expect_eq(aggregate_rig_next(&chunk, &at, &sample), 1);
    cr_expect_eq(sample.weight, 2);
    cr_expect_eq(aggregate_rig_next(&chunk, &at, &sample), 0);
    cr_expect_eq(aggregate_rig_next(&chunk, &at, &sample), 0);
    cr_expect_eq(aggregate_rig_next(&chunk, &at, &sample), -1);
}

/* The sideband ring is drained after the samples. */
Test(aggregate, thread_that_takes_a_name_begins_anew)
{
    struct aggregate_sample list[LIST_MAX], sample = usual;
    for (unsigned i = 0; i < 6; i++, sample.time_ns += 10)
        put(sample);
    aggregate_rig_append_comm(&chunk, 10, 11, 120); /* the time of the third */
    aggregate_rig_append_comm(&chunk, 10, 12, 130); /* of another thread */
    cr_assert_eq(rewrite(list), 2);
    cr_expect_eq(list[0].weight, 2);
    cr_expect_eq(list[1].weight, 4);
    cr_expect_eq(list[1].time_ns, 120);

    chunk.used = 0; /* the next chunk knows nothing of it */
    put(usual);
    sample.time_ns = 130;
    put(sample);
    cr_assert_eq(rewrite(list), 1);
}

Test(aggregate, more_names_than_there_is_room_for_keep_samples_apart)
{
    struct aggregate_sample list[LIST_MAX];
    for (unsigned i = 0; i < 1025; i++)
        aggregate_rig_append_comm(&chunk, i, i, 5);
    put(usual);
    put(usual);
    cr_assert_eq(rewrite(list), 2);
    chunk.used = 0;
    put(usual);
    put(usual);
    cr_assert_eq(rewrite(list), 1);
}

Test(aggregate, by_process_all_threads_are_the_main_one)
{
    struct aggregate_sample list[LIST_MAX], sample = usual;
    end();
    begin_with(true);
    for (unsigned i = 0; i < 3; i++, sample.tid++)
        put(sample);
    sample.pid++;
    put(sample);
    cr_assert_eq(rewrite(list), 2);
    cr_expect_eq(list[0].weight, 3);
    cr_expect_eq(list[0].tid, 10);
    cr_expect_eq(list[1].tid, 11);
}

/* Random samples, more than the table has room for: every sum stays, and the counts say which place. */
Test(aggregate, sums_stay_and_counts_balance_though_the_table_is_full)
{
    uint64_t random = 20261126, left = 0, made = 0, of_place[AGGREGATE_RIG_PLACES] = {0};
    for (unsigned round = 0; round < 20; round++) {
        uint64_t kinds = round % 2 ? 40 : 1000000;
        struct aggregate_sample list[LIST_MAX];
        chunk.used = 0;
        for (uint64_t time_ns = 1000; chunk.used < CHUNK_BYTES - 1000; time_ns += 1 + test_random(&random) % 3) {
            struct aggregate_sample sample = usual;
            sample.cpu = (uint32_t)(test_random(&random) % AGGREGATE_RIG_PLACES);
            sample.ip = test_random(&random) % kinds;
            sample.period = test_random(&random) % 1000;
            sample.time_ns = time_ns;
            sample.frames = test_random(&random) % 3;
            put(sample);
            made++;
            of_place[sample.cpu]++;
        }
        left += rewrite(list);
        for (uint32_t at = 0; at < chunk.used;) {
            struct aggregate_sample sample;
            cr_assert_eq(aggregate_rig_next(&chunk, &at, &sample), 1);
            of_place[sample.cpu]--;
        }
    }
    cr_expect_eq(left + merged(0) + merged(1), made);
    cr_expect_eq(merged(0), of_place[0]);
    cr_expect_eq(merged(1), of_place[1]);
    cr_expect_eq(atomic_load(&rig.aggregate.merged_sum), merged(0) + merged(1));
    cr_expect_gt(merged(0), made / 8);
}

Test(aggregate, sample_without_a_place_in_the_table_is_counted)
{
    struct aggregate_sample list[LIST_MAX], sample = usual;
    uint32_t samples = 0;
    sample.frames = 0;
    for (; chunk.used < CHUNK_BYTES - 100; samples++) { /* 16384 of 64 bytes each are the size of the table */
        sample.ip = samples;
        put(sample);
    }
    cr_assert_eq(rewrite(list), samples);
    uint64_t unplaced = atomic_load(&rig.aggregate.unplaced);
    cr_expect_gt(unplaced, 0);
    cr_expect_lt(unplaced, samples / 4);
}

Test(aggregate, samples_whose_write_failed_are_all_lost)
{
    struct aggregate_sample list[LIST_MAX], sample = usual;
    for (unsigned i = 0; i < 5; i++)
        put(sample);
    sample.cpu = 1;
    for (unsigned i = 0; i < 3; i++)
        put(sample);
    cr_assert_eq(rewrite(list), 2);
    uint64_t failed[AGGREGATE_RIG_PLACES * AGGREGATE_RIG_EVENTS] = {0},
                                           also[AGGREGATE_RIG_PLACES * AGGREGATE_RIG_EVENTS] = {0};
    uint64_t *const counts[] = {failed, also};
    uint32_t half = chunk.used / 2; /* the first of two is on file */
    step.take_back(step.plan, chunk.data + half, chunk.used - half, counts, 2);
    cr_expect_eq(failed[0], 0);
    cr_expect_eq(failed[AGGREGATE_RIG_EVENTS], 2, "the third one is a record in the file");
    cr_expect_eq(also[AGGREGATE_RIG_EVENTS], 2);
    cr_expect_eq(merged(0), 4);
    cr_expect_eq(merged(1), 0);
    cr_expect_eq(atomic_load(&rig.aggregate.merged_sum), 4);
}

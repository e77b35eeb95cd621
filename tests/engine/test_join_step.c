/* Deferred call chains in a chunk: what passes as it is, what has no user part, then what is joined. */
#include "engine/drain/join_step.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/perf_file.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/join_rig.h"

#define CHUNK_BYTES (64u * 1024)
#define TID         10u
#define COOKIE      0x500000003u
#define LEAF        0x400100u
#define FRAMES      0x400200u /* of records */
#define USER        ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL      ((uint64_t)PERF_CONTEXT_KERNEL)

static struct join_rig rig;
static struct weir_chunk_rewriter step;
static struct weir_chunk chunk;
static void *state;

static void begin(void)
{
    cr_assert(join_rig_init(&rig));
    step = weir_join_step_rewriter(&rig.step);
    state = step.begin(step.plan, CHUNK_BYTES);
    chunk = (struct weir_chunk){.data = calloc(1, CHUNK_BYTES), .capacity = CHUNK_BYTES};
    cr_assert(state && chunk.data);
}

static void end(void)
{
    step.end(state);
    free(chunk.data);
    join_rig_fini(&rig);
}

static const struct join_sample in_kernel = {
    .tid = TID, .time_ns = 100, .ip = JOIN_RIG_KERNEL, .cookie = COOKIE, .kernel = 2};
static const struct join_sample in_user = {.tid = TID, .time_ns = 100, .ip = LEAF, .cookie = COOKIE};

static void put(struct join_sample sample)
{
    join_rig_append(&chunk, &sample);
}

static void put_record(uint32_t tid, uint64_t cookie, unsigned frames)
{
    join_rig_append_record(&chunk, tid, cookie, FRAMES, frames);
}

static void rewrite(void)
{
    step.rewrite(state, &chunk, false);
}

/* Expects the next record of the chunk to be a sample with that chain. */
static void expect(uint32_t *at, const uint64_t *chain, size_t words)
{
    struct joined sample;
    cr_assert_eq(join_rig_next(&chunk, at, &sample), 1);
    cr_assert_eq(sample.frames, words, "%llu words", (unsigned long long)sample.frames);
    cr_expect(words == 0 || memcmp(sample.chain, chain, words * sizeof(*chain)) == 0);
    cr_expect_eq(sample.tid, TID);
    cr_expect_eq(sample.time_ns, 100);
    cr_expect_eq(sample.weight, 3);
}

#define CHAIN(...) ((const uint64_t[]){__VA_ARGS__}), sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static void expect_end(uint32_t at)
{
    cr_expect_eq(at, chunk.used);
}

static void expect_counts(struct weir_joined_sum wanted)
{
    const struct weir_joined_sum sum = weir_join_step_sum(&rig.step);
    cr_expect_eq(memcmp(&sum, &wanted, sizeof(sum)), 0,
                 "samples %llu joined %llu apart %llu unreadable %llu no_room %llu records %llu unused %llu",
                 (unsigned long long)sum.samples, (unsigned long long)sum.joined, (unsigned long long)sum.apart,
                 (unsigned long long)sum.unreadable, (unsigned long long)sum.no_room, (unsigned long long)sum.records,
                 (unsigned long long)sum.unused);
}

TestSuite(join_step, .init = begin, .fini = end);

Test(join_step, without_memory_there_is_no_step)
{
    struct weir_join_step other;
    const struct weir_join_step_setup setup = {.list = &rig.list};
    failing_alloc_after(0);
    cr_expect_eq(weir_join_step_init(&other, &setup), -ENOMEM);
    for (unsigned successes = 0; successes < 3; successes++) { /* worker, buffer, table */
        failing_alloc_after(successes);
        cr_expect_null(step.begin(step.plan, CHUNK_BYTES), "after %u", successes);
    }
    failing_alloc_never();
    step.end(NULL);
}

Test(join_step, memory_is_more_than_a_chunk)
{
    cr_expect_gt(step.state_bytes(NULL, CHUNK_BYTES), CHUNK_BYTES);
}

Test(join_step, other_samples_and_records_pass_as_they_are)
{
    struct join_sample plain = in_kernel, other = in_kernel, stranger = in_kernel;
    plain.cookie = 0;
    other.cpu = 1;
    stranger.cpu = 2;
    put(plain);
    put(other);
    put(stranger);
    const struct perf_event_header cut = {.type = PERF_RECORD_SAMPLE, .size = sizeof(cut)},
                                   lost = {.type = PERF_RECORD_LOST, .size = sizeof(lost)};
    memcpy(chunk.data + chunk.used, &cut, sizeof(cut));
    memcpy(chunk.data + chunk.used + sizeof(cut), &lost, sizeof(lost));
    chunk.used += sizeof(cut) + sizeof(lost);
    uint32_t used = chunk.used;
    uint8_t *before = malloc(used);
    cr_assert(before);
    memcpy(before, chunk.data, used);
    rewrite();
    cr_expect_eq(chunk.used, used);
    cr_expect_arr_eq(chunk.data, before, used);
    expect_counts((struct weir_joined_sum){0});
    free(before);
}

Test(join_step, malformed_sample_passes_as_it_is)
{
    put(in_kernel);
    memset(chunk.data + 40, 0xff, 8); /* words of the chain */
    uint32_t used = chunk.used;
    rewrite();
    cr_expect_eq(chunk.used, used);
    expect_counts((struct weir_joined_sum){0});
}

Test(join_step, malformed_record_goes_and_serves_nobody)
{
    uint32_t at = 0;
    put(in_kernel);
    uint32_t record = chunk.used;
    put_record(TID, COOKIE, 2);
    memcpy(chunk.data + record + 16, &(uint64_t){3}, sizeof(uint64_t)); /* words that would be in the trailer */
    rewrite();
    expect(&at, CHAIN(KERNEL, JOIN_RIG_KERNEL, JOIN_RIG_KERNEL + 1));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 1, .apart = 1, .records = 1, .unused = 1});
}

Test(join_step, sample_of_the_kernel_without_a_record_keeps_the_kernels_part)
{
    uint32_t at = 0;
    put(in_kernel);
    rewrite();
    expect(&at, CHAIN(KERNEL, JOIN_RIG_KERNEL, JOIN_RIG_KERNEL + 1));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 1, .apart = 1});
}

Test(join_step, sample_of_user_space_without_a_record_has_its_own_address)
{
    uint32_t at = 0;
    put(in_user);
    rewrite();
    expect(&at, CHAIN(USER, LEAF));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 1, .apart = 1});
}

Test(join_step, record_of_another_stay_or_task_serves_nobody)
{
    uint32_t at = 0;
    put(in_user);
    put_record(TID, COOKIE + 1, 2);
    put_record(TID + 1, COOKIE, 2);
    rewrite();
    expect(&at, CHAIN(USER, LEAF));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 1, .apart = 1, .records = 2, .unused = 2});
}

Test(join_step, record_of_an_earlier_chunk_serves_nobody)
{
    uint32_t at = 0;
    put_record(TID, COOKIE, 2);
    rewrite();
    cr_expect_eq(chunk.used, 0);
    put(in_user);
    rewrite();
    expect(&at, CHAIN(USER, LEAF));
    expect_end(at);
}

/* kernel.perf_event_max_contexts_per_stack counts the cookie, too. */
Test(join_step, mark_without_a_cookie_goes)
{
    struct join_sample sample = in_user;
    uint32_t at = 0;
    sample.has_no_cookie = true;
    put(sample);
    sample.kernel = 1;
    put(sample);
    put_record(TID, 0, 1);
    rewrite();
    expect(&at, CHAIN(USER, LEAF));
    expect(&at, CHAIN(KERNEL, JOIN_RIG_KERNEL));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 2, .apart = 2, .records = 1, .unused = 1});
}

Test(join_step, empty_record_is_as_none)
{
    uint32_t at = 0;
    put(in_user);
    put_record(TID, COOKIE, 0);
    rewrite();
    expect(&at, CHAIN(USER, LEAF));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 1, .unreadable = 1, .records = 1});
}

Test(join_step, record_gives_the_sample_its_user_part)
{
    uint32_t at = 0;
    put(in_kernel);
    put_record(TID, COOKIE, 3);
    rewrite();
    expect(&at, CHAIN(KERNEL, JOIN_RIG_KERNEL, JOIN_RIG_KERNEL + 1, USER, FRAMES, FRAMES + 1, FRAMES + 2));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 1, .joined = 1, .records = 1});
}

Test(join_step, record_serves_all_samples_of_its_stay)
{
    uint32_t at = 0;
    put(in_kernel);
    put_record(TID, COOKIE, 1);
    put_record(TID, COOKIE, 1); /* of a second event that asks for records */
    put(in_user);
    put(in_kernel);
    rewrite();
    expect(&at, CHAIN(KERNEL, JOIN_RIG_KERNEL, JOIN_RIG_KERNEL + 1, USER, FRAMES));
    expect(&at, CHAIN(USER, FRAMES));
    expect(&at, CHAIN(KERNEL, JOIN_RIG_KERNEL, JOIN_RIG_KERNEL + 1, USER, FRAMES));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = 3, .joined = 3, .records = 2, .unused = 1});
}

Test(join_step, records_of_many_stays_are_told_apart)
{
    enum {
        STAYS = 400
    };
    uint32_t at = 0;
    for (unsigned i = 0; i < STAYS; i++) {
        struct join_sample sample = in_user;
        sample.cookie = COOKIE + i;
        put(sample);
    }
    for (unsigned i = 0; i < STAYS; i++)
        join_rig_append_record(&chunk, TID, COOKIE + i, FRAMES + i, 1);
    rewrite();
    for (unsigned i = 0; i < STAYS; i++)
        expect(&at, CHAIN(USER, FRAMES + i));
    expect_end(at);
    expect_counts((struct weir_joined_sum){.samples = STAYS, .joined = STAYS, .records = STAYS});
}

/* A full chunk, whose samples share one record: those that fit are joined, and each one is there. */
Test(join_step, samples_beyond_the_chunk_stay_without_a_user_part)
{
    enum {
        FRAMES_OF_RECORD = 400
    };
    unsigned samples = 0;
    uint32_t at = 0;
    put_record(TID, COOKIE, FRAMES_OF_RECORD);
    for (; chunk.used + 80 <= CHUNK_BYTES; samples++)
        put(in_user);
    rewrite();
    cr_expect_leq(chunk.used, CHUNK_BYTES);
    const struct weir_joined_sum sum = weir_join_step_sum(&rig.step);
    /* Joined, a sample grows by 399 words; a chunk has room for the record, less what the samples have. */
    cr_expect_eq(sum.joined, 1);
    cr_expect_eq(sum.no_room, samples - 1);
    struct joined sample;
    unsigned found = 0;
    while (join_rig_next(&chunk, &at, &sample) == 1)
        found += sample.frames == 2 || sample.frames == FRAMES_OF_RECORD + 1;
    cr_expect_eq(found, samples);
    expect_end(at);
}

/* header.size has 16 bits. */
Test(join_step, sample_beyond_the_size_of_a_record_stays_without_a_user_part)
{
    void *large = step.begin(step.plan, 4 * CHUNK_BYTES);
    chunk.data = realloc(chunk.data, 4 * CHUNK_BYTES);
    cr_assert(large && chunk.data);
    struct join_sample sample = in_kernel;
    sample.kernel = 4200;
    put(sample);
    put_record(TID, COOKIE, 4200);
    step.rewrite(large, &chunk, false);
    expect_counts((struct weir_joined_sum){.samples = 1, .no_room = 1, .records = 1});
    step.end(large);
}

/* Samples with copied stacks in a chunk: what passes as it is, what ends early, then what becomes a call chain. */
#include "engine/drain/unwind_step.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/drain/aggregate.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/unwind_rig.h"

#define CHUNK_BYTES (1u << 20)
#define CALLER      (UNWIND_RIG_BASE + 0x120f)
#define OUTERMOST   (UNWIND_RIG_BASE + 0x1307)
#define USER        ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL      ((uint64_t)PERF_CONTEXT_KERNEL)

static struct unwind_rig rig;
static struct weir_chunk_rewriter step;
static struct weir_chunk chunk;
static void *state;

static void begin(void)
{
    cr_assert(unwind_rig_init(&rig, 1));
    step = weir_unwind_step_rewriter(&rig.step);
    state = step.begin(step.plan, CHUNK_BYTES);
    chunk = (struct weir_chunk){.data = calloc(1, CHUNK_BYTES), .capacity = CHUNK_BYTES};
    cr_assert(state && chunk.data);
}

static void end(void)
{
    step.end(state);
    free(chunk.data);
    unwind_rig_fini(&rig);
}

static const struct unwind_sample usual = {
    .pid = UNWIND_RIG_PID, .time_ns = 100, .ip = UNWIND_RIG_LEAF, .abi = PERF_SAMPLE_REGS_ABI_64, .depth = 2};

static void put(struct unwind_sample sample)
{
    unwind_rig_append(&chunk, &sample);
}

static struct weir_unwound_sum counts(void)
{
    return weir_unwind_step_sum(&rig.step);
}

static void rewrite(bool is_hurried)
{
    step.rewrite(state, &chunk, is_hurried);
}

/* Expects the next sample of the chunk to have that chain. */
static void expect(uint32_t *at, const uint64_t *chain, size_t words)
{
    struct unwound sample;
    cr_assert_eq(unwind_rig_next(&chunk, at, &sample), 1);
    cr_assert_eq(sample.frames, words, "%llu words", (unsigned long long)sample.frames);
    if (words > 0)
        cr_expect_arr_eq(sample.chain, chain, words * sizeof(*chain));
    cr_expect_eq(sample.period, 7);
    cr_expect_eq(sample.weight, 3);
}

#define CHAIN(...) ((const uint64_t[]){__VA_ARGS__}), sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

TestSuite(unwind_step, .init = begin, .fini = end);

Test(unwind_step, without_memory_there_is_no_step)
{
    struct weir_unwind_step other;
    const struct weir_unwind_step_setup setup = {.list = &rig.list};
    failing_alloc_after(0);
    cr_expect_eq(weir_unwind_step_init(&other, &setup), -ENOMEM);
    for (unsigned successes = 0; successes < 4; successes++) { /* worker, rules, slots, buckets */
        failing_alloc_after(successes);
        cr_expect_null(step.begin(step.plan, CHUNK_BYTES), "after %u", successes);
    }
    failing_alloc_never();
    step.end(NULL);
}

Test(unwind_step, memory_of_tables_is_shared_out_among_the_workers)
{
    struct unwind_rig four;
    cr_assert(unwind_rig_init(&four, 4));
    size_t one = step.state_bytes(step.plan, CHUNK_BYTES), each = step.state_bytes(&four.step, CHUNK_BYTES);
    cr_expect_eq(one - each, (4 << 20) - (1 << 20));
    cr_expect_eq(each - step.state_bytes(NULL, CHUNK_BYTES), 1 << 20);
    unwind_rig_fini(&four);
}

Test(unwind_step, records_of_other_events_and_short_ones_pass_as_they_are)
{
    struct unwind_sample plain = usual, stranger = usual;
    plain.cpu = 1;
    stranger.cpu = 2;
    put(plain);
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
    rewrite(false);
    cr_expect_eq(chunk.used, used);
    cr_expect_arr_eq(chunk.data, before, used);
    cr_expect_eq(counts().samples, 0);
    free(before);
}

Test(unwind_step, malformed_sample_passes_and_is_counted)
{
    put(usual);
    uint32_t used = chunk.used;
    memset(chunk.data + 48, 0xff, 8); /* frames of the call chain */
    put(usual);
    rewrite(false);
    uint32_t at = used;
    cr_expect_eq(counts().samples, 2);
    cr_expect_eq(counts().malformed, 1);
    cr_expect_eq(counts().unwound, 1);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
}

Test(unwind_step, thread_of_the_kernel_keeps_its_chain)
{
    struct unwind_sample kernel = usual;
    uint32_t at = 0;
    kernel.abi = PERF_SAMPLE_REGS_ABI_NONE;
    kernel.kernel = 2;
    put(kernel);
    kernel.kernel = 0;
    put(kernel);
    rewrite(false);
    expect(&at, CHAIN(KERNEL, UNWIND_RIG_KERNEL + 1, UNWIND_RIG_KERNEL + 2));
    expect(&at, NULL, 0);
    cr_expect_eq(counts().samples, 2);
    cr_expect_eq(counts().unwound, 0);
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_REGS], 0);
}

Test(unwind_step, program_of_32_bits_has_no_user_chain)
{
    struct unwind_sample sample = usual;
    uint32_t at = 0;
    sample.abi = PERF_SAMPLE_REGS_ABI_32;
    sample.kernel = 1;
    put(sample);
    rewrite(false);
    expect(&at, CHAIN(KERNEL, UNWIND_RIG_KERNEL + 1));
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_REGS], 1);
    cr_expect_eq(counts().unwound, 0);
}

Test(unwind_step, chunk_waits_once_for_mappings)
{
    struct unwind_sample sample = usual;
    uint32_t at = 0;
    sample.pid++;
    sample.has_no_frame = true;
    for (unsigned i = 0; i < 3; i++)
        put(sample);
    rewrite(false);
    cr_expect_eq(atomic_load(&rig.waits), 1);
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_MAPPING], 3);
    for (unsigned i = 0; i < 3; i++)
        expect(&at, CHAIN(USER, UNWIND_RIG_LEAF));
    chunk.used = 0;
    put(sample);
    rewrite(false);
    cr_expect_eq(atomic_load(&rig.waits), 2);
    cr_expect_eq(counts().waits, 2);
}

Test(unwind_step, file_that_is_late_is_tried_again_with_the_next_chunk)
{
    struct unwind_sample sample = usual;
    uint32_t at = 0;
    rig.open_error = -ETIMEDOUT;
    sample.has_no_frame = true;
    for (unsigned i = 0; i < 3; i++)
        put(sample);
    rewrite(false);
    cr_expect_eq(atomic_load(&rig.opens), 1, "the chunk waits for no second file");
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_TABLE], 3);
    cr_expect_eq(counts().late, 1);
    rig.open_error = 0;
    chunk.used = 0;
    put(usual);
    rewrite(false);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
    cr_expect_eq(counts().ends[WEIR_UNWIND_OUTERMOST], 1);
}

Test(unwind_step, file_that_cannot_be_opened_is_tried_once)
{
    struct unwind_sample sample = usual;
    rig.open_error = -ENOENT;
    sample.has_no_frame = true;
    for (unsigned i = 0; i < 2; i++) {
        chunk.used = 0;
        put(sample);
        rewrite(false);
    }
    cr_expect_eq(atomic_load(&rig.opens), 1);
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_TABLE], 2);
    cr_expect_eq(counts().late, 0);
}

Test(unwind_step, hurried_chunk_waits_for_nothing)
{
    struct unwind_sample known = usual, unknown = usual;
    known.has_no_frame = unknown.has_no_frame = true;
    unknown.pid++;
    put(known);
    put(unknown);
    rewrite(true);
    cr_expect_eq(atomic_load(&rig.waits), 0);
    cr_expect_eq(atomic_load(&rig.opens), 0);
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_TABLE], 1);
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_MAPPING], 1);
    cr_expect_eq(counts().late, 1);
}

Test(unwind_step, hurried_chunk_has_the_innermost_frames_only)
{
    struct unwind_sample deep = usual;
    struct unwound sample;
    uint32_t at = 0;
    deep.depth = 40;
    put(usual);
    rewrite(false); /* the file is known from here on */
    chunk.used = 0;
    put(deep);
    put(usual);
    rewrite(true);
    cr_assert_eq(unwind_rig_next(&chunk, &at, &sample), 1);
    cr_expect_eq(sample.frames, 1 + WEIR_UNWIND_STEP_HURRIED_FRAMES);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
    cr_expect_eq(counts().hurried, 1);
    cr_expect_eq(counts().ends[WEIR_UNWIND_LIMIT], 1);
}

/* A stack of 5 words that never ends. Registers, sizes and stack have the room of 11 words. */
Test(unwind_step, frames_without_room_are_clipped)
{
    struct unwind_sample cycle = usual;
    uint32_t at = 0;
    cycle.depth = 200;
    cycle.stack_words = 5;
    cycle.is_cycle = true;
    put(cycle);
    put(usual);
    rewrite(false);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, CALLER, CALLER, CALLER, CALLER, CALLER, CALLER, CALLER, CALLER));
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
    cr_expect_eq(counts().ends[WEIR_UNWIND_LIMIT], 1);
    cr_expect_eq(counts().clipped, 1);
    cr_expect_eq(counts().frames, 10 + 3);
}

Test(unwind_step, unwound_sample_has_the_chain_of_kernel_and_user)
{
    struct unwind_sample sample = usual;
    uint32_t at = 0, before;
    sample.kernel = 2;
    sample.depth = 5;
    sample.stack_words = 1024;
    put(sample);
    put(usual);
    before = chunk.used;
    rewrite(false);
    expect(&at, CHAIN(KERNEL, UNWIND_RIG_KERNEL + 1, UNWIND_RIG_KERNEL + 2, USER, UNWIND_RIG_LEAF, CALLER, CALLER,
                      CALLER, CALLER, OUTERMOST));
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
    cr_expect_eq(at, chunk.used);
    cr_expect_lt(chunk.used, before / 20);
    cr_expect_eq(counts().samples, 2);
    cr_expect_eq(counts().unwound, 2);
    cr_expect_eq(counts().frames, 6 + 3);
    cr_expect_eq(counts().ends[WEIR_UNWIND_OUTERMOST], 2);
    cr_expect_eq(atomic_load(&rig.opens), 2);
    cr_expect_eq(atomic_load(&rig.waits), 1, "there may be newer mappings than those that are known");
}

Test(unwind_step, mapping_that_comes_late_is_waited_for)
{
    uint32_t at = 0;
    rig.knows_after_a_wait = true;
    put(usual);
    put(usual);
    rewrite(false);
    for (unsigned i = 0; i < 2; i++)
        expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
    cr_expect_eq(atomic_load(&rig.waits), 1);
    cr_expect_eq(counts().ends[WEIR_UNWIND_NO_MAPPING], 0);
}

Test(unwind_step, mappings_are_those_of_the_time_of_the_sample)
{
    struct unwind_sample later = usual;
    uint32_t at = 0;
    struct unwind_sample earlier = usual;
    rig.known_from_ns = 200;
    later.time_ns = 200;
    earlier.has_no_frame = true;
    put(earlier);
    put(later);
    rewrite(false);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF));
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
}

/* Every sample in is a sample out: unwound, of a thread of the kernel, of 32 bits, or malformed. */
Test(unwind_step, counts_balance_over_many_chunks)
{
    uint64_t made = 0, kernel = 0, found = 0;
    for (unsigned round = 0; round < 30; round++) {
        chunk.used = 0;
        for (unsigned i = 0; chunk.used < CHUNK_BYTES - 4096; i++, made++) {
            struct unwind_sample sample = usual;
            sample.depth = 1 + i % 30;
            sample.pid += i % 7 == 0;
            sample.abi = i % 5 == 0 ? PERF_SAMPLE_REGS_ABI_NONE : i % 11 == 0 ? PERF_SAMPLE_REGS_ABI_32 : sample.abi;
            sample.kernel = i % 3;
            kernel += sample.abi == PERF_SAMPLE_REGS_ABI_NONE;
            put(sample);
        }
        rewrite(round % 2);
        struct unwound sample;
        int next;
        for (uint32_t at = 0; (next = unwind_rig_next(&chunk, &at, &sample)) >= 0;)
            found += (uint64_t)next;
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < WEIR_UNWIND_ENDS; i++)
        sum += counts().ends[i];
    cr_expect_eq(found, made);
    cr_expect_eq(counts().samples, made);
    cr_expect_eq(sum + kernel, made);
    cr_expect_eq(sum - counts().ends[WEIR_UNWIND_NO_REGS], counts().unwound);
}

/* The unwound samples are what --aggregate merges. */
Test(unwind_step, unwound_samples_can_be_merged)
{
    struct weir_aggregate aggregate;
    struct unwound sample;
    uint32_t at = 0;
    const struct weir_aggregate_setup setup = {
        .layout = rig.step.layout, .list = &rig.list, .place_count = 1, .interval_ns = 1000, .are_unwound = true};
    cr_assert_eq(weir_aggregate_init(&aggregate, &setup), 0);
    struct weir_chunk_rewriter merging = weir_aggregate_rewriter(&aggregate);
    void *merger = merging.begin(merging.plan, CHUNK_BYTES);
    for (unsigned i = 0; i < 5; i++) {
        struct unwind_sample again = usual;
        again.stack_words = 100 + i; /* the copies differ, their chains do not */
        put(again);
    }
    rewrite(false);
    merging.rewrite(merger, &chunk, false);
    cr_assert_eq(unwind_rig_next(&chunk, &at, &sample), 1);
    cr_expect_eq(sample.weight, 5);
    cr_expect_eq(sample.period, 5 * 7);
    cr_expect_eq(sample.frames, 4);
    cr_expect_eq(at, chunk.used);
    merging.end(merger);
    weir_aggregate_fini(&aggregate);
}

/* A frame pointer leads out of memory that is not known yet, perhaps to the wrong caller. */
Test(unwind_step, unknown_memory_is_waited_for_though_a_frame_pointer_leads_on)
{
    struct unwind_sample sample = usual;
    uint32_t at = 0;
    rig.knows_after_a_wait = true;
    sample.depth = 3;
    put(sample);
    rewrite(false);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, CALLER, OUTERMOST));
    cr_expect_eq(atomic_load(&rig.waits), 1);
}

Test(unwind_step, chunk_opens_files_for_a_bounded_time)
{
    uint32_t at = 0;
    put(usual);
    rig.open_ns = WEIR_UNWIND_STEP_OPENING_NS - 1;
    rewrite(false);
    expect(&at, CHAIN(USER, UNWIND_RIG_LEAF, CALLER, OUTERMOST));
    cr_expect_eq(atomic_load(&rig.opens), 2);
    cr_expect_eq(counts().late, 0);
    chunk.used = 0;
    rig.open_ns++;
    rig.keys_from = 10;
    put(usual);
    rewrite(false);
    cr_expect_eq(atomic_load(&rig.opens), 3, "the second of two files waits");
    cr_expect_eq(counts().late, 1);
}

/* The stage without threads: order, slots, what goes out as it is, rewriting steps. Threads: race_chunk_stage.c. */
#include "engine/drain/chunk_stage.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "format/perf_file.h"
#include "tests/base/failing_alloc.h"

#define CHUNK_BYTES  (128u * 1024)
#define BUFFER_INDEX 5
#define SLOTS        16u

struct rig {
    struct weir_chunk_stage stage;
    struct weir_chunk chunks[SLOTS + 1];
    uint8_t *data; /* of all chunks */
};

static void setup_workers(struct rig *rig, unsigned workers)
{
    struct weir_error err = {0};
    memset(rig, 0, sizeof(*rig));
    const struct weir_chunk_stage_setup setup = {
        .level = 1, .workers = workers, .chunk_bytes = CHUNK_BYTES, .buffer_index = BUFFER_INDEX};
    cr_assert_eq(weir_chunk_stage_init(&rig->stage, &setup, &err), 0, "%s", err.what);
    rig->data = calloc(SLOTS + 1, CHUNK_BYTES);
    for (unsigned i = 0; i <= SLOTS; i++)
        rig->chunks[i] =
            (struct weir_chunk){.data = rig->data + (size_t)i * CHUNK_BYTES, .used = 4096, .buffer_index = 2};
}

static void fini(struct rig *rig)
{
    weir_chunk_stage_fini(&rig->stage);
    free(rig->data);
}

Test(chunk_stage, without_memory_is_refused_with_a_hint)
{
    struct weir_chunk_stage stage;
    const struct weir_chunk_stage_setup setup = {.level = 1, .chunk_bytes = CHUNK_BYTES};
    for (unsigned successes = 0; successes < 5; successes++) {
        struct weir_error err = {0};
        failing_alloc_after(successes);
        cr_expect_eq(weir_chunk_stage_init(&stage, &setup, &err), -ENOMEM, "after %u", successes);
        cr_expect_str_eq(err.what, "cannot set up compression of level 1: Cannot allocate memory");
        cr_expect_str_eq(err.hint, "a lower level needs less memory: --compression-level=1");
    }
    failing_alloc_never();
    weir_chunk_stage_fini(NULL);
}

Test(chunk_stage, its_memory_is_known_before)
{
    struct rig rig;
    setup_workers(&rig, 3);
    struct weir_chunk_stage_memory memory = weir_chunk_stage_memory_of(&rig.stage.setup);
    cr_expect_gt(memory.least, 3 * CHUNK_BYTES, "tables of each worker");
    cr_expect_eq(memory.most, memory.least + rig.stage.memory.iov_len);
    fini(&rig);

    failing_alloc_after(0);
    memory = weir_chunk_stage_memory_of(&(struct weir_chunk_stage_setup){.level = 1, .chunk_bytes = CHUNK_BYTES});
    failing_alloc_never();
    cr_expect_eq(memory.least + memory.most, 0);
}

Test(chunk_stage, nothing_submitted_gives_nothing)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    weir_chunk_stage_kick(&rig.stage);
    cr_assert_not(weir_chunk_stage_next(&rig.stage, &result));
    cr_assert_eq(weir_chunk_stage_backlog(&rig.stage), 0);
    fini(&rig);
}

Test(chunk_stage, completing_a_chunk_that_was_not_given_out_is_a_bug, .signal = SIGABRT)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[0], false);
    weir_chunk_stage_kick(&rig.stage);
    cr_assert(weir_chunk_stage_next(&rig.stage, &result));
    weir_chunk_stage_complete(&rig.stage, &rig.chunks[1]);
}

Test(chunk_stage, chunks_come_out_compressed_and_in_order)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    for (unsigned i = 0; i < 3; i++)
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], false);
    cr_assert_eq(weir_chunk_stage_backlog(&rig.stage), 3);
    cr_assert_not(weir_chunk_stage_next(&rig.stage, &result), "before anybody has compressed");
    weir_chunk_stage_kick(&rig.stage);
    for (unsigned i = 0; i < 3; i++) {
        struct perf_event_header header;
        cr_assert(weir_chunk_stage_next(&rig.stage, &result));
        cr_assert_eq(result.chunk, &rig.chunks[i]);
        cr_assert_eq(result.buffer_index, BUFFER_INDEX);
        cr_assert_eq((uintptr_t)result.data % 4096, 0);
        memcpy(&header, result.data, sizeof(header));
        cr_assert_eq(header.type, WEIR_RECORD_COMPRESSED);
        cr_assert_eq(header.size, result.bytes);
        weir_chunk_stage_complete(&rig.stage, result.chunk);
    }
    cr_assert_eq(rig.stage.totals.in_bytes, 3 * 4096);
    cr_assert_eq(rig.stage.totals.raw_bytes, 0);
    fini(&rig);
}

Test(chunk_stage, round_marker_passes_as_it_is_and_keeps_its_place)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    rig.chunks[1].kind = WEIR_CHUNK_ROUND;
    rig.chunks[1].used = 8;
    for (unsigned i = 0; i < 3; i++)
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], false);
    weir_chunk_stage_kick(&rig.stage);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(weir_chunk_stage_next(&rig.stage, &result));
        cr_assert_eq(result.chunk, &rig.chunks[i]);
        cr_assert_eq(result.data == rig.chunks[i].data, i == 1);
    }
    cr_assert_eq(result.buffer_index, BUFFER_INDEX);
    fini(&rig);
}

Test(chunk_stage, slots_are_bounded_until_chunks_are_on_file)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        cr_assert(weir_chunk_stage_can_submit(&rig.stage));
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], false);
    }
    cr_assert_not(weir_chunk_stage_can_submit(&rig.stage));
    weir_chunk_stage_kick(&rig.stage);
    cr_assert(weir_chunk_stage_next(&rig.stage, &result));
    cr_assert_not(weir_chunk_stage_can_submit(&rig.stage), "compressed, but not on file");
    weir_chunk_stage_complete(&rig.stage, result.chunk);
    cr_assert(weir_chunk_stage_can_submit(&rig.stage));
    fini(&rig);
}

Test(chunk_stage, under_pressure_chunks_go_out_as_they_are_when_the_workers_are_behind)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[0], true); /* nobody is behind yet */
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[1], true);
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[2], false); /* no pressure */
    weir_chunk_stage_kick(&rig.stage);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(weir_chunk_stage_next(&rig.stage, &result));
        cr_assert_eq(result.data == rig.chunks[i].data, i == 1, "chunk %u", i);
        cr_assert_eq(result.buffer_index, i == 1 ? 2 : BUFFER_INDEX);
    }
    cr_assert_eq(rig.stage.totals.raw_bytes, 4096);
    cr_assert_eq(rig.stage.totals.in_bytes, 2 * 4096);
    fini(&rig);
}

Test(chunk_stage, one_thread_for_each_eight_cpus_and_sixteen_at_most)
{
    cr_assert_eq(weir_chunk_stage_default_workers(1), 1);
    cr_assert_eq(weir_chunk_stage_default_workers(15), 1);
    cr_assert_eq(weir_chunk_stage_default_workers(96), 12);
    cr_assert_eq(weir_chunk_stage_default_workers(1000), 16);
}

Test(chunk_stage, stop_before_start_and_twice_is_fine)
{
    struct rig rig;
    setup_workers(&rig, 2);
    weir_chunk_stage_stop(&rig.stage);
    weir_chunk_stage_stop(&rig.stage);
    fini(&rig);
}

/* When an output was left for another, both are on their way. */
Test(chunk_stage, slots_are_free_in_order_though_chunks_complete_in_any)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_workers(&rig, 0);
    for (unsigned i = 0; i < SLOTS; i++)
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], false);
    weir_chunk_stage_kick(&rig.stage);
    for (unsigned i = 0; i < 3; i++)
        cr_assert(weir_chunk_stage_next(&rig.stage, &result));
    weir_chunk_stage_complete(&rig.stage, &rig.chunks[1]);
    weir_chunk_stage_complete(&rig.stage, &rig.chunks[2]);
    cr_assert_not(weir_chunk_stage_can_submit(&rig.stage));
    weir_chunk_stage_complete(&rig.stage, &rig.chunks[0]);
    cr_assert_eq(rig.stage.completed, 3);
    cr_assert(weir_chunk_stage_can_submit(&rig.stage));
    fini(&rig);
}

/* ---- rewriting steps ---- */

/* A step that counts down the bytes of a chunk by its plan, in as many steps as there are. */
static size_t cut_bytes(const void *plan, uint32_t chunk_bytes)
{
    (void)plan;
    return chunk_bytes;
}

static void *cut_begin(const void *plan, uint32_t chunk_bytes)
{
    const uint32_t **state = chunk_bytes == CHUNK_BYTES ? malloc(sizeof(*state)) : NULL;
    if (state)
        *state = plan;
    return state;
}

static void cut(void *state, struct weir_chunk *chunk, bool is_hurried)
{
    chunk->used -= **(const uint32_t **)state;
    chunk->data[0]++;
    chunk->data[1] += is_hurried;
}

static const uint32_t first_cut = 1024, second_cut = 8;

static void setup_steps(struct rig *rig, int level)
{
    struct weir_error err = {0};
    setup_workers(rig, 0);
    weir_chunk_stage_fini(&rig->stage);
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {{&first_cut, cut_bytes, cut_begin, free, cut}, {&second_cut, cut_bytes, cut_begin, free, cut}},
        .rewriter_count = 2,
        .level = level,
        .chunk_bytes = CHUNK_BYTES,
        .buffer_index = BUFFER_INDEX,
    };
    cr_assert_eq(weir_chunk_stage_init(&rig->stage, &setup, &err), 0, "%s", err.what);
}

Test(chunk_stage, steps_without_memory_are_refused)
{
    struct weir_chunk_stage stage;
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {{&first_cut, cut_bytes, cut_begin, free, cut}}, .rewriter_count = 1, .chunk_bytes = 4096};
    struct weir_error err = {0};
    cr_expect_eq(weir_chunk_stage_init(&stage, &setup, &err), -ENOMEM);
    cr_expect_str_eq(err.what, "cannot set up the stage in front of the writer: Cannot allocate memory");
}

Test(chunk_stage, is_needed_for_a_level_or_a_step)
{
    cr_expect_not(weir_chunk_stage_is_needed(&(struct weir_chunk_stage_setup){.workers = 3}));
    cr_expect(weir_chunk_stage_is_needed(&(struct weir_chunk_stage_setup){.level = 3}));
    cr_expect(weir_chunk_stage_is_needed(&(struct weir_chunk_stage_setup){.rewriter_count = 1}));
}

Test(chunk_stage, steps_rewrite_a_chunk_one_after_the_other_where_it_lies)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_steps(&rig, 0);
    cr_expect_eq(weir_chunk_stage_memory_of(&rig.stage.setup).most, 2 * CHUNK_BYTES);
    rig.chunks[1].opaque = true;
    for (unsigned i = 0; i < 3; i++)
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], true); /* pressure skips no step */
    cr_assert_not(weir_chunk_stage_next(&rig.stage, &result));
    weir_chunk_stage_kick(&rig.stage);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(weir_chunk_stage_next(&rig.stage, &result));
        cr_expect_eq(result.data, rig.chunks[i].data);
        cr_expect_eq(result.bytes, i == 1 ? 4096 : 4096 - 1024 - 8, "a train passes as it is");
        cr_expect_eq(result.buffer_index, 2);
        cr_expect_eq(result.data[0], i == 1 ? 0 : 2);
        cr_expect_eq(result.data[1], i == 2 ? 2 : 0, "behind the first one, the steps hurry");
        cr_expect_eq(weir_chunk_stage_complete(&rig.stage, result.chunk).count, 0);
    }
    cr_expect_eq(rig.stage.totals.raw_bytes, 0, "nobody asked for compression");
    fini(&rig);
}

Test(chunk_stage, rewritten_bytes_are_what_is_compressed)
{
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_steps(&rig, 1);
    for (unsigned i = 0; i < 2; i++)
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], true); /* the second goes out uncompressed */
    weir_chunk_stage_kick(&rig.stage);
    cr_assert(weir_chunk_stage_next(&rig.stage, &result));
    cr_expect_eq(result.buffer_index, BUFFER_INDEX);
    cr_expect_eq(rig.stage.totals.in_bytes, 4096 - 1024 - 8);
    cr_assert(weir_chunk_stage_next(&rig.stage, &result));
    cr_expect_eq(result.bytes, 4096 - 1024 - 8);
    cr_expect_eq(rig.stage.totals.raw_bytes, 4096 - 1024 - 8);
    fini(&rig);
}

Test(chunk_stage, chunk_that_a_step_empties_is_not_compressed)
{
    static const uint32_t all = 4096;
    struct rig rig;
    struct weir_chunk_stage_result result;
    setup_steps(&rig, 1);
    rig.stage.setup.rewriter_count = 1;
    *(const uint32_t **)rig.stage.workers[0].states[0] = &all;
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[0], false);
    weir_chunk_stage_kick(&rig.stage);
    cr_assert(weir_chunk_stage_next(&rig.stage, &result));
    cr_expect_eq(result.chunk, &rig.chunks[0]);
    cr_expect_eq(result.bytes, 0);
    cr_expect_eq(weir_chunk_stage_complete(&rig.stage, result.chunk).count, 0);
    rig.stage.setup.rewriter_count = 2;
    fini(&rig);
}

/* ---- chunks that are held ---- */

static void setup_holding(struct rig *rig)
{
    setup_steps(rig, 0);
    rig->stage.setup.holds = true;
}

/* How many chunks come out, each completed. */
static unsigned count_out(struct rig *rig)
{
    struct weir_chunk_stage_result result;
    unsigned count = 0;
    weir_chunk_stage_kick(&rig->stage);
    cr_expect_eq(weir_chunk_stage_is_busy(&rig->stage), weir_chunk_stage_next(&rig->stage, &result));
    for (bool is_out = rig->stage.appended > rig->stage.completed; is_out; count++) {
        weir_chunk_stage_complete(&rig->stage, result.chunk);
        is_out = weir_chunk_stage_next(&rig->stage, &result);
    }
    return count;
}

/* The second chunk's reader may have mappings for the first one in its ring. */
Test(chunk_stage, held_chunks_come_out_with_the_end_of_their_round)
{
    static const enum weir_chunk_kind ends[] = {WEIR_CHUNK_ROUND, WEIR_CHUNK_ROTATION};
    for (unsigned i = 0; i < 2; i++) {
        struct rig rig;
        setup_holding(&rig);
        rig.chunks[2].kind = ends[i];
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[0], false);
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[1], false);
        cr_expect_eq(count_out(&rig), 0);
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[2], false);
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[3], false);
        cr_expect_eq(count_out(&rig), 3, "without the one of the next round");
        cr_expect_eq(rig.chunks[1].used, 4096 - 1024 - 8);
        weir_chunk_stage_let_go(&rig.stage);
        cr_expect_eq(count_out(&rig), 1);
        fini(&rig);
    }
}

Test(chunk_stage, held_chunks_go_when_the_pool_or_the_slots_run_out)
{
    struct rig rig;
    setup_holding(&rig);
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[0], false);
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[1], true);
    cr_expect_eq(count_out(&rig), 2);
    for (unsigned i = 0; i < SLOTS; i++) {
        cr_expect_eq(count_out(&rig), 0, "before chunk %u", i);
        cr_assert(weir_chunk_stage_can_submit(&rig.stage));
        weir_chunk_stage_submit(&rig.stage, &rig.chunks[i], false);
    }
    cr_expect_eq(count_out(&rig), SLOTS);
    fini(&rig);
}

/* It waits for nobody: a train, behind which no held chunk stands. */
Test(chunk_stage, what_no_step_works_on_is_not_held)
{
    struct rig rig;
    setup_holding(&rig);
    rig.chunks[0].opaque = true;
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[0], false);
    weir_chunk_stage_submit(&rig.stage, &rig.chunks[1], false);
    cr_expect_eq(count_out(&rig), 1);
    cr_expect_eq(count_out(&rig), 0);
    fini(&rig);
}

Test(chunk_stage, held_chunks_have_slots_of_their_own)
{
    struct rig rig;
    setup_holding(&rig);
    struct weir_chunk_stage_setup setup = rig.stage.setup;
    fini(&rig);
    struct weir_error err = {0};
    setup.workers = 4;
    for (unsigned i = 0; i < 2; i++) {
        setup.holds = i;
        cr_assert_eq(weir_chunk_stage_init(&rig.stage, &setup, &err), 0);
        cr_expect_eq(rig.stage.slot_count, i ? 64 : 32);
        weir_chunk_stage_fini(&rig.stage);
    }
}

/* Compression without threads: order, slots, what goes out as it is. Threads: race_compressor.c. */
#include "engine/drain/compressor.h"

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
    struct weir_compressor compressor;
    struct weir_chunk chunks[SLOTS + 1];
    uint8_t *data; /* of all chunks */
};

static void setup_workers(struct rig *rig, unsigned workers)
{
    struct weir_error err = {0};
    memset(rig, 0, sizeof(*rig));
    const struct weir_compressor_setup setup = {
        .level = 1, .workers = workers, .chunk_bytes = CHUNK_BYTES, .buffer_index = BUFFER_INDEX};
    cr_assert_eq(weir_compressor_init(&rig->compressor, &setup, &err), 0, "%s", err.what);
    rig->data = calloc(SLOTS + 1, CHUNK_BYTES);
    for (unsigned i = 0; i <= SLOTS; i++)
        rig->chunks[i] =
            (struct weir_chunk){.data = rig->data + (size_t)i * CHUNK_BYTES, .used = 4096, .buffer_index = 2};
}

static void fini(struct rig *rig)
{
    weir_compressor_fini(&rig->compressor);
    free(rig->data);
}

Test(compressor, without_memory_is_refused_with_a_hint)
{
    struct weir_compressor compressor;
    const struct weir_compressor_setup setup = {.level = 1, .chunk_bytes = CHUNK_BYTES};
    for (unsigned successes = 0; successes < 5; successes++) {
        struct weir_error err = {0};
        failing_alloc_after(successes);
        cr_expect_eq(weir_compressor_init(&compressor, &setup, &err), -ENOMEM, "after %u", successes);
        cr_expect_str_eq(err.what, "cannot set up compression of level 1: Cannot allocate memory");
        cr_expect_str_eq(err.hint, "a lower level needs less memory: --compression-level=1");
    }
    failing_alloc_never();
    weir_compressor_fini(NULL);
}

Test(compressor, its_memory_is_known_before)
{
    struct rig rig;
    setup_workers(&rig, 3);
    struct weir_compressor_memory memory = weir_compressor_memory_of(&rig.compressor.setup);
    cr_expect_gt(memory.least, 3 * CHUNK_BYTES, "tables of each worker");
    cr_expect_eq(memory.most, memory.least + rig.compressor.memory.iov_len);
    fini(&rig);

    failing_alloc_after(0);
    memory = weir_compressor_memory_of(&(struct weir_compressor_setup){.level = 1, .chunk_bytes = CHUNK_BYTES});
    failing_alloc_never();
    cr_expect_eq(memory.least + memory.most, 0);
}

Test(compressor, nothing_submitted_gives_nothing)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    weir_compressor_kick(&rig.compressor);
    cr_assert_not(weir_compressor_next(&rig.compressor, &result));
    cr_assert_eq(weir_compressor_backlog(&rig.compressor), 0);
    fini(&rig);
}

Test(compressor, completing_a_chunk_that_was_not_given_out_is_a_bug, .signal = SIGABRT)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    weir_compressor_submit(&rig.compressor, &rig.chunks[0], false);
    weir_compressor_kick(&rig.compressor);
    cr_assert(weir_compressor_next(&rig.compressor, &result));
    weir_compressor_complete(&rig.compressor, &rig.chunks[1]);
}

Test(compressor, chunks_come_out_compressed_and_in_order)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    for (unsigned i = 0; i < 3; i++)
        weir_compressor_submit(&rig.compressor, &rig.chunks[i], false);
    cr_assert_eq(weir_compressor_backlog(&rig.compressor), 3);
    cr_assert_not(weir_compressor_next(&rig.compressor, &result), "before anybody has compressed");
    weir_compressor_kick(&rig.compressor);
    for (unsigned i = 0; i < 3; i++) {
        struct perf_event_header header;
        cr_assert(weir_compressor_next(&rig.compressor, &result));
        cr_assert_eq(result.chunk, &rig.chunks[i]);
        cr_assert_eq(result.buffer_index, BUFFER_INDEX);
        cr_assert_eq((uintptr_t)result.data % 4096, 0);
        memcpy(&header, result.data, sizeof(header));
        cr_assert_eq(header.type, WEIR_RECORD_COMPRESSED);
        cr_assert_eq(header.size, result.bytes);
        weir_compressor_complete(&rig.compressor, result.chunk);
    }
    cr_assert_eq(rig.compressor.totals.in_bytes, 3 * 4096);
    cr_assert_eq(rig.compressor.totals.raw_bytes, 0);
    fini(&rig);
}

Test(compressor, round_marker_passes_as_it_is_and_keeps_its_place)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    rig.chunks[1].kind = WEIR_CHUNK_ROUND;
    rig.chunks[1].used = 8;
    for (unsigned i = 0; i < 3; i++)
        weir_compressor_submit(&rig.compressor, &rig.chunks[i], false);
    weir_compressor_kick(&rig.compressor);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(weir_compressor_next(&rig.compressor, &result));
        cr_assert_eq(result.chunk, &rig.chunks[i]);
        cr_assert_eq(result.data == rig.chunks[i].data, i == 1);
    }
    cr_assert_eq(result.buffer_index, BUFFER_INDEX);
    fini(&rig);
}

Test(compressor, slots_are_bounded_until_chunks_are_on_file)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        cr_assert(weir_compressor_can_submit(&rig.compressor));
        weir_compressor_submit(&rig.compressor, &rig.chunks[i], false);
    }
    cr_assert_not(weir_compressor_can_submit(&rig.compressor));
    weir_compressor_kick(&rig.compressor);
    cr_assert(weir_compressor_next(&rig.compressor, &result));
    cr_assert_not(weir_compressor_can_submit(&rig.compressor), "compressed, but not on file");
    weir_compressor_complete(&rig.compressor, result.chunk);
    cr_assert(weir_compressor_can_submit(&rig.compressor));
    fini(&rig);
}

Test(compressor, under_pressure_chunks_go_out_as_they_are_when_the_workers_are_behind)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    weir_compressor_submit(&rig.compressor, &rig.chunks[0], true); /* nobody is behind yet */
    weir_compressor_submit(&rig.compressor, &rig.chunks[1], true);
    weir_compressor_submit(&rig.compressor, &rig.chunks[2], false); /* no pressure */
    weir_compressor_kick(&rig.compressor);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(weir_compressor_next(&rig.compressor, &result));
        cr_assert_eq(result.data == rig.chunks[i].data, i == 1, "chunk %u", i);
        cr_assert_eq(result.buffer_index, i == 1 ? 2 : BUFFER_INDEX);
    }
    cr_assert_eq(rig.compressor.totals.raw_bytes, 4096);
    cr_assert_eq(rig.compressor.totals.in_bytes, 2 * 4096);
    fini(&rig);
}

Test(compressor, one_thread_for_each_eight_cpus_and_sixteen_at_most)
{
    cr_assert_eq(weir_compressor_default_workers(1), 1);
    cr_assert_eq(weir_compressor_default_workers(15), 1);
    cr_assert_eq(weir_compressor_default_workers(96), 12);
    cr_assert_eq(weir_compressor_default_workers(1000), 16);
}

Test(compressor, stop_before_start_and_twice_is_fine)
{
    struct rig rig;
    setup_workers(&rig, 2);
    weir_compressor_stop(&rig.compressor);
    weir_compressor_stop(&rig.compressor);
    fini(&rig);
}

/* When an output was left for another, both are on their way. */
Test(compressor, slots_are_free_in_order_though_chunks_complete_in_any)
{
    struct rig rig;
    struct weir_compressor_result result;
    setup_workers(&rig, 0);
    for (unsigned i = 0; i < SLOTS; i++)
        weir_compressor_submit(&rig.compressor, &rig.chunks[i], false);
    weir_compressor_kick(&rig.compressor);
    for (unsigned i = 0; i < 3; i++)
        cr_assert(weir_compressor_next(&rig.compressor, &result));
    weir_compressor_complete(&rig.compressor, &rig.chunks[1]);
    weir_compressor_complete(&rig.compressor, &rig.chunks[2]);
    cr_assert_not(weir_compressor_can_submit(&rig.compressor));
    weir_compressor_complete(&rig.compressor, &rig.chunks[0]);
    cr_assert_eq(rig.compressor.completed, 3);
    cr_assert(weir_compressor_can_submit(&rig.compressor));
    fini(&rig);
}

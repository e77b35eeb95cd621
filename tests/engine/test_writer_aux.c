/* Trains of chunks on their way to the file: in one piece, in the index, or told as lost. One step at a time. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/aux/aux_index.h"
#include "tests/engine/writer_rig.h"

#define HEAD_BYTES WRITER_RIG_HEAD_BYTES

#define TRAIN_CHUNKS 3u

/* All full but the last, with n in each word of the n-th. */
static uint64_t push_train(struct writer_rig *f)
{
    struct weir_chunk *train = NULL, *last = NULL;
    for (unsigned n = 0; n < TRAIN_CHUNKS; n++) {
        struct weir_chunk *chunk = writer_rig_take(f);
        chunk->opaque = true;
        chunk->follows = last != NULL;
        chunk->used = n + 1 < TRAIN_CHUNKS ? chunk->capacity : 72;
        memset(chunk->data, (int)n + 1, chunk->used);
        if (last)
            last->follower = chunk;
        else
            train = chunk;
        last = chunk;
    }
    uint64_t bytes = weir_chunk_train_bytes(train);
    weir_chunk_queue_push(&f->queue, train);
    return bytes;
}

Test(writer_aux, train_stands_in_one_piece_and_in_the_index_and_no_checkpoint_ends_in_it)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, 64);
    uint64_t bytes = push_train(&f);
    writer_rig_push_sample(&f, 72);
    while (!weir_writer_is_idle(&f.writer)) {
        weir_writer_step(&f.writer, 0);
        uint64_t stable = weir_output_stable_bytes(f.output);
        cr_assert(stable <= 64 || stable >= 64 + bytes, "%ju", (uintmax_t)stable);
    }
    struct weir_aux_index_entry *index;
    cr_assert_eq(weir_aux_index_make(&f.writer.account.trains, UINT64_MAX, &index), 1);
    cr_assert(index[0].file_offset == HEAD_BYTES + 64 && index[0].bytes == 48);
    const uint8_t *at = fake_io_bytes(f.disk) + index[0].file_offset;
    free(index);
    for (uint64_t n = 0; n < bytes; n++)
        cr_assert_eq(at[n], 1 + n / WEIR_CHUNK_MIN_BYTES);
    cr_assert(f.writer.train_bytes == bytes && f.writer.failed_train_bytes == 0);
    cr_assert_eq(f.returned, 2 + TRAIN_CHUNKS);
    cr_assert_lt(f.writer.round_due.bytes, 200); /* readers of the file do not hold it */
    writer_rig_fini(&f);
}

/* Its first chunk is on file, its second one is not. */
Test(writer_aux, train_that_fails_is_not_in_the_file_and_told_as_a_whole)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true, .space_bytes = HEAD_BYTES + 200 * 1024});
    writer_rig_push_sample(&f, 64);
    uint64_t bytes = push_train(&f);
    push_train(&f);
    writer_rig_settle(&f);
    cr_assert_eq(f.writer.error, -ENOSPC);
    cr_assert_eq(weir_output_stable_bytes(f.output), 64);
    cr_assert(f.writer.train_bytes == 0 && f.writer.failed_train_bytes == 2 * bytes);
    struct weir_aux_index_entry *index;
    cr_assert_eq(weir_aux_index_make(&f.writer.account.trains, HEAD_BYTES + 64, &index), 0);
    cr_assert_null(index);
    cr_assert_eq(f.writer.failed.samples[0], 0);
    writer_rig_fini(&f);
}

Test(writer_aux, train_beyond_the_largest_size_is_left_out_whole)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    f.writer.setup.max_bytes = 2 * WEIR_CHUNK_MIN_BYTES;
    uint64_t bytes = push_train(&f);
    writer_rig_settle(&f);
    cr_assert(f.writer.limited && f.writer.failed_train_bytes == bytes && f.returned == TRAIN_CHUNKS);
    cr_assert_eq(weir_output_stable_bytes(f.output), 0);
    cr_assert_eq(f.writer.account.trains.count, 0);
    writer_rig_fini(&f);
}

Test(writer_aux, train_passes_by_compression)
{
    struct writer_rig f;
    struct weir_chunk_stage stage;
    struct weir_error err = {0};
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    const struct weir_chunk_stage_setup setup = {.level = 1, .chunk_bytes = WEIR_CHUNK_MIN_BYTES, .buffer_index = -1};
    cr_assert_eq(weir_chunk_stage_init(&stage, &setup, &err), 0);
    f.writer.setup.stage = &stage;
    writer_rig_push_sample(&f, 4096);
    writer_rig_settle(&f); /* a pool that is nearly empty would have chunks pass by as well */
    uint64_t bytes = push_train(&f);
    writer_rig_settle(&f);
    writer_rig_push_sample(&f, 4096);
    writer_rig_settle(&f);
    cr_assert_lt(f.writer.packed_out_bytes, f.writer.packed_in_bytes);
    cr_assert_eq(f.writer.packed_in_bytes, 8192);
    cr_assert_eq(weir_output_stable_bytes(f.output), bytes + f.writer.packed_out_bytes);
    cr_assert_eq(f.writer.account.trains.count, 1);
    weir_chunk_stage_fini(&stage);
    writer_rig_fini(&f);
}

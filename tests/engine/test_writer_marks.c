/* The writer and the marks that readers leave for rounds, one step at a time; the rules are in test_round_mark.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "format/perf_file.h"
#include "format/records.h"
#include "tests/engine/test_record.h"
#include "tests/engine/writer_rig.h"

#define MARK_BYTES 24u

/* A chunk with samples of these sizes, and a mark between them that is settled whenever it was made. */
static void push_marked(struct writer_rig *f, uint16_t before, uint16_t behind)
{
    struct weir_chunk *chunk = writer_rig_take(f);
    writer_rig_add_sample(chunk, writer_rig_id(0, 0), before);
    chunk->reader = 1;
    chunk->marks[chunk->mark_count++] =
        (struct weir_round_mark){.at = chunk->used, .began_ns = UINT64_MAX, .ended_ns = f->fake_clock.now_ns};
    weir_record_fill_padding(chunk->data + chunk->used, MARK_BYTES);
    chunk->used += MARK_BYTES;
    if (behind > 0)
        writer_rig_add_sample(chunk, writer_rig_id(0, 0), behind);
    weir_chunk_queue_push(&f->queue, chunk);
}

/* There is one reader, so that no other has to be looked at. */
static void settle_marks(struct writer_rig *f, struct weir_reader_control *control)
{
    static struct weir_reader *const readers[1];
    memset(control, 0, sizeof(*control));
    weir_round_marks_init(&f->writer.marks, &f->queue, &(struct weir_round_marks_setup){readers, 1, control});
}

Test(writer, round_that_a_mark_has_become_counts_and_begins_the_next)
{
    struct writer_rig f;
    struct weir_reader_control control;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    settle_marks(&f, &control);
    push_marked(&f, 2 * WRITER_RIG_ROUND_BYTES, WRITER_RIG_ROUND_BYTES - 16);
    writer_rig_settle(&f);
    cr_assert_eq(f.writer.rounds, 1);
    cr_assert_eq(f.writer.account.rounds, 1);
    cr_assert_eq(test_record_type(fake_io_bytes(f.disk) + WRITER_RIG_HEAD_BYTES + 2 * WRITER_RIG_ROUND_BYTES),
                 WEIR_RECORD_FINISHED_ROUND);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, 32);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    writer_rig_fini(&f);
}

Test(writer, marks_on_a_broken_disk_are_no_rounds)
{
    struct writer_rig f;
    struct weir_reader_control control;
    writer_rig_init(&f, &(struct fake_io_options){.faults[FAKE_IO_WRITE] = {.nth = 1, .sticky = true, .error = -EIO}});
    settle_marks(&f, &control);
    push_marked(&f, 64, 64);
    writer_rig_settle(&f);
    cr_assert_eq(f.writer.marks.made, 1);
    cr_assert_eq(f.writer.rounds, 0);
    cr_assert_eq(f.writer.failed.samples[0], 2);
    writer_rig_fini(&f);
}

Test(writer, marker_that_is_too_early_becomes_padding)
{
    struct writer_rig f;
    struct weir_reader_control control;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    settle_marks(&f, &control);
    push_marked(&f, 64, 0);
    writer_rig_settle(&f);
    f.marker.handed_ns = 1; /* the mark is of the end of all time */
    writer_rig_push_sample(&f, WRITER_RIG_ROUND_BYTES - 16);
    writer_rig_push_marker(&f);
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    const uint8_t *data = fake_io_bytes(f.disk) + WRITER_RIG_HEAD_BYTES;
    cr_assert_eq(test_record_type(data + 64), WEIR_RECORD_FINISHED_ROUND);
    data += 64 + MARK_BYTES + WRITER_RIG_ROUND_BYTES - 16;
    cr_assert_eq(test_record_type(data), WEIR_RECORD_EVENT_TYPE);
    cr_assert_eq(test_record_bytes(data), 16);
    cr_assert(test_sample_is_whole(data + 16));
    cr_assert_eq(f.writer.rounds, 1);
    cr_assert_eq(f.marker.state, WEIR_CHUNK_FREE);
    cr_assert_eq(writer_rig_kicks(&f), 1, "what stood before it is counted on");
    writer_rig_fini(&f);
}

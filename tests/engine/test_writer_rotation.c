/*
 * Rotation: the writer, one step at a time, goes from one output on a disk in memory to the next. What it does with one
 * output: test_writer.c.
 */
#include "engine/drain/writer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "format/perf_file.h"
#include "format/records.h"
#include "tests/engine/test_record.h"
#include "tests/engine/writer_rig.h"

#define HEAD_BYTES  WRITER_RIG_HEAD_BYTES
#define ROUND_BYTES WRITER_RIG_ROUND_BYTES

/* The first write is refused for good: nothing of what follows can be in the file either. */
static const struct fake_io_options broken_disk = {
    .faults[FAKE_IO_WRITE] = {.nth = 1, .sticky = true, .error = -EIO},
};

/* A second disk with an output that begins there. */
struct second {
    struct fake_io *disk;
    struct weir_output *output;
    struct weir_writer_rotation rotation;
};

static void second_init(struct second *second, const struct writer_rig *f, const struct fake_io_options *disk)
{
    static const uint8_t head[HEAD_BYTES];
    second->disk = fake_io_new(disk);
    struct weir_output_options options = {
        .buffers = f->pool.buffers,
        .buffer_count = f->pool.buffer_count,
        .fill_padding = weir_record_fill_padding,
        .padding_least = WEIR_RECORD_PADDING_LEAST,
        .io = fake_io_ops(second->disk),
    };
    cr_assert_eq(weir_output_open(&second->output, "/dev/null", &options, NULL), 0);
    cr_assert_eq(weir_output_write_head(second->output, head, sizeof(head)), 0);
    weir_writer_rotation_init(&second->rotation, second->output);
    second->rotation.fd = f->kick_fd;
}

static void second_fini(struct second *second)
{
    weir_output_close(second->output);
    fake_io_free(second->disk);
}

Test(writer_rotation, what_was_on_its_way_to_a_failed_output_is_accounted_after_a_rotation)
{
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &broken_disk);
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, 64);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_push_sample(&f, 72);
    writer_rig_settle(&f);
    cr_assert(weir_writer_rotation_is_done(&second.rotation));
    cr_assert_eq(f.writer.failed.samples[0], 1);
    cr_assert_eq(second.rotation.account.failed_samples[0], 1);
    cr_assert_eq(f.writer.account.failed_samples[0], 0);
    cr_assert_eq(f.writer.error, -EIO);
    cr_assert_eq(weir_output_stable_bytes(f.output), 0);
    cr_assert_eq(weir_output_stable_bytes(second.output), 72);
    cr_assert_eq(f.returned, 2);
    second_fini(&second);
    writer_rig_fini(&f);
}

/* Each of three outputs has failed: what is missing in the one is not told of another. */
Test(writer_rotation, what_failed_is_known_by_the_output_that_it_was_for)
{
    struct writer_rig f;
    struct second second, third;
    uint8_t records[TEST_LOST_BYTES];
    writer_rig_init(&f, &broken_disk);
    second_init(&second, &f, &broken_disk);
    second_init(&third, &f, &broken_disk);
    test_lost_put(records, writer_rig_id(0, 0), 3);
    weir_writer_rotation_set_records(&second.rotation, records, sizeof(records));
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    writer_rig_push_sample(&f, 64); /* on its way during the rotation */
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_push_sample(&f, 72);
    writer_rig_settle(&f);
    cr_assert_eq(second.rotation.account.failed_samples[0], 2);
    cr_assert_eq(second.rotation.records_result, -EIO);
    cr_assert_eq(f.writer.account.failed_samples[0], 1);
    weir_writer_rotation_push(&third.rotation, &f.queue);
    writer_rig_settle(&f);
    cr_assert_eq(third.rotation.account.failed_samples[0], 1);
    cr_assert_eq(third.rotation.records_result, 0); /* it has none */
    cr_assert_eq(f.writer.account.failed_samples[0], 0);
    cr_assert_eq(f.writer.failed.samples[0], 3);
    second_fini(&third);
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, what_stands_before_a_rotation_is_in_the_one_output_and_what_stands_behind_it_in_the_other)
{
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, 64);
    writer_rig_push_marker(&f);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_push_sample(&f, 72);
    cr_assert_not(weir_writer_rotation_is_done(&second.rotation));
    writer_rig_settle(&f);
    cr_assert(weir_writer_rotation_is_done(&second.rotation));
    cr_assert_eq(second.rotation.left, f.output);
    cr_assert_eq(weir_output_stable_bytes(f.output), 72);
    cr_assert_eq(weir_output_stable_bytes(second.output), 72);
    const uint8_t *first_data = fake_io_bytes(f.disk) + HEAD_BYTES;
    const uint8_t *second_data = fake_io_bytes(second.disk) + HEAD_BYTES;
    cr_assert_eq(test_record_bytes(first_data), 64);
    cr_assert_eq(test_record_type(first_data + 64), WEIR_RECORD_FINISHED_ROUND);
    cr_assert_eq(test_record_bytes(second_data), 72);
    cr_assert(test_sample_is_whole(first_data));
    cr_assert(test_sample_is_whole(second_data));
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, next_output_begins_with_first_records_of_the_rotation)
{
    static const struct perf_event_header first = {.type = WEIR_RECORD_AUXTRACE_INFO, .size = sizeof(first)};
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    weir_writer_rotation_set_first(&second.rotation, &first, sizeof(first));
    writer_rig_push_sample(&f, 64);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_push_sample(&f, 72);
    writer_rig_settle(&f);
    const uint8_t *second_data = fake_io_bytes(second.disk) + HEAD_BYTES;
    cr_assert_eq(test_record_type(second_data), WEIR_RECORD_AUXTRACE_INFO);
    cr_assert(test_sample_is_whole(second_data + sizeof(first)));
    cr_assert_eq(weir_output_stable_bytes(second.output), sizeof(first) + 72);
    cr_assert_eq(f.writer.output_bytes, sizeof(first) + 72);
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, next_output_is_written_while_the_disk_of_the_one_before_stalls)
{
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &(struct fake_io_options){0});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    fake_io_stall(f.disk, true);
    writer_rig_push_sample(&f, WEIR_RECORD_MAX_BYTES);
    writer_rig_push_sample(&f, 64); /* staged: the rotation must send it */
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_push_sample(&f, 72);
    for (unsigned n = 0; n < 20; n++)
        weir_writer_step(&f.writer, 0);
    cr_assert_not(weir_writer_rotation_is_done(&second.rotation));
    cr_assert_not(weir_writer_is_idle(&f.writer));
    cr_assert_eq(weir_output_stable_bytes(second.output), 72);
    cr_assert_eq(weir_output_stable_bytes(f.output), 0);
    (void)writer_rig_kicks(&f);

    fake_io_stall(f.disk, false);
    writer_rig_settle(&f);
    cr_assert(weir_writer_rotation_is_done(&second.rotation));
    cr_assert_eq(writer_rig_kicks(&f), 1, "the coordinator is not told");
    cr_assert_eq(weir_output_stable_bytes(f.output), WEIR_RECORD_MAX_BYTES + 64);
    cr_assert_eq(f.returned, 3);
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, rounds_and_checkpoints_of_the_next_output_begin_anew)
{
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, ROUND_BYTES - 8);
    writer_rig_settle(&f);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f),
                 2); /* changed, and the old output is back; nothing has been written to the new one */
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0, "bytes of the old output count for the new one's round");
    uint64_t published;
    memcpy(&published, fake_io_bytes(second.disk) + WEIR_PERF_DATA_SIZE_OFFSET, sizeof(published));
    cr_assert_eq(published, 64, "the first data is not published at once");
    writer_rig_push_sample(&f, ROUND_BYTES + WRITER_RIG_PATIENT_BYTES);
    writer_rig_settle(&f);
    cr_assert(f.writer.round_due.overdue);
    weir_writer_rotation_init(&second.rotation, f.output);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_settle(&f);
    cr_assert_not(f.writer.round_due.overdue);
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, rotation_may_be_used_again_once_it_is_done)
{
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    for (unsigned n = 0; n < 6; n++) {
        struct weir_output *next = n % 2 ? f.output : second.output;
        struct weir_output *before = n % 2 ? second.output : f.output;
        weir_writer_rotation_init(&second.rotation, next);
        writer_rig_push_sample(&f, 64);
        weir_writer_rotation_push(&second.rotation, &f.queue);
        writer_rig_settle(&f);
        cr_assert(weir_writer_rotation_is_done(&second.rotation));
        cr_assert_eq(second.rotation.left, before);
    }
    cr_assert_eq(weir_output_stable_bytes(f.output), 3 * 64);
    cr_assert_eq(weir_output_stable_bytes(second.output), 3 * 64);
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, records_of_the_rotation_stand_last_in_the_old_output)
{
    struct writer_rig f;
    struct second second;
    uint8_t records[2 * TEST_LOST_BYTES];
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    test_lost_put(records, writer_rig_id(0, 0), 3);
    test_lost_put(records + TEST_LOST_BYTES, writer_rig_id(1, 0), 4);
    weir_writer_rotation_set_records(&second.rotation, records, sizeof(records));
    writer_rig_push_sample(&f, 64);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_settle(&f);
    cr_assert_eq(weir_output_stable_bytes(f.output), 64 + sizeof(records));
    cr_assert_arr_eq(fake_io_bytes(f.disk) + HEAD_BYTES + 64, records, sizeof(records));
    cr_assert_eq(weir_output_stable_bytes(second.output), 0);
    cr_assert(weir_writer_rotation_is_done(&second.rotation));
    second_fini(&second);
    writer_rig_fini(&f);
}

/* As a reader would hand it over. */
static void push_timed(struct writer_rig *f, uint64_t first_ns, uint64_t last_ns, uint64_t side_bytes)
{
    struct weir_chunk *chunk = writer_rig_take(f);
    writer_rig_add_sample(chunk, writer_rig_id(0, 0), 64);
    chunk->first_sample_ns = first_ns;
    chunk->last_sample_ns = last_ns;
    chunk->tee = 1;
    chunk->side_bytes = side_bytes;
    weir_chunk_queue_push(&f->queue, chunk);
}

Test(writer_rotation, times_rounds_and_side_bytes_are_those_of_what_stands_before_the_rotation)
{
    struct writer_rig f;
    struct second second;
    uint64_t side_bytes = 0;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    second.rotation.side_bytes = &side_bytes;
    push_timed(&f, 50, 90, 100);
    push_timed(&f, 40, 70, 160);
    writer_rig_push_marker(&f);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    push_timed(&f, 95, 99, 320);
    cr_assert_not(weir_writer_rotation_has_begun(&second.rotation));
    writer_rig_settle(&f);
    cr_assert(weir_writer_rotation_has_begun(&second.rotation));
    cr_assert_eq(side_bytes, 160);
    cr_assert_eq(second.rotation.account.first_sample_ns, 40);
    cr_assert_eq(second.rotation.account.last_sample_ns, 90);
    cr_assert_eq(second.rotation.account.rounds, 1);
    cr_assert_eq(f.writer.account.first_sample_ns, 95);
    cr_assert_eq(f.writer.account.last_sample_ns, 99);
    cr_assert_eq(f.writer.account.rounds, 0);
    second_fini(&second);
    writer_rig_fini(&f);
}

Test(writer_rotation, full_output_is_told_once_for_each_output)
{
    struct writer_rig f;
    struct second second;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    second_init(&second, &f, &(struct fake_io_options){.no_direct = true});
    second.rotation.fd = -1;
    f.writer.setup.full_bytes = 128;
    f.writer.setup.full_fd = f.kick_fd;
    writer_rig_push_sample(&f, 120);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, 64);
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    weir_writer_rotation_push(&second.rotation, &f.queue);
    writer_rig_push_sample(&f, 120);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    second_fini(&second);
    writer_rig_fini(&f);
}

/*
 * The writer, one step at a time, on a disk in memory and a fake clock: what it accounts of chunks that failed, when it
 * writes checkpoints, when it asks for a round. Its rotation: test_writer_rotation.c; its thread: race_pipeline.c.
 */
#include "engine/drain/writer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>

#include "format/perf_file.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/test_record.h"
#include "tests/engine/writer_rig.h"

#define HEAD_BYTES  WRITER_RIG_HEAD_BYTES
#define START_NS    WRITER_RIG_START_NS
#define ROUND_BYTES WRITER_RIG_ROUND_BYTES
#define SIDEBAND    WRITER_RIG_SIDEBAND

static void add_side(struct weir_chunk *chunk, uint32_t type, uint64_t id)
{
    chunk->used += (uint32_t)test_side_put(chunk->data + chunk->used, type, id);
}

static uint64_t data_size_on_disk(const struct writer_rig *f)
{
    uint64_t bytes;
    memcpy(&bytes, fake_io_bytes(f->disk) + WEIR_PERF_DATA_SIZE_OFFSET, sizeof(bytes));
    return bytes;
}

/* ---- failures ---- */

Test(writer, out_of_memory_is_reported)
{
    struct weir_writer writer;
    struct weir_writer_setup setup = {.clock = &weir_clock_monotonic, .failed_counters = 4};
    failing_alloc_after(0);
    cr_assert_eq(weir_writer_init(&writer, &setup), -ENOMEM);
    weir_writer_fini(&writer);
    weir_writer_fini(NULL);
}

/* The first write is refused for good: nothing of what follows can be in the file either. */
static const struct fake_io_options broken_disk = {
    .faults[FAKE_IO_WRITE] = {.nth = 1, .sticky = true, .error = -EIO},
};

Test(writer, failed_chunks_are_accounted_by_cpu_and_event_with_their_side_records)
{
    struct writer_rig f;
    writer_rig_init(&f, &broken_disk);
    struct weir_chunk *chunk = writer_rig_take(&f);
    writer_rig_add_sample(chunk, writer_rig_id(0, 0), 64);
    writer_rig_add_sample(chunk, writer_rig_id(0, 1), 72);
    writer_rig_add_sample(chunk, writer_rig_id(0, 1), 80);
    add_side(chunk, PERF_RECORD_COMM, writer_rig_id(0, SIDEBAND));
    add_side(chunk, PERF_RECORD_MMAP2, writer_rig_id(1, SIDEBAND));
    add_side(chunk, PERF_RECORD_COMM, 0);
    add_side(chunk, PERF_RECORD_LOST_SAMPLES, writer_rig_id(0, SIDEBAND));
    weir_chunk_queue_push(&f.queue, chunk);
    struct weir_chunk *second = writer_rig_take(&f);
    writer_rig_add_sample(second, writer_rig_id(1, 0), 64);
    writer_rig_add_sample(second, 9999, 64);
    weir_chunk_queue_push(&f.queue, second);
    writer_rig_settle(&f);

    const uint64_t expected[] = {1, 2, 1, 1, 0, 1};
    cr_assert_arr_eq(f.writer.failed.samples, expected, sizeof(expected));
    cr_assert_eq(f.writer.failed.unknown_samples, 1);
    cr_assert_eq(f.writer.error, -EIO);
    cr_assert_eq(f.returned, 2);
    cr_assert_eq(weir_pool_free_count(&f.pool), 7);
    writer_rig_fini(&f);
}

Test(writer, chunks_before_the_failure_are_on_file_and_only_later_ones_are_accounted)
{
    const struct fake_io_options disk = {.no_direct = true, .space_bytes = HEAD_BYTES + 3 * 65528 + 100};
    struct writer_rig f;
    writer_rig_init(&f, &disk);
    for (unsigned n = 0; n < 6; n++) {
        writer_rig_push_sample(&f, WEIR_RECORD_MAX_BYTES);
        writer_rig_settle(&f);
    }
    cr_assert_eq(weir_output_stable_bytes(f.output), 3 * WEIR_RECORD_MAX_BYTES);
    cr_assert_eq(f.writer.failed.samples[0], 3);
    cr_assert_eq(f.writer.error, -ENOSPC);
    cr_assert_eq(f.returned, 6);
    writer_rig_fini(&f);
}

Test(writer, full_output_that_is_waited_for_is_tried_ten_times_a_second)
{
    const struct fake_io_fault full = {1, true, -EDQUOT}, none = {0};
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    weir_writer_wait_for_space(&f.writer, true);
    fake_io_set_fault(f.disk, FAKE_IO_WRITE, &full);
    for (unsigned n = 0; n < 3; n++) {
        writer_rig_push_sample(&f, WEIR_RECORD_MAX_BYTES);
        weir_writer_step(&f.writer, 0);
        weir_writer_step(&f.writer, 0);
        f.fake_clock.now_ns += 99 * WEIR_NS_PER_MS;
    }
    cr_assert(f.writer.full && f.writer.error == 0 && f.returned == 0);
    uint64_t tries = fake_io_calls(f.disk, FAKE_IO_WRITE);
    fake_io_set_fault(f.disk, FAKE_IO_WRITE, &none);
    weir_writer_step(&f.writer, 0);
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_WRITE), tries);
    f.fake_clock.now_ns += 100 * WEIR_NS_PER_MS;
    writer_rig_settle(&f);
    cr_assert(!f.writer.full && f.returned == 3);
    writer_rig_fini(&f);
}

/* The queue on plain writes: a write without room is known in the step that makes it. */
Test(writer, first_write_after_space_is_to_be_waited_for_is_waited_for)
{
    const struct fake_io_fault full = {1, true, -ENOSPC}, none = {0};
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true, .pwritev_queue = true});
    writer_rig_settle(&f);
    fake_io_set_fault(f.disk, FAKE_IO_PWRITEV, &full);
    weir_writer_wait_for_space(&f.writer, true);
    struct weir_chunk *chunk = writer_rig_take(&f);
    for (unsigned n = 0; n < 2; n++) /* too many bytes to wait in memory for more */
        writer_rig_add_sample(chunk, writer_rig_id(0, 0), 40000);
    weir_chunk_queue_push(&f.queue, chunk);
    weir_writer_step(&f.writer, 0);
    cr_assert(f.writer.full && f.writer.error == 0 && f.returned == 0);
    fake_io_set_fault(f.disk, FAKE_IO_PWRITEV, &none);
    f.fake_clock.now_ns += 100 * WEIR_NS_PER_MS;
    writer_rig_settle(&f);
    cr_assert(!f.writer.full && f.returned == 1);
    writer_rig_fini(&f);
}

Test(writer, failed_output_is_told_once_and_goes_on_taking_chunks)
{
    struct writer_rig f;
    writer_rig_init(&f, &broken_disk);
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    for (unsigned n = 0; n < 3; n++) {
        writer_rig_push_sample(&f, 64);
        writer_rig_settle(&f);
    }
    cr_assert_eq(writer_rig_kicks(&f), 0);
    cr_assert_eq(f.writer.failed.samples[0], 4);
    cr_assert_eq(weir_pool_free_count(&f.pool), 7);
    writer_rig_fini(&f);
}

Test(writer, failed_markers_are_free_again_but_no_rounds)
{
    struct writer_rig f;
    writer_rig_init(&f, &broken_disk);
    writer_rig_push_sample(&f, 64);
    writer_rig_push_marker(&f);
    writer_rig_settle(&f);
    cr_assert_eq(f.marker.state, WEIR_CHUNK_FREE);
    cr_assert_eq(f.writer.rounds, 0);
    writer_rig_fini(&f);
}

Test(writer, checkpoint_that_cannot_be_written_is_kept_as_its_own_error)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    struct fake_io_fault fault = {.nth = fake_io_calls(f.disk, FAKE_IO_PWRITEV) + 1, .sticky = true, .error = -EIO};
    fake_io_set_fault(f.disk, FAKE_IO_PWRITEV, &fault);
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(f.writer.checkpoint.error, -EIO);
    cr_assert_eq(f.writer.unsized, -EIO, "for the coordinator to tell");
    cr_assert_gt(writer_rig_kicks(&f), 0);
    cr_assert_eq(f.writer.error, 0);
    cr_assert_eq(f.writer.failed.samples[0], 0);
    f.writer.unsized = 0;
    writer_rig_push_sample(&f, 64);
    f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
    writer_rig_settle(&f);
    cr_assert_eq(f.writer.unsized, 0, "told once");
    writer_rig_fini(&f);
}

/* ---- steps ---- */

Test(writer, nothing_to_do_moves_nothing)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    cr_assert_not(weir_writer_step(&f.writer, 0));
    cr_assert(weir_writer_is_idle(&f.writer));
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_WRITE), 0);
    cr_assert_eq(fake_io_size(f.disk), HEAD_BYTES);
    writer_rig_fini(&f);
}

Test(writer, chunks_and_markers_are_written_in_the_order_of_the_queue)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, 64);
    writer_rig_push_marker(&f);
    writer_rig_push_sample(&f, 72);
    cr_assert_not(weir_writer_is_idle(&f.writer));
    writer_rig_settle(&f);
    cr_assert_eq(weir_output_stable_bytes(f.output), 144);
    const uint8_t *data = fake_io_bytes(f.disk) + HEAD_BYTES;
    cr_assert_eq(test_record_bytes(data), 64);
    cr_assert_eq(test_record_type(data + 64), WEIR_RECORD_FINISHED_ROUND);
    cr_assert_eq(test_record_bytes(data + 72), 72);
    cr_assert(test_sample_is_whole(data));
    cr_assert(test_sample_is_whole(data + 72));
    cr_assert_eq(f.writer.rounds, 1);
    cr_assert_eq(f.returned, 2);
    writer_rig_fini(&f);
}

Test(writer, stalled_disk_keeps_chunks_in_flight)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    fake_io_stall(f.disk, true);
    for (unsigned n = 0; n < 7; n++)
        writer_rig_push_sample(&f, WEIR_RECORD_MAX_BYTES);
    for (unsigned n = 0; n < 5; n++)
        weir_writer_step(&f.writer, 0);
    cr_assert_eq(weir_pool_free_count(&f.pool), 0);
    cr_assert_eq(f.returned, 0);
    cr_assert_not(weir_writer_is_idle(&f.writer));
    fake_io_stall(f.disk, false);
    writer_rig_settle(&f);
    cr_assert_eq(f.returned, 7);
    writer_rig_fini(&f);
}

Test(writer, time_from_the_readers_hands_to_the_file_is_kept_of_each_chunk)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    fake_io_stall(f.disk, true);
    const uint64_t ages_ns[] = {0, 3 * WEIR_NS_PER_MS}; /* 0: nobody told when */
    for (size_t i = 0; i < 2; i++) {
        struct weir_chunk *chunk = writer_rig_take(&f);
        writer_rig_add_sample(chunk, writer_rig_id(0, 0), 64);
        chunk->handed_ns = ages_ns[i] ? START_NS - ages_ns[i] : 0;
        weir_chunk_queue_push(&f.queue, chunk);
    }
    weir_writer_step(&f.writer, 0);
    cr_assert_eq(f.writer.latency_us.max, 0);
    f.fake_clock.now_ns = START_NS + 4 * WEIR_NS_PER_MS;
    fake_io_stall(f.disk, false);
    writer_rig_settle(&f);
    struct weir_histogram latency_us = {0};
    weir_shared_histogram_read(&f.writer.latency_us, &latency_us);
    cr_assert_eq(latency_us.count, 1);
    cr_assert_eq(latency_us.max, 7 * WEIR_NS_PER_MS / WEIR_NS_PER_US);
    writer_rig_fini(&f);
}

/* ---- checkpoints ---- */

Test(writer, first_data_is_published_at_once_then_once_a_second)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    weir_writer_step(&f.writer, 0);
    cr_assert_eq(data_size_on_disk(&f), 0);
    f.fake_clock.now_ns = START_NS + 5;
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(data_size_on_disk(&f), 64);

    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(data_size_on_disk(&f), 64);
    f.fake_clock.now_ns = START_NS + 5 + WEIR_CHECKPOINT_NS - 1;
    writer_rig_settle(&f);
    cr_assert_eq(data_size_on_disk(&f), 64);
    f.fake_clock.now_ns++;
    writer_rig_settle(&f);
    cr_assert_eq(data_size_on_disk(&f), 128);
    writer_rig_fini(&f);
}

Test(writer, checkpoint_is_written_only_when_there_is_something_new)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    uint64_t written = fake_io_calls(f.disk, FAKE_IO_PWRITEV);
    for (unsigned n = 0; n < 5; n++) {
        f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
        writer_rig_settle(&f);
    }
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_PWRITEV), written);
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_PWRITEV), written + 1);
    cr_assert_eq(data_size_on_disk(&f), 128);
    writer_rig_fini(&f);
}

Test(writer, checkpoint_never_covers_what_is_not_on_disk)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true});
    writer_rig_push_sample(&f, 64);
    writer_rig_settle(&f);
    fake_io_stall(f.disk, true);
    writer_rig_push_sample(&f, WEIR_RECORD_MAX_BYTES);
    f.fake_clock.now_ns += 2 * WEIR_CHECKPOINT_NS;
    for (unsigned n = 0; n < 5; n++)
        weir_writer_step(&f.writer, 0);
    cr_assert_eq(data_size_on_disk(&f), 64);
    fake_io_stall(f.disk, false);
    writer_rig_settle(&f);
    cr_assert_eq(data_size_on_disk(&f), 64 + WEIR_RECORD_MAX_BYTES);
    writer_rig_fini(&f);
}

/* ---- rounds ---- */

Test(writer, round_is_asked_for_once_after_so_many_bytes)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    writer_rig_push_sample(&f, ROUND_BYTES - 8);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, 32); /* now beyond */
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    writer_rig_push_sample(&f, 5 * ROUND_BYTES);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);

    writer_rig_push_marker(&f);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, ROUND_BYTES - 8);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, ROUND_BYTES);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    writer_rig_fini(&f);
}

Test(writer, bytes_exactly_at_the_round_ask_for_it)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    writer_rig_push_sample(&f, ROUND_BYTES);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    writer_rig_fini(&f);
}

Test(writer, round_that_does_not_come_is_asked_for_once_more_as_overdue)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    for (unsigned n = 0; n < 2; n++) {
        writer_rig_push_sample(&f, ROUND_BYTES + WRITER_RIG_PATIENT_BYTES - 8);
        writer_rig_settle(&f);
        cr_assert_eq(writer_rig_kicks(&f), 1);
        cr_assert_not(f.writer.round_due.overdue);
        writer_rig_push_sample(&f, 8);
        writer_rig_settle(&f);
        cr_assert_eq(writer_rig_kicks(&f), 1);
        cr_assert(f.writer.round_due.overdue);
        writer_rig_push_sample(&f, 3 * WRITER_RIG_PATIENT_BYTES);
        writer_rig_settle(&f);
        cr_assert_eq(writer_rig_kicks(&f), 0);

        writer_rig_push_marker(&f);
        writer_rig_settle(&f);
        cr_assert_not(f.writer.round_due.overdue);
    }
    writer_rig_fini(&f);
}

/* Readers of the file hold two rounds: of a small file they are small. */
Test(writer, rounds_grow_with_the_output)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    f.writer.round_due.setup.more_bytes = ROUND_BYTES;
    writer_rig_push_sample(&f, ROUND_BYTES); /* of which a 64th is 15 */
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, 32);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);

    writer_rig_push_sample(&f, 64 * ROUND_BYTES);
    writer_rig_settle(&f);
    writer_rig_push_marker(&f);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1, "it was overdue");
    writer_rig_push_sample(&f, 2 * ROUND_BYTES - 8); /* not more than that */
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 0);
    writer_rig_push_sample(&f, 32);
    writer_rig_settle(&f);
    cr_assert_eq(writer_rig_kicks(&f), 1);
    writer_rig_fini(&f);
}

/* ---- the thread's body ---- */

static void *run(void *argument)
{
    weir_writer_run(argument);
    return NULL;
}

Test(writer, run_ends_with_all_on_file_that_was_pushed_before_the_stop, .timeout = 30)
{
    struct writer_rig f;
    pthread_t thread;
    writer_rig_init(&f, &(struct fake_io_options){.no_direct = true, .waits = true});
    cr_assert_eq(pthread_create(&thread, NULL, run, &f.writer), 0);
    for (unsigned n = 0; n < 5; n++)
        writer_rig_push_sample(&f, 64);
    weir_writer_stop(&f.writer);
    pthread_join(thread, NULL);
    cr_assert(weir_writer_is_idle(&f.writer));
    cr_assert_eq(weir_output_stable_bytes(f.output), 5 * 64);
    cr_assert_eq(f.returned, 5);
    writer_rig_fini(&f);
}

Test(writer, run_ends_when_stopped_before_it_begins, .timeout = 30)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    weir_writer_stop(&f.writer);
    weir_writer_run(&f.writer);
    cr_assert_eq(f.writer.sleeps, 0);
    writer_rig_fini(&f);
}

/* ---- the limit ---- */

Test(writer, what_readers_drain_beyond_the_limit_is_left_out_and_accounted)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    f.writer.setup.max_bytes = 300;
    writer_rig_push_sample(&f, 200);
    writer_rig_push_sample(&f, 104);                           /* 304 */
    writer_rig_push_sample(&f, 56);                            /* would fit, but comes after what was left out */
    struct weir_chunk *own = weir_pool_take(&f.pool, 0, true); /* weir's own: stays */
    own->used = (uint32_t)test_side_put(own->data, PERF_RECORD_COMM, writer_rig_id(0, SIDEBAND));
    uint32_t own_bytes = own->used;
    weir_chunk_queue_push(&f.queue, own);
    writer_rig_push_marker(&f);
    writer_rig_settle(&f);
    cr_expect(f.writer.limited);
    cr_expect_eq(writer_rig_kicks(&f), 1);
    cr_expect_eq(weir_output_stable_bytes(f.output), 200 + own_bytes + sizeof(struct perf_event_header));
    cr_expect_eq(f.writer.failed.samples[0], 2);
    cr_expect_eq(f.writer.rounds, 1);
    cr_expect_eq(f.writer.error, 0);
    writer_rig_fini(&f);
}

Test(writer, chunk_at_the_limit_is_written_up_to_the_last_record_that_fits)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    f.writer.setup.max_bytes = 300;
    writer_rig_push_sample(&f, 104);
    struct weir_chunk *chunk = writer_rig_take(&f);
    for (unsigned i = 0; i < 4; i++)
        writer_rig_add_sample(chunk, writer_rig_id(0, 0), 64);
    chunk->marks[0].at = 64;
    chunk->marks[1].at = 192; /* in front of the first record that is left out */
    chunk->mark_count = 2;
    weir_chunk_queue_push(&f.queue, chunk);
    writer_rig_settle(&f);
    cr_expect(f.writer.limited);
    cr_expect_eq(chunk->mark_count, 1);
    cr_expect_eq(weir_output_stable_bytes(f.output), 104 + 3 * 64);
    cr_expect_eq(f.writer.failed.samples[0], 1);
    cr_expect_eq(f.writer.account.failed_samples[0], 1);
    cr_expect_eq(f.writer.told_failed, 0);
    writer_rig_fini(&f);
}

Test(writer, data_of_exactly_the_limit_is_written)
{
    struct writer_rig f;
    writer_rig_init(&f, &(struct fake_io_options){0});
    f.writer.setup.max_bytes = 304;
    writer_rig_push_sample(&f, 200);
    writer_rig_push_sample(&f, 104);
    writer_rig_settle(&f);
    cr_expect_not(f.writer.limited);
    cr_expect_eq(weir_output_stable_bytes(f.output), 304);
    writer_rig_fini(&f);
}

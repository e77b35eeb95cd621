/*
 * An output on a disk that misbehaves, over many seeds: whatever happens, the file holds a whole prefix of what was
 * appended, stable_bytes says exactly how much, and every span completes once and in order.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "io/output_internal.h"
#include "tests/io/stream.h"

#define SEEDS      150u
#define SPANS      60u
#define TAIL_BYTES 5000u

struct outcome {
    size_t done_well;
    int error;    /* of the spans */
    int finished; /* result of finish */
    uint64_t stable;
    uint64_t padding;
    uint64_t file_bytes;
    uint64_t writes;      /* submitted */
    uint64_t sync_writes; /* the head's and the tail's */
    struct weir_output_stats stats;
};

/* The spans that lie whole within the first `end` bytes of the file. */
static size_t spans_within(const struct stream *stream, uint64_t end)
{
    struct stream_cursor cursor = {.offset = STREAM_HEAD_BYTES};
    stream_compare(&cursor, fake_io_bytes(stream->disk), end, stream->spans, stream->appended);
    return cursor.span;
}

static struct outcome finish(struct stream *stream)
{
    uint8_t tail[TAIL_BYTES];
    memset(tail, 0x77, sizeof(tail));
    struct outcome outcome = {
        .finished = weir_output_finish(stream->output, tail, sizeof(tail)),
        .done_well = stream->done_well,
        .error = stream->first_error,
        .stable = stream->stable,
        .padding = stream->cursor.padding,
        .file_bytes = fake_io_size(stream->disk),
        .writes = fake_io_calls(stream->disk, FAKE_IO_WRITE),
        .sync_writes = fake_io_calls(stream->disk, FAKE_IO_PWRITEV),
    };
    weir_output_get_stats(stream->output, &outcome.stats);
    uintmax_t seed = stream->seed;
    uint64_t end = STREAM_HEAD_BYTES + stream->stable;
    cr_assert_eq(stream->stable, weir_output_stable_bytes(stream->output), "seed %#jx", seed);
    cr_assert_eq(stream->cursor.span, stream->done_well, "seed %#jx", seed);
    cr_assert_eq(weir_output_error(stream->output), stream->first_error, "seed %#jx", seed);
    cr_assert_not(weir_output_can_append(stream->output), "seed %#jx", seed);
    cr_assert_eq(outcome.file_bytes, end + (outcome.finished == 0 ? sizeof(tail) : 0), "seed %#jx", seed);
    if (outcome.finished == 0)
        cr_assert_eq(memcmp(fake_io_bytes(stream->disk) + end, tail, sizeof(tail)), 0, "seed %#jx", seed);
    return outcome;
}

static void start(struct stream *stream, const struct fake_io_options *faults, unsigned pressed_percent)
{
    struct fake_io *disk = fake_io_new(faults);
    unsigned depth = 1 + (unsigned)(faults->seed % 9);
    stream_init(stream, faults->seed, SPANS, "/dev/null", disk, (struct weir_output_options){.queue_depth = depth});
    stream->pressed_percent = pressed_percent;
}

static void end(struct stream *stream)
{
    stream_fini(stream);
    fake_io_free(stream->disk);
}

static struct outcome run(const struct fake_io_options *faults, unsigned pressed_percent)
{
    struct stream stream;
    start(&stream, faults, pressed_percent);
    stream_run(&stream);
    struct outcome outcome = finish(&stream);
    end(&stream);
    return outcome;
}

static void expect_all_on_file(struct fake_io_options faults, unsigned pressed_percent)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        faults.seed = seed;
        struct outcome outcome = run(&faults, pressed_percent);
        cr_assert_eq(outcome.done_well, SPANS, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(outcome.error, 0, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(outcome.finished, 0, "seed %#jx", (uintmax_t)seed);
        const struct weir_output_stats *stats = &outcome.stats;
        cr_assert_eq(stats->appended_bytes + outcome.padding, outcome.stable, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(stats->written_bytes, stats->appended_bytes + stats->padding_bytes, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(stats->direct_bytes + stats->buffered_bytes, stats->written_bytes, "seed %#jx", (uintmax_t)seed);
    }
}

Test(output_faults, one_failure_loses_exactly_what_lies_behind_it)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_io_options faults = {.seed = seed, .reorders = seed % 2};
        int error = seed % 3 ? -EIO : -ENOSPC;
        faults.faults[FAKE_IO_WRITE] = (struct fake_io_fault){.nth = 1 + seed % 30, .error = error};
        struct stream stream;
        start(&stream, &faults, 10);
        stream_run(&stream);
        const struct weir_output_writes *writes = &stream.output->writes;
        struct weir_output_stats stats;
        weir_output_get_stats(stream.output, &stats);
        bool failed = fake_io_calls(stream.disk, FAKE_IO_WRITE) >= 1 + seed % 30;
        cr_assert_eq(stream.first_error, failed ? error : 0, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(stream.done_well, spans_within(&stream, writes->written_end), "seed %#jx", (uintmax_t)seed);
        /* Writes were submitted in the order of the file: the failed one begins where those before it end. */
        if (!faults.reorders)
            cr_assert_eq(writes->written_end, STREAM_HEAD_BYTES + stats.written_bytes, "seed %#jx", (uintmax_t)seed);
        if (failed)
            cr_assert_eq(writes->failed_from, seed % 30, "seed %#jx", (uintmax_t)seed);
        end(&stream);
    }
}

Test(output_faults, every_single_write_failing_in_turn)
{
    struct fake_io_options faults = {.seed = 7, .reorders = true};
    struct outcome good = run(&faults, 10);
    cr_assert_eq(good.done_well, SPANS);
    cr_assert_eq(good.error, 0);
    for (uint64_t n = 1; n <= good.writes; n++) {
        faults.faults[FAKE_IO_WRITE] = (struct fake_io_fault){.nth = n, .error = -EIO};
        struct outcome outcome = run(&faults, 10);
        cr_assert_eq(outcome.error, -EIO, "write %ju", (uintmax_t)n);
        cr_assert_lt(outcome.done_well, SPANS, "write %ju", (uintmax_t)n);
        cr_assert_eq(outcome.finished, 0, "write %ju: %d", (uintmax_t)n, outcome.finished);
    }
}

Test(output_faults, failing_tail_leaves_the_data)
{
    struct fake_io_options faults = {.seed = 7, .reorders = true};
    struct outcome good = run(&faults, 0);
    cr_assert_eq(good.sync_writes, 2);
    faults.faults[FAKE_IO_PWRITEV] = (struct fake_io_fault){.nth = 2, .error = -ENOSPC};
    struct outcome outcome = run(&faults, 0);
    cr_assert_eq(outcome.finished, -ENOSPC);
    cr_assert_eq(outcome.done_well, SPANS);
    cr_assert_eq(outcome.error, 0);
    cr_assert_eq(outcome.file_bytes, STREAM_HEAD_BYTES + good.stable);
}

Test(output_faults, disk_that_stays_broken)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_io_options faults = {
            .seed = seed, .reorders = true, .short_per_mille = 200, .refuse_per_mille = 200};
        faults.faults[FAKE_IO_WRITE] = (struct fake_io_fault){.nth = 1 + seed % 12, .sticky = true, .error = -EIO};
        struct outcome outcome = run(&faults, 10);
        cr_assert_eq(outcome.error, -EIO, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(outcome.finished, 0, "seed %#jx", (uintmax_t)seed);
    }
}

Test(output_faults, full_disk_is_used_to_a_span_end)
{
    const uint64_t space_bytes = 1 << 19;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_io_options faults = {
            .seed = seed, .reorders = true, .short_per_mille = 100, .space_bytes = space_bytes};
        struct outcome outcome = run(&faults, 10);
        cr_assert_eq(outcome.error, -ENOSPC, "seed %#jx", (uintmax_t)seed);
        uint64_t end_of_data = STREAM_HEAD_BYTES + outcome.stable;
        cr_assert_leq(end_of_data, space_bytes, "seed %#jx", (uintmax_t)seed);
        /* What the failed write had taken is given back to the tail. */
        cr_assert_eq(outcome.finished, end_of_data + TAIL_BYTES <= space_bytes ? 0 : -ENOSPC, "seed %#jx",
                     (uintmax_t)seed);
    }
}

Test(output_faults, queue_that_dies_while_it_starts_writes)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_io_options faults = {.seed = seed, .reorders = true};
        faults.faults[FAKE_IO_FLUSH] = (struct fake_io_fault){.nth = 1 + seed % 8, .sticky = true, .error = -EBADF};
        struct outcome outcome = run(&faults, 0);
        cr_assert_eq(outcome.error, -EBADF, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(outcome.finished, 0, "seed %#jx", (uintmax_t)seed);
    }
}

Test(output_faults, queue_that_dies_while_it_is_reaped)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_io_options faults = {.seed = seed, .reorders = true};
        faults.faults[FAKE_IO_REAP] = (struct fake_io_fault){.nth = 1 + seed % 5, .sticky = true, .error = -EBADF};
        struct outcome outcome = run(&faults, 0);
        cr_assert_eq(outcome.error, -EBADF, "seed %#jx", (uintmax_t)seed);
        cr_assert_eq(outcome.finished, 0, "seed %#jx", (uintmax_t)seed);
    }
}

Test(output_faults, write_that_is_refused_for_ever)
{
    struct fake_io_options faults = {.seed = 3};
    faults.faults[FAKE_IO_WRITE] = (struct fake_io_fault){.nth = 5, .sticky = true, .error = -EAGAIN};
    struct stream stream;
    start(&stream, &faults, 0);
    stream_run(&stream);
    cr_assert_eq(stream.first_error, -EAGAIN);
    cr_assert_eq(stream.output->writes.failed_from, 4);
    end(&stream);
}

Test(output_faults, orderly_disk)
{
    expect_all_on_file((struct fake_io_options){0}, 0);
}

Test(output_faults, reordered_short_and_interrupted)
{
    expect_all_on_file((struct fake_io_options){.reorders = true, .short_per_mille = 300, .refuse_per_mille = 300}, 0);
}

Test(output_faults, pressed_now_and_then)
{
    expect_all_on_file((struct fake_io_options){.reorders = true, .short_per_mille = 200}, 40);
}

Test(output_faults, always_pressed)
{
    expect_all_on_file((struct fake_io_options){.reorders = true, .short_per_mille = 200}, 100);
}

Test(output_faults, no_direct_file)
{
    expect_all_on_file((struct fake_io_options){.reorders = true, .short_per_mille = 200, .no_direct = true}, 10);
}

Test(output_faults, direct_writes_refused)
{
    expect_all_on_file((struct fake_io_options){.reorders = true, .short_per_mille = 200, .refuses_direct = true}, 10);
}

Test(output_faults, pwritev_short_and_interrupted)
{
    expect_all_on_file((struct fake_io_options){.pwritev_queue = true, .short_per_mille = 200, .refuse_per_mille = 200},
                       10);
}

Test(output_faults, no_preallocation_and_no_registered_buffers)
{
    struct fake_io_options faults = {.reorders = true, .buffers_taken_max = 1};
    faults.faults[FAKE_IO_FALLOCATE] = (struct fake_io_fault){.nth = 1, .sticky = true, .error = -EOPNOTSUPP};
    expect_all_on_file(faults, 10);
}

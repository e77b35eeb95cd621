/* The queue of streams, on operations that take what they are told to. */
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/bits.h"
#include "io/io_ops.h"

#define DEPTH     8u
#define BYTES     100u
#define CALLS_MAX 64u
#define FULL      (-EAGAIN)
#define NOTHING   SSIZE_MAX

struct recorder {
    ssize_t results[CALLS_MAX]; /* what the n-th call takes, or -errno; 0: all */
    unsigned calls;
    unsigned waits; /* wait_for_room calls that waited */
    unsigned asked; /* those that did not */
    int room;       /* what they say */
    size_t longest; /* bytes of a call */
    uint8_t out[DEPTH * BYTES * 4];
    size_t out_bytes;
};

static ssize_t record_writev(void *ctx, int fd, const struct iovec *parts, int part_count)
{
    struct recorder *recorder = ctx;
    cr_assert_eq(fd, 70);
    cr_assert_lt(recorder->calls, CALLS_MAX);
    ssize_t result = recorder->results[recorder->calls++];
    if (result == NOTHING)
        return 0;
    size_t bytes = 0;
    for (int i = 0; i < part_count; i++)
        bytes += parts[i].iov_len;
    recorder->longest = bytes > recorder->longest ? bytes : recorder->longest;
    if (result < 0)
        return result;
    size_t left = result == 0 ? bytes : (size_t)result;
    cr_assert_leq(left, bytes);
    for (int i = 0; i < part_count && left > 0; i++) {
        size_t share = weir_min_u64(left, parts[i].iov_len);
        memcpy(recorder->out + recorder->out_bytes, parts[i].iov_base, share);
        recorder->out_bytes += share;
        left -= share;
    }
    return result == 0 ? (ssize_t)bytes : result;
}

static int record_wait(void *ctx, int fd, unsigned wait_ms)
{
    struct recorder *recorder = ctx;
    cr_assert_eq(fd, 70);
    if (wait_ms > 0)
        recorder->waits++;
    else
        recorder->asked++;
    return recorder->room;
}

static const struct weir_io_file_ops recorder_ops = {.writev = record_writev, .wait_for_room = record_wait};
static const struct weir_io_queue_ops *const ops = &weir_io_queue_stream;

static void *open_queue(struct recorder *recorder, size_t piece)
{
    struct weir_io_queue_config config = {
        .depth = DEPTH,
        .fds = {[WEIR_IO_BUFFERED] = 70, [WEIR_IO_DIRECT] = -1},
        .file = &recorder_ops,
        .ctx = recorder,
        .stream_piece = piece,
    };
    void *queue = NULL;
    unsigned registered = 99;
    cr_assert_eq(ops->open(&queue, &config, &registered), 0);
    cr_assert_eq(registered, 0);
    return queue;
}

/* Write `number` is BYTES of the value number + 1. */
static int submit(void *queue, unsigned number)
{
    static uint8_t data[DEPTH * 2][BYTES];
    memset(data[number], (int)number + 1, BYTES);
    return ops->submit(queue, &(struct weir_io_write){.file = WEIR_IO_BUFFERED,
                                                      .buffer_index = -1,
                                                      .data = data[number],
                                                      .bytes = BYTES,
                                                      .offset = 12345,
                                                      .tag = (void *)(uintptr_t)number});
}

static void submit_row(void *queue, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        cr_assert_eq(submit(queue, i), 0);
}

/* All writes from 0 on came out, in order, each byte once. */
static void expect_out(const struct recorder *recorder, unsigned writes)
{
    cr_assert_eq(recorder->out_bytes, (size_t)writes * BYTES);
    for (size_t i = 0; i < recorder->out_bytes; i++)
        cr_assert_eq(recorder->out[i], i / BYTES + 1);
}

static void expect_done(const struct weir_io_completion *done, unsigned first, unsigned count, int64_t result)
{
    for (unsigned i = 0; i < count; i++) {
        cr_assert_eq((uintptr_t)done[i].tag, first + i);
        cr_assert_eq(done[i].result, result);
    }
}

Test(stream_queue, more_than_depth_writes_are_refused)
{
    struct recorder recorder = {0};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, DEPTH);
    cr_assert_eq(submit(queue, DEPTH), -EBUSY);
    cr_assert_eq(ops->flush(queue), 0);
    cr_assert_eq(submit(queue, DEPTH), -EBUSY); /* done, but not reaped */
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, 1, 0), 1);
    cr_assert_eq(submit(queue, DEPTH), 0);
    ops->close(queue);
}

Test(stream_queue, after_a_failure_every_write_completes_with_it)
{
    struct recorder recorder = {.results = {BYTES + 10, -EPIPE}};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, 3);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 3);
    expect_done(done, 0, 1, BYTES);
    expect_done(done + 1, 1, 1, 10); /* of the one that is cut, what is out */
    expect_done(done + 2, 2, 1, -EPIPE);
    submit_row(queue, 3, 1);
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 1);
    expect_done(done, 3, 1, -EPIPE);
    cr_assert_eq(recorder.calls, 2); /* nothing is put behind the hole */
    ops->close(queue);
}

Test(stream_queue, write_of_nothing_without_a_reason_is_an_error)
{
    struct recorder recorder = {.results = {NOTHING}};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, 1);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 1);
    expect_done(done, 0, 1, -EIO);
    ops->close(queue);
}

Test(stream_queue, full_stream_that_stays_full_is_waited_for_once)
{
    struct recorder recorder = {.results = {FULL, FULL, FULL}};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, 2);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 10), 0);
    cr_assert_eq(recorder.waits, 1);
    cr_assert_eq(recorder.calls, 1); /* no room: not tried again */
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 0);
    cr_assert_eq(recorder.waits, 1);
    ops->close(queue);
}

Test(stream_queue, rest_of_a_short_write_goes_out_first)
{
    struct recorder recorder = {.results = {30, 50, FULL, 1, FULL, 19, 0}, .room = 1};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, 2);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 0);
    submit_row(queue, 2, 1);
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 0);
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 3);
    expect_done(done, 0, 3, BYTES);
    expect_out(&recorder, 3);
    ops->close(queue);
}

Test(stream_queue, write_goes_on_when_there_is_room_again)
{
    struct recorder recorder = {.results = {FULL, 150, FULL}, .room = 1};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, 2);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 10), 1);
    cr_assert_eq(ops->reap(queue, done + 1, DEPTH, 10), 1);
    expect_done(done, 0, 2, BYTES);
    expect_out(&recorder, 2);
    ops->close(queue);
}

Test(stream_queue, interrupts_are_tried_again_but_not_for_ever)
{
    struct recorder recorder = {.results = {-EINTR, -EINTR, 0}};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, 1);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 1);
    cr_assert_eq(recorder.calls, 3);
    for (unsigned i = 3; i < CALLS_MAX; i++)
        recorder.results[i] = -EINTR;
    submit_row(queue, 1, 1);
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 0);
    cr_assert_eq(recorder.calls, 3 + 16);
    ops->close(queue);
}

Test(stream_queue, writes_go_out_together_and_in_order)
{
    struct recorder recorder = {0};
    void *queue = open_queue(&recorder, 0);
    submit_row(queue, 0, DEPTH);
    cr_assert_eq(ops->flush(queue), 0);
    cr_assert_eq(recorder.calls, 1);
    cr_assert_eq(ops->enters(queue), 1);
    expect_out(&recorder, DEPTH);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), (int)DEPTH);
    expect_done(done, 0, DEPTH, BYTES);
    ops->close(queue);
}

Test(stream_queue, pieces_are_asked_for_one_by_one)
{
    struct recorder recorder = {.room = 1};
    void *queue = open_queue(&recorder, 64);
    submit_row(queue, 0, 3);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 3);
    expect_done(done, 0, 3, BYTES);
    expect_out(&recorder, 3);
    cr_assert_eq(recorder.longest, 64);
    cr_assert_eq(recorder.calls, 5);
    cr_assert_eq(recorder.asked, 5);
    ops->close(queue);
}

Test(stream_queue, piece_without_room_is_not_written)
{
    struct recorder recorder = {.room = 0};
    void *queue = open_queue(&recorder, 64);
    submit_row(queue, 0, 1);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 0);
    cr_assert_eq(recorder.calls, 0);
    ops->close(queue);
}

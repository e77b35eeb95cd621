/* The queue of plain writes, on file operations that only take notes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "io/io_ops.h"

#define DEPTH     16u
#define BYTES     4096u
#define CALLS_MAX 32u

struct call {
    int fd;
    int parts;
    off_t offset;
};

struct recorder {
    struct call calls[CALLS_MAX];
    unsigned count;
    ssize_t results[CALLS_MAX]; /* what the n-th call returns; 0: all bytes */
};

static ssize_t record_pwritev(void *ctx, int fd, const struct iovec *parts, int part_count, off_t offset)
{
    struct recorder *recorder = ctx;
    cr_assert_lt(recorder->count, CALLS_MAX);
    ssize_t result = recorder->results[recorder->count];
    recorder->calls[recorder->count++] = (struct call){.fd = fd, .parts = part_count, .offset = offset};
    for (int i = 0; i < part_count && recorder->results[recorder->count - 1] == 0; i++)
        result += (ssize_t)parts[i].iov_len;
    return result;
}

static const struct weir_io_file_ops recorder_ops = {.pwritev = record_pwritev};

static const struct weir_io_queue_ops *const ops = &weir_io_queue_pwritev;

static void *open_queue(struct recorder *recorder)
{
    struct weir_io_queue_config config = {
        .depth = DEPTH,
        .fds = {[WEIR_IO_BUFFERED] = 70, [WEIR_IO_DIRECT] = 71},
        .buffers = &(struct iovec){.iov_len = BYTES},
        .buffer_count = 1,
        .file = &recorder_ops,
        .ctx = recorder,
    };
    void *queue = NULL;
    unsigned registered = 99;
    cr_assert_eq(ops->open(&queue, &config, &registered), 0);
    cr_assert_eq(registered, 0);
    return queue;
}

/* Write `number` lies at that many times BYTES. */
static int submit(void *queue, enum weir_io_file file, unsigned number)
{
    static const uint8_t data[BYTES];
    return ops->submit(queue, &(struct weir_io_write){.file = file,
                                                      .buffer_index = -1,
                                                      .data = data,
                                                      .bytes = BYTES,
                                                      .offset = (uint64_t)number * BYTES,
                                                      .tag = (void *)(uintptr_t)number});
}

static void submit_row(void *queue, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        cr_assert_eq(submit(queue, WEIR_IO_BUFFERED, i), 0);
}

static void expect_call(const struct recorder *recorder, unsigned number, int fd, int parts, unsigned first)
{
    cr_assert_eq(recorder->calls[number].fd, fd);
    cr_assert_eq(recorder->calls[number].parts, parts);
    cr_assert_eq(recorder->calls[number].offset, (off_t)first * BYTES);
}

static void expect_done(const struct weir_io_completion *done, unsigned number, int64_t result)
{
    cr_assert_eq((uintptr_t)done->tag, number);
    cr_assert_eq(done->result, result);
}

Test(pwritev_queue, more_than_depth_writes_are_refused)
{
    struct recorder recorder = {0};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, DEPTH);
    cr_assert_eq(submit(queue, WEIR_IO_BUFFERED, DEPTH), -EBUSY);
    cr_assert_eq(ops->flush(queue), 0);
    cr_assert_eq(submit(queue, WEIR_IO_BUFFERED, DEPTH), -EBUSY); /* done, but not reaped */
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, 1, 0), 1);
    cr_assert_eq(submit(queue, WEIR_IO_BUFFERED, DEPTH), 0);
    ops->close(queue);
}

Test(pwritev_queue, error_concerns_only_the_first_write_of_a_call)
{
    struct recorder recorder = {.results = {-EIO, -EIO, 0}};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 3);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 3);
    expect_done(&done[0], 0, -EIO);
    expect_done(&done[1], 1, BYTES);
    expect_done(&done[2], 2, BYTES);
    cr_assert_eq(recorder.count, 3);
    expect_call(&recorder, 0, 70, 3, 0);
    expect_call(&recorder, 1, 70, 1, 0);
    expect_call(&recorder, 2, 70, 2, 1);
    ops->close(queue);
}

Test(pwritev_queue, first_write_of_a_failed_call_succeeds_when_it_can_alone)
{
    struct recorder recorder = {.results = {-ENOSPC, 0, -ENOSPC}};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 2);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 2);
    expect_done(&done[0], 0, BYTES);
    expect_done(&done[1], 1, -ENOSPC);
    cr_assert_eq(recorder.count, 3);
    expect_call(&recorder, 1, 70, 1, 0);
    expect_call(&recorder, 2, 70, 1, 1);
    ops->close(queue);
}

Test(pwritev_queue, short_call_completes_what_it_wrote_and_tries_the_rest_anew)
{
    struct recorder recorder = {.results = {BYTES + 100, 0}};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 4);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 4);
    expect_done(&done[0], 0, BYTES);
    expect_done(&done[1], 1, 100);
    expect_done(&done[2], 2, BYTES);
    expect_done(&done[3], 3, BYTES);
    expect_call(&recorder, 1, 70, 2, 2);
    ops->close(queue);
}

Test(pwritev_queue, call_that_ends_between_two_writes_cuts_neither)
{
    struct recorder recorder = {.results = {BYTES, 0}};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 2);
    struct weir_io_completion done[DEPTH];
    cr_assert_eq(ops->reap(queue, done, DEPTH, 0), 2);
    expect_done(&done[0], 0, BYTES);
    expect_done(&done[1], 1, BYTES);
    cr_assert_eq(recorder.count, 2);
    ops->close(queue);
}

Test(pwritev_queue, neighbours_go_out_in_one_call_of_at_most_eight)
{
    struct recorder recorder = {0};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 10);
    cr_assert_eq(ops->flush(queue), 0);
    cr_assert_eq(recorder.count, 2);
    expect_call(&recorder, 0, 70, 8, 0);
    expect_call(&recorder, 1, 70, 2, 8);
    cr_assert_eq(ops->enters(queue), 2);
    ops->close(queue);
}

Test(pwritev_queue, gaps_and_other_files_end_a_call)
{
    struct recorder recorder = {0};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 2);
    submit_row(queue, 3, 1);
    cr_assert_eq(submit(queue, WEIR_IO_DIRECT, 4), 0);
    cr_assert_eq(submit(queue, WEIR_IO_DIRECT, 3), 0); /* backwards */
    cr_assert_eq(ops->flush(queue), 0);
    cr_assert_eq(recorder.count, 4);
    expect_call(&recorder, 0, 70, 2, 0);
    expect_call(&recorder, 1, 70, 1, 3);
    expect_call(&recorder, 2, 71, 1, 4);
    expect_call(&recorder, 3, 71, 1, 3);
    ops->close(queue);
}

Test(pwritev_queue, completions_are_kept_until_they_are_asked_for)
{
    struct recorder recorder = {0};
    void *queue = open_queue(&recorder);
    submit_row(queue, 0, 5);
    struct weir_io_completion done[2];
    for (unsigned i = 0; i < 4; i += 2) {
        cr_assert_eq(ops->reap(queue, done, 2, 0), 2);
        expect_done(&done[0], i, BYTES);
        expect_done(&done[1], i + 1, BYTES);
    }
    cr_assert_eq(ops->reap(queue, done, 2, 0), 1);
    expect_done(&done[0], 4, BYTES);
    cr_assert_eq(ops->reap(queue, done, 2, 1000), 0);
    ops->close(queue);
}

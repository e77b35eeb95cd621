/*
 * The write queue for pipes, FIFOs and sockets, which cannot be sought in. One thread at a time; nothing allocates
 * after open.
 *
 * The bytes of all writes go out one behind the other, in the order of submit(); file offsets do not matter. A write
 * completes when all of its bytes are out. The queue remembers how much of a write a full pipe has taken, and the rest
 * goes first in the next call. After a failure every write, present or later, completes with the error, because nobody
 * can read a stream with a hole. Only the write that the failure has cut completes short, with the bytes that are out,
 * and its rest fails when it is submitted again.
 *
 * Only reap() blocks, for its wait_ms at most, so that a consumer that has stopped reading never holds the writer for
 * good. The descriptor is non-blocking where possible (weir_output_open_stream()). Elsewhere poll(2) is asked before
 * each piece of config.stream_piece bytes, which a pipe that poll(2) calls writable takes at once (pipe(7), PIPE_BUF).
 *
 * A consumer that reads little at a time makes a full pipe writable at each page. Writing at once would then cost two
 * context switches per page. The queue lets the consumer run for half a millisecond first, in which it empties a good
 * part of the pipe.
 *
 * Rejected: vmsplice(2). It saves the copy into the pipe, but does not tell when the consumer is done with a page. So
 * no chunk could ever be used again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "io/sync_queue.h"

#define PARTS_MAX     16
#define INTERRUPT_MAX 16u /* in a row; then the next call goes on */
#define GATHER_NS     (WEIR_NS_PER_MS / 2)

struct stream_queue {
    struct weir_io_sync_queue sync;
    size_t written; /* bytes of the oldest write that are out */
    int error;      /* 0, or the result of every write from now on */
    bool was_full;  /* the last call did not take all */
};

static int stream_open(void **out, const struct weir_io_queue_config *config, unsigned *registered)
{
    struct stream_queue *queue = calloc(1, sizeof(*queue));
    int result = queue ? weir_io_sync_queue_init(&queue->sync, config) : -ENOMEM;
    if (result < 0) {
        free(queue);
        return result;
    }
    *registered = 0;
    *out = queue;
    return 0;
}

static int stream_submit(void *ctx, const struct weir_io_write *write)
{
    struct stream_queue *queue = ctx;
    return weir_io_sync_queue_submit(&queue->sync, write);
}

/* Fills parts with the bytes that go out next, as many as one call takes; returns the number of parts. */
static int gather(const struct stream_queue *queue, struct iovec *parts)
{
    size_t room = queue->sync.config.stream_piece ? queue->sync.config.stream_piece : WEIR_IO_WRITE_MAX_BYTES;
    int count = 0;
    for (unsigned i = 0; i < queue->sync.write_count && count < PARTS_MAX && room > 0; i++, count++) {
        const struct weir_io_write *write = &queue->sync.writes[i];
        size_t skipped = i == 0 ? queue->written : 0;
        parts[count].iov_base = (uint8_t *)(uintptr_t)write->data + skipped; /* writev(2) only reads it */
        parts[count].iov_len = weir_min_u64(write->bytes - skipped, room);
        room -= parts[count].iov_len;
    }
    return count;
}

/* The oldest `count` writes have completed. */
static void take_off(struct stream_queue *queue, unsigned count)
{
    queue->sync.write_count -= count;
    memmove(queue->sync.writes, queue->sync.writes + count, queue->sync.write_count * sizeof(*queue->sync.writes));
}

static void account(struct stream_queue *queue, size_t bytes)
{
    unsigned whole = 0;
    queue->written += bytes;
    for (; whole < queue->sync.write_count && queue->written >= queue->sync.writes[whole].bytes; whole++) {
        const struct weir_io_write *write = &queue->sync.writes[whole];
        queue->written -= write->bytes;
        weir_io_sync_queue_complete(&queue->sync, write, (int64_t)write->bytes);
    }
    take_off(queue, whole);
}

static void fail_all(struct stream_queue *queue)
{
    for (unsigned i = 0; i < queue->sync.write_count; i++, queue->written = 0)
        weir_io_sync_queue_complete(&queue->sync, &queue->sync.writes[i],
                                    queue->written > 0 ? (int64_t)queue->written : queue->error);
    take_off(queue, queue->sync.write_count);
}

/* Makes one call. Returns the bytes that went out, or -errno. */
static ssize_t put(struct stream_queue *queue)
{
    const struct weir_io_queue_config *config = &queue->sync.config;
    int fd = config->fds[WEIR_IO_BUFFERED];
    if (config->stream_piece && config->file->wait_for_room(config->ctx, fd, 0) == 0)
        return -EAGAIN;
    struct iovec parts[PARTS_MAX];
    int count = gather(queue, parts);
    queue->sync.enters++;
    ssize_t written = config->file->writev(config->ctx, fd, parts, count);
    return written == 0 ? -EIO : written; /* no progress and no reason */
}

static int stream_flush(void *ctx)
{
    struct stream_queue *queue = ctx;
    unsigned interrupts = 0;
    queue->was_full = false;
    while (queue->sync.write_count > 0 && queue->error == 0 && interrupts < INTERRUPT_MAX) {
        ssize_t written = put(queue);
        if (written > 0) {
            account(queue, (size_t)written);
            interrupts = 0;
        } else if (written == -EINTR) {
            interrupts++;
        } else if (written == -EAGAIN) {
            queue->was_full = true;
            return 0;
        } else {
            queue->error = (int)written;
        }
    }
    if (queue->error < 0)
        fail_all(queue);
    return 0;
}

static void stream_fail(void *ctx, int error)
{
    struct stream_queue *queue = ctx;
    if (queue->error == 0)
        queue->error = error;
}

static void wait_for_room(struct stream_queue *queue, unsigned wait_ms)
{
    const struct weir_io_queue_config *config = &queue->sync.config;
    queue->sync.enters++;
    if (config->file->wait_for_room(config->ctx, config->fds[WEIR_IO_BUFFERED], wait_ms) == 0)
        return;
    if (queue->was_full)
        weir_clock_pause_ns(GATHER_NS);
    stream_flush(queue);
}

static int stream_reap(void *ctx, struct weir_io_completion *done, unsigned max, unsigned wait_ms)
{
    struct stream_queue *queue = ctx;
    stream_flush(queue);
    if (queue->sync.done_count == 0 && queue->sync.write_count > 0 && wait_ms > 0)
        wait_for_room(queue, wait_ms);
    return weir_io_sync_queue_take(&queue->sync, done, max);
}

static uint64_t stream_enters(const void *ctx)
{
    return ((const struct stream_queue *)ctx)->sync.enters;
}

static void stream_close(void *ctx)
{
    struct stream_queue *queue = ctx;
    weir_io_sync_queue_fini(&queue->sync);
    free(queue);
}

const struct weir_io_queue_ops weir_io_queue_stream = {
    .name = "stream",
    .open = stream_open,
    .submit = stream_submit,
    .flush = stream_flush,
    .reap = stream_reap,
    .fail = stream_fail,
    .enters = stream_enters,
    .close = stream_close,
};

/*
 * The write queue on pwritev(2), used where io_uring is refused: seccomp filters of containers,
 * kernel.io_uring_disabled, kernels before 5.11. One thread at a time; nothing allocates after open.
 *
 * flush() does the writes, in the order of submit(), on the calling thread, and blocks as long as they take. Writes
 * that follow one another in the same file go out in one call. The queue retries nothing. A short or failed write is a
 * completion like io_uring's, which the caller judges. The next call tries the later writes of the same call. When a
 * call for several writes fails as a whole, the queue tries the first write alone. A direct write fails as a whole when
 * some blocks are missing, and these may belong to the last part.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "io/sync_queue.h"

#define PARTS_MAX 8 /* per call: with more, the first write would only wait longer for the last */

static int pwritev_open(void **out, const struct weir_io_queue_config *config, unsigned *registered)
{
    struct weir_io_sync_queue *queue = malloc(sizeof(*queue));
    int result = queue ? weir_io_sync_queue_init(queue, config) : -ENOMEM;
    if (result < 0) {
        free(queue);
        return result;
    }
    *registered = 0;
    *out = queue;
    return 0;
}

static int pwritev_submit(void *ctx, const struct weir_io_write *write)
{
    return weir_io_sync_queue_submit(ctx, write);
}

/* Returns how many writes from `first` on follow one another in one file, up to PARTS_MAX; fills parts. */
static int gather(const struct weir_io_sync_queue *queue, unsigned first, struct iovec *parts)
{
    const struct weir_io_write *writes = queue->writes;
    size_t bytes = 0;
    int count = 0;
    for (unsigned i = first; i < queue->write_count && count < PARTS_MAX; i++, count++) {
        bool follows = i == first || (writes[i].file == writes[first].file &&
                                      writes[i].offset == writes[i - 1].offset + writes[i - 1].bytes &&
                                      bytes + writes[i].bytes <= WEIR_IO_WRITE_MAX_BYTES);
        if (!follows)
            break;
        parts[count].iov_base = (void *)writes[i].data; /* pwritev(2) only reads it */
        parts[count].iov_len = writes[i].bytes;
        bytes += writes[i].bytes;
    }
    return count;
}

/* Distributes one result over the writes from `first` on; returns how many of them it completes. */
static unsigned settle(struct weir_io_sync_queue *queue, unsigned first, int part_count, ssize_t result)
{
    unsigned settled = 0;
    do {
        const struct weir_io_write *write = &queue->writes[first + settled];
        int64_t share = result < 0 ? result : (int64_t)weir_min_u64((uint64_t)result, write->bytes);
        weir_io_sync_queue_complete(queue, write, share);
        settled++;
        result -= share;
    } while (result > 0 && settled < (unsigned)part_count);
    return settled;
}

/* Makes one system call, for `first` and the writes that follow it in the file. */
static ssize_t call(struct weir_io_sync_queue *queue, const struct weir_io_write *first, const struct iovec *parts,
                    int part_count)
{
    queue->enters++;
    return queue->config.file->pwritev(queue->config.ctx, queue->config.fds[first->file], parts, part_count,
                                       (off_t)first->offset);
}

static int pwritev_flush(void *ctx)
{
    struct weir_io_sync_queue *queue = ctx;
    unsigned next = 0;
    while (next < queue->write_count) {
        struct iovec parts[PARTS_MAX];
        int part_count = gather(queue, next, parts);
        const struct weir_io_write *write = &queue->writes[next];
        ssize_t result = call(queue, write, parts, part_count);
        if (result < 0 && part_count > 1) {
            part_count = 1;
            result = call(queue, write, parts, part_count);
        }
        next += settle(queue, next, part_count, result);
    }
    queue->write_count = 0;
    return 0;
}

/* Syncs at once: without a queue in the kernel the caller waits for the disk here, as in flush(). */
static int pwritev_sync(void *ctx, int fd, void *tag)
{
    struct weir_io_sync_queue *queue = ctx;
    if (queue->write_count + queue->done_count == queue->config.depth)
        return -EBUSY;
    const struct weir_io_write answered = {.tag = tag};
    queue->enters++;
    weir_io_sync_queue_complete(queue, &answered, queue->config.file->fdatasync(queue->config.ctx, fd));
    return 0;
}

static int pwritev_reap(void *ctx, struct weir_io_completion *done, unsigned max, unsigned wait_ms)
{
    (void)wait_ms; /* all submitted writes are complete after flush */
    pwritev_flush(ctx);
    return weir_io_sync_queue_take(ctx, done, max);
}

static uint64_t pwritev_enters(const void *ctx)
{
    return ((const struct weir_io_sync_queue *)ctx)->enters;
}

static void pwritev_close(void *ctx)
{
    weir_io_sync_queue_fini(ctx);
    free(ctx);
}

const struct weir_io_queue_ops weir_io_queue_pwritev = {
    .name = "pwritev",
    .open = pwritev_open,
    .submit = pwritev_submit,
    .sync = pwritev_sync,
    .flush = pwritev_flush,
    .reap = pwritev_reap,
    .enters = pwritev_enters,
    .close = pwritev_close,
};

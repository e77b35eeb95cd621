/*
 * The writes of an output's file. One thread at a time; nothing allocates after init.
 *
 * Writes stand in a ring. Each begins in the file where the write before it ends, so that no two ever overlap. Writes
 * are submitted in order, complete in any order, and are retired in order again:
 *
 *     written_end        failed_from                       added
 *         │ over  held  over  held │ (failed) over held over  │ queued queued
 *         ▲ retired
 *
 * After a short completion, and after a refusal for the moment, the rest of the write is submitted again. A direct
 * write that is refused for its alignment turns O_DIRECT off and goes out through the page cache. Any other failure is
 * final: no later write is submitted any more, and a later write in flight is ignored when it completes. The writes
 * before the failed one are still completed, so that written_end ends exactly where the failure begins.
 *
 * Where the output waits for room, want of room is a refusal for the moment: the write is put back, and nothing is
 * submitted until try_again(). Writes already in flight may find room or not.
 *
 * Direct writes go into space that fallocate(2) has added to the file. Without that space each write extends the file,
 * which ext4 and xfs do under the inode's exclusive lock. io_uring then cannot start the write inline and hands it to
 * worker threads, at many times the CPU time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/probe.h"
#include "io/output_internal.h"

#define BLOCK_BYTES          WEIR_OUTPUT_BLOCK_BYTES
#define RETRY_MAX            1000u /* refusals for the moment without a byte written in between */
#define ALLOCATE_FIRST_BYTES (8ull << 20)
#define ALLOCATE_MOST_BYTES  (64ull << 20) /* more did not make it cheaper */
#define RING_MIN             8u
#define COMPLETIONS_BATCH    64u

int weir_output_writes_init(struct weir_output_writes *writes)
{
    writes->ring_size = (unsigned)weir_round_up_power_of_two(weir_max_u64(2ull * writes->depth, RING_MIN));
    writes->ring = calloc(writes->ring_size, sizeof(*writes->ring));
    if (!writes->ring)
        return -ENOMEM;
    writes->failed_from = UINT64_MAX;
    writes->preallocates = writes->direct;
    writes->allocate_bytes = ALLOCATE_FIRST_BYTES;
    return 0;
}

void weir_output_writes_fini(struct weir_output_writes *writes)
{
    if (writes->queue)
        writes->queue_ops->close(writes->queue);
    writes->queue = NULL;
    free(writes->ring);
    writes->ring = NULL;
}

unsigned weir_output_writes_room(const struct weir_output_writes *writes)
{
    return writes->ring_size - (unsigned)(writes->added - writes->retired);
}

bool weir_output_writes_idle(const struct weir_output_writes *writes)
{
    return writes->added == writes->retired && !writes->syncing;
}

static struct weir_output_write *write_at(const struct weir_output_writes *writes, uint64_t number)
{
    return &writes->ring[number & (writes->ring_size - 1)];
}

void weir_output_writes_add(struct weir_output_writes *writes, const struct weir_output_write *write)
{
    weir_assert(weir_output_writes_room(writes) > 0 && writes->error == 0);
    struct weir_output_write *added = write_at(writes, writes->added);
    *added = *write;
    added->number = writes->added++;
    added->written = 0;
    added->retries = 0;
    added->state = WEIR_OUTPUT_WRITE_QUEUED;
    writes->queued++;
}

bool weir_output_writes_newest_is_new(const struct weir_output_writes *writes)
{
    if (writes->added == writes->retired)
        return false;
    const struct weir_output_write *newest = write_at(writes, writes->added - 1);
    return newest->state == WEIR_OUTPUT_WRITE_QUEUED && newest->written == 0;
}

/*
 * Allocates ahead of the writes. Advisory: after a failure the writes extend the file themselves. Buffered writes may
 * have gone past the allocated space, and buffered writes in flight have no space yet. So the allocation begins with
 * these. An allocation behind them could take the last room of the disk, and then they and all later writes would fail.
 */
static void preallocate(struct weir_output_writes *writes, uint64_t end)
{
    writes->allocated_end = weir_max_u64(writes->allocated_end, writes->written_end);
    while (writes->preallocates && end > writes->allocated_end) {
        int rc = writes->file_ops->fallocate(writes->ctx, writes->fds[WEIR_IO_BUFFERED], (off_t)writes->allocated_end,
                                             (off_t)writes->allocate_bytes);
        /* EOPNOTSUPP and EFBIG do not get better. After ENOSPC ext4 keeps the part that it found room for: another try,
         * once there is room again, would take the last of it behind all writes. */
        if (rc < 0) {
            writes->preallocates = false;
            return;
        }
        writes->allocated_end += writes->allocate_bytes;
        writes->allocate_bytes = weir_min_u64(2 * writes->allocate_bytes, ALLOCATE_MOST_BYTES);
    }
}

static bool submit(struct weir_output_writes *writes, struct weir_output_write *write)
{
    uint64_t offset = write->offset + write->written;
    /* The rest after a short completion may begin anywhere. */
    bool direct = write->direct && writes->direct && offset % BLOCK_BYTES == 0;
    if (direct)
        preallocate(writes, write->offset + write->bytes);
    const struct weir_io_write request = {
        .file = direct ? WEIR_IO_DIRECT : WEIR_IO_BUFFERED,
        .buffer_index = write->buffer_index,
        .data = write->data + write->written,
        .bytes = weir_min_u64(write->bytes - write->written, WEIR_IO_WRITE_MAX_BYTES),
        .offset = offset,
        .tag = write,
    };
    if (writes->queue_ops->submit(writes->queue, &request) < 0)
        return false;

    weir_probe_write_submitted(offset, request.bytes, direct);
    write->file = request.file;
    write->state = WEIR_OUTPUT_WRITE_HELD;
    writes->queued--;
    writes->held++;
    writes->stats.in_flight_max = (unsigned)weir_max_u64(writes->stats.in_flight_max, writes->held);
    return true;
}

/* Submits the queued writes, oldest first, as far as the queue takes them. Returns whether there was any. */
static bool submit_queued(struct weir_output_writes *writes)
{
    bool any = false;
    if (writes->held_back)
        return false;
    for (uint64_t n = writes->retired; n < writes->added && writes->queued > 0 && writes->held < writes->depth; n++) {
        struct weir_output_write *write = write_at(writes, n);
        if (write->state != WEIR_OUTPUT_WRITE_QUEUED)
            continue;
        if (!submit(writes, write))
            break;
        any = true;
    }
    return any;
}

/* Gives up the write of that number and all later ones; a write in flight is over when it completes. */
static void fail_from(struct weir_output_writes *writes, uint64_t number, int error)
{
    if (writes->error == 0)
        writes->error = error;
    writes->failed_from = weir_min_u64(writes->failed_from, number);
    for (uint64_t n = number; n < writes->added; n++) {
        struct weir_output_write *write = write_at(writes, n);
        if (write->state == WEIR_OUTPUT_WRITE_QUEUED) {
            write->state = WEIR_OUTPUT_WRITE_OVER;
            writes->queued--;
        }
    }
}

/* Takes writes that are over from the ring's old end and moves written_end along. */
static void retire(struct weir_output_writes *writes)
{
    while (writes->retired < writes->added) {
        const struct weir_output_write *write = write_at(writes, writes->retired);
        if (write->state != WEIR_OUTPUT_WRITE_OVER)
            return;
        /* The output tells the bytes of the failed write that are on file once nothing is in flight. Until then fill()
         * needs the data of the write. */
        if (write->number == writes->failed_from && writes->held > 0)
            return;
        if (write->number <=
            writes->failed_from) /* also the part of the failed one that is written: it uses a full disk up */
            writes->written_end = write->offset + write->written;
        writes->stages_retired += write->staged;
        writes->retired++;
    }
}

/* Closing the queue waits until the kernel holds none of our memory, if the queue still works. */
void weir_output_writes_abandon(struct weir_output_writes *writes, int error)
{
    writes->stats.enters = writes->queue_ops->enters(writes->queue);
    writes->queue_ops->close(writes->queue);
    writes->queue = NULL;
    fail_from(writes, writes->retired, error);
    for (uint64_t n = writes->retired; n < writes->added; n++)
        write_at(writes, n)->state = WEIR_OUTPUT_WRITE_OVER;
    writes->held = 0;
    if (writes->syncing)
        writes->sync_result = error;
    writes->syncing = false;
    retire(writes);
}

static void count_written(struct weir_output_writes *writes, const struct weir_output_write *write, uint64_t bytes)
{
    writes->stats.written_bytes += bytes;
    if (write->file == WEIR_IO_DIRECT)
        writes->stats.direct_bytes += bytes;
    else
        writes->stats.buffered_bytes += bytes;
}

/* Whether a write that completed without progress (-errno) may succeed when it is submitted again. */
static bool is_worth_retrying(struct weir_output_writes *writes, struct weir_output_write *write, int result)
{
    if (result == -EINTR || result == -EAGAIN)
        return ++write->retries <= RETRY_MAX;
    /* Some file systems accept O_DIRECT in open(2) and refuse the write, or want blocks larger than ours. */
    if (result == -EINVAL && write->file == WEIR_IO_DIRECT) {
        writes->direct = false;
        return true;
    }
    return false;
}

static void complete(struct weir_output_writes *writes, struct weir_output_write *write, int64_t result)
{
    weir_probe_write_completed(write->offset + write->written, result);
    writes->held--;
    write->state = WEIR_OUTPUT_WRITE_OVER;
    if (write->number >= writes->failed_from)
        return;

    if (result > 0) {
        uint64_t bytes = weir_min_u64((uint64_t)result, write->bytes - write->written);
        count_written(writes, write, bytes);
        write->written += bytes;
        write->retries = 0;
        writes->full = false;
        if (write->written == write->bytes) {
            writes->stats.writes++;
            return;
        }
    } else {
        int failure = result < 0 ? (int)result : -EIO; /* no progress and no reason */
        if (writes->waits_for_space && weir_output_lacks_space(failure)) {
            writes->full = writes->held_back = true;
        } else if (!is_worth_retrying(writes, write, failure)) {
            fail_from(writes, write->number, failure);
            return;
        }
    }
    write->state = WEIR_OUTPUT_WRITE_QUEUED;
    writes->queued++;
    writes->stats.resubmitted++;
}

/* Writes the rest of a failed write in ever smaller pieces, down to a block. 0 when all of it is on file, or -errno. */
static int fill_rest(struct weir_output_writes *writes, struct weir_output_write *write)
{
    int fd = writes->fds[WEIR_IO_BUFFERED], result = 0;
    size_t piece = WEIR_IO_WRITE_MAX_BYTES;
    while (write->written < write->bytes && result == 0) {
        size_t bytes = weir_min_u64(write->bytes - write->written, piece);
        struct iovec rest = {.iov_base = (void *)(uintptr_t)(write->data + write->written), .iov_len = bytes};
        off_t offset = (off_t)(write->offset + write->written);
        ssize_t written = writes->file_ops->pwritev(writes->ctx, fd, &rest, 1, offset);
        if (written > 0) {
            write->file = WEIR_IO_BUFFERED;
            count_written(writes, write, (uint64_t)written);
            write->written += (size_t)written;
        } else if (written == -EINTR || written == -EAGAIN) {
            result = ++write->retries <= RETRY_MAX ? 0 : (int)written;
        } else if (bytes > BLOCK_BYTES) {
            piece = weir_align_up(bytes / 2, BLOCK_BYTES);
        } else {
            result = written < 0 ? (int)written : -EIO;
        }
    }
    return result;
}

void weir_output_writes_fill(struct weir_output_writes *writes)
{
    int fd = writes->fds[WEIR_IO_BUFFERED];
    weir_assert(writes->held == 0 && writes->retired == writes->added);
    if (!weir_output_cannot_grow(writes->error) ||
        writes->file_ops->ftruncate(writes->ctx, fd, (off_t)writes->written_end) < 0)
        return;
    bool synced = false;
    for (uint64_t n = writes->failed_from; n < writes->added; n++) {
        struct weir_output_write *write = write_at(writes, n);
        if (n > writes->failed_from)
            write->written = 0; /* what was written of it has just been cut off */
        int result = fill_rest(writes, write);
        /* A file system with a journal frees the cut blocks when the journal commits. */
        if (weir_output_lacks_space(result) && !synced && writes->file_ops->fsync(writes->ctx, fd) == 0) {
            synced = true;
            result = fill_rest(writes, write);
        }
        writes->written_end = write->offset + write->written;
        if (result < 0)
            return;
    }
}

int weir_output_writes_sync(struct weir_output_writes *writes, int fd)
{
    weir_assert(!writes->syncing);
    if (writes->error < 0)
        return writes->error;
    int rc = writes->queue_ops->sync(writes->queue, fd, &writes->syncing);
    writes->syncing = rc == 0;
    return rc;
}

/* On failure the disk has lost bytes; fdatasync(2) says neither which nor says so again. So no later write may follow.
 */
static void end_sync(struct weir_output_writes *writes, int result)
{
    writes->syncing = false;
    writes->sync_result = result == -EINTR ? -EAGAIN : result;
    if (result < 0 && writes->sync_result != -EAGAIN)
        fail_from(writes, writes->added, result);
}

int weir_output_writes_flush(struct weir_output_writes *writes)
{
    if (!writes->queue)
        return writes->error;
    submit_queued(writes);
    int rc = writes->queue_ops->flush(writes->queue);
    if (rc < 0)
        weir_output_writes_abandon(writes, rc);
    return rc;
}

void weir_output_writes_get_stats(const struct weir_output_writes *writes, struct weir_output_stats *stats)
{
    *stats = writes->stats;
    if (writes->queue)
        stats->enters = writes->queue_ops->enters(writes->queue);
}

void weir_output_writes_collect(struct weir_output_writes *writes, unsigned wait_ms)
{
    if (!writes->queue)
        return;
    submit_queued(writes);
    struct weir_io_completion done[COMPLETIONS_BATCH];
    int count;
    do {
        count = writes->queue_ops->reap(writes->queue, done, COMPLETIONS_BATCH, wait_ms);
        if (count < 0) {
            weir_output_writes_abandon(writes, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            if (done[i].tag == &writes->syncing)
                end_sync(writes, (int)done[i].result);
            else
                complete(writes, done[i].tag, done[i].result);
        }
        wait_ms = 0;
    } while (count == (int)COMPLETIONS_BATCH);
    retire(writes);
    if (submit_queued(writes))
        weir_output_writes_flush(writes);
}

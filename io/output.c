/*
 * An output: spans in, writes out, in order. One thread at a time; nothing allocates after open.
 *
 *     append ──large span──────────────► write (from where it lies, padded in place to a block when aligned)
 *            └─small span──► stage ────► write (when full, when a large span follows, or at push_tail)
 *
 * Writes stand in a ring in the order of their file offsets and cover the file without gaps. They are submitted in that
 * order, complete in any, and are finished in order again: written_end is the end of the finished prefix. A span is
 * complete when written_end has reached its end.
 *
 * Aligned outputs (O_DIRECT): every write begins and ends at a multiple of 4096. Before a large span the stage is
 * closed with a padding record. At push_tail the stage's last block is written filled up with zeros, and is carried
 * over into the next stage, whose write then begins with the same block: that write is marked as rewriting and waits
 * until all before it are finished, so that no two writes in flight ever overlap.
 *
 * The first failure that cannot be retried is final: nothing more is submitted; when the kernel holds nothing any more,
 * every span behind written_end completes with the error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "io/output_internal.h"

#define BLOCK_BYTES         ((uint64_t)WEIR_OUTPUT_ALIGN_BYTES)
#define DEPTH_DEFAULT       32u
#define RETRY_MAX           1000u /* of one write that the kernel keeps refusing for the moment */
#define ALLOCATE_STEP_BYTES (64ull << 20)
#define COMPLETIONS_BATCH   64u
#define WRITES_PER_APPEND   2u /* a closed stage and the span itself */
#define WAIT_MS             100u

/* ---- writes ---- */

static struct weir_output_write *write_at(const struct weir_output *output, uint64_t number)
{
    return &output->writes[number & (output->write_max - 1)];
}

static unsigned writes_open(const struct weir_output *output)
{
    return (unsigned)(output->write_added - output->write_finished);
}

/* Asks for space ahead of the writes, so that direct writes need not extend the file. Advisory: without it all works.
 */
static void preallocate(struct weir_output *output, uint64_t end)
{
    while (output->preallocates && end > output->allocated) {
        if (output->file_ops->fallocate(output->io_ctx, output->file.fd, (off_t)output->allocated,
                                        (off_t)ALLOCATE_STEP_BYTES) < 0)
            output->preallocates = false;
        else
            output->allocated += ALLOCATE_STEP_BYTES;
    }
}

static struct weir_output_write *add_write(struct weir_output *output, const uint8_t *data, uint64_t offset,
                                           uint64_t bytes)
{
    weir_assert(writes_open(output) < output->write_max);
    preallocate(output, offset + bytes);
    struct weir_output_write *write = write_at(output, output->write_added++);
    *write = (struct weir_output_write){
        .output = output,
        .data = data,
        .offset = offset,
        .bytes = bytes,
        .valid = bytes,
        .buffer_index = -1,
        .stage = -1,
        .state = WEIR_OUTPUT_WRITE_QUEUED,
    };
    return write;
}

static bool goes_direct(const struct weir_output *output, const struct weir_output_write *write)
{
    /* What a short completion left over may begin anywhere; the page cache takes it. */
    return output->aligned && output->direct_works && !write->buffered && write->written % BLOCK_BYTES == 0;
}

static int submit(struct weir_output *output, struct weir_output_write *write)
{
    struct weir_io_write request = {
        .file = goes_direct(output, write) ? WEIR_IO_DIRECT : WEIR_IO_BUFFERED,
        .buffer_index = write->buffer_index,
        .data = write->data + write->written,
        .bytes = weir_min_u64(write->bytes - write->written, WEIR_IO_WRITE_MAX_BYTES),
        .offset = write->offset + write->written,
        .tag = write,
    };
    int result = output->queue_ops->submit(output->queue, &request);
    if (result < 0)
        return result;
    write->state = WEIR_OUTPUT_WRITE_HELD;
    output->held++;
    output->stats.in_flight_max =
        output->held > output->stats.in_flight_max ? output->held : output->stats.in_flight_max;
    return 0;
}

/* Submits queued writes in order as far as queue and rewriting rules allow. */
static void submit_queued(struct weir_output *output)
{
    while (output->write_submitted < output->write_added && output->error == 0 && output->held < output->depth) {
        struct weir_output_write *write = write_at(output, output->write_submitted);
        if (write->rewrites && output->write_finished < output->write_submitted)
            return;
        if (submit(output, write) < 0)
            return;
        output->write_submitted++;
    }
}

/* ---- spans ---- */

static struct weir_output_span *span_at(struct weir_output *output, uint64_t number)
{
    return &output->spans[number & (WEIR_OUTPUT_SPAN_MAX - 1)];
}

/* Completes spans that are on file, and after a failure those that never will be. */
static void complete_spans(struct weir_output *output)
{
    while (output->span_completed < output->span_appended) {
        struct weir_output_span *span = span_at(output, output->span_completed);
        bool on_file = span->end <= output->written_end;
        if (!on_file && (output->error == 0 || output->held > 0))
            return;
        span->result = on_file ? 0 : output->error;
        if (on_file)
            output->stable_end = span->end;
        output->span_completed++;
    }
}

/* ---- staging ---- */

static uint8_t *stage_data(const struct weir_output *output, int index)
{
    return output->stage_memory + (size_t)index * WEIR_OUTPUT_STAGE_BYTES;
}

static unsigned free_stages(const struct weir_output *output)
{
    unsigned count = 0;
    for (unsigned i = 0; i < WEIR_OUTPUT_STAGE_COUNT; i++)
        count += !output->stage_busy[i];
    return count;
}

static void open_stage(struct weir_output *output, uint64_t offset)
{
    for (unsigned i = 0; i < WEIR_OUTPUT_STAGE_COUNT; i++) {
        if (!output->stage_busy[i]) {
            output->stage_busy[i] = true;
            output->stage = (struct weir_output_stage){.index = (int)i, .offset = offset};
            return;
        }
    }
    weir_assert(!"can_append() promises a free stage");
}

static bool stage_is_open(const struct weir_output *output)
{
    return output->stage.index >= 0;
}

/* Makes a write of the open stage's first `bytes` bytes; the stage is closed. */
static struct weir_output_write *write_stage(struct weir_output *output, uint64_t bytes)
{
    struct weir_output_stage *stage = &output->stage;
    struct weir_output_write *write = add_write(output, stage_data(output, stage->index), stage->offset, bytes);
    write->stage = stage->index;
    write->rewrites = stage->pushed > 0;
    stage->index = -1;
    return write;
}

/* Closes the stage at a block's end with a padding record, so that a direct write may follow. */
static void close_stage(struct weir_output *output)
{
    struct weir_output_stage *stage = &output->stage;
    if (!stage_is_open(output))
        return;
    if (stage->filled == stage->pushed && stage->filled % BLOCK_BYTES == 0) {
        output->stage_busy[stage->index] = false;
        stage->index = -1;
        return;
    }
    uint64_t bytes = output->aligned ? weir_align_up(stage->filled, BLOCK_BYTES) : stage->filled;
    uint64_t gap = bytes - stage->filled;
    if (gap > 0)
        output->fill_padding(stage_data(output, stage->index) + stage->filled, gap);
    output->stats.padding_bytes += gap;
    output->end += gap;
    write_stage(output, bytes);
}

/* Writes what the stage holds and goes on behind it: an aligned stage carries its last, partial block over. */
static void push_stage(struct weir_output *output)
{
    struct weir_output_stage before = output->stage;
    uint64_t carried = output->aligned ? before.filled % BLOCK_BYTES : 0;
    uint64_t bytes = before.filled - carried + (carried ? BLOCK_BYTES : 0);
    const uint8_t *data = stage_data(output, before.index);
    memset(stage_data(output, before.index) + before.filled, 0, bytes - before.filled);
    write_stage(output, bytes)->valid = before.filled;
    if (carried > 0) {
        open_stage(output, before.offset + before.filled - carried);
        memcpy(stage_data(output, output->stage.index), data + before.filled - carried, carried);
        output->stage.filled = output->stage.pushed = carried;
    }
}

void weir_output_push_tail(struct weir_output *output)
{
    bool unwritten = stage_is_open(output) && output->stage.filled > output->stage.pushed;
    if (unwritten && output->error == 0 && free_stages(output) > 0 && writes_open(output) < output->write_max)
        push_stage(output);
}

static void append_copy(struct weir_output *output, const void *data, size_t bytes)
{
    if (stage_is_open(output) && output->stage.filled + bytes > WEIR_OUTPUT_STAGE_BYTES)
        push_stage(output);
    if (!stage_is_open(output))
        open_stage(output, output->end);
    memcpy(stage_data(output, output->stage.index) + output->stage.filled, data, bytes);
    output->stage.filled += bytes;
    output->end += bytes;
    output->stats.copied_bytes += bytes;
}

/* ---- appending ---- */

bool weir_output_can_append(const struct weir_output *output)
{
    bool spans = output->span_appended - output->span_reaped < WEIR_OUTPUT_SPAN_MAX;
    if (output->error)
        return spans;
    /* One stage to go on with and one to carry a block over to. */
    return spans && writes_open(output) + WRITES_PER_APPEND <= output->write_max && free_stages(output) >= 2;
}

static void append_in_place(struct weir_output *output, const void *data, size_t bytes, int buffer_index, bool pressed)
{
    close_stage(output);
    uint64_t padded = output->aligned ? weir_align_up(bytes, BLOCK_BYTES) : bytes;
    if (padded > bytes) /* the slack behind a span in our buffers is ours, see output.h */
        output->fill_padding((uint8_t *)(uintptr_t)data + bytes, padded - bytes);
    struct weir_output_write *write = add_write(output, data, output->end, padded);
    write->buffer_index = buffer_index;
    write->buffered = pressed;
    output->stats.padding_bytes += padded - bytes;
    output->end += padded;
}

void weir_output_append(struct weir_output *output, const void *data, size_t bytes, int buffer_index, bool pressed,
                        void *token)
{
    weir_assert(weir_output_can_append(output) && bytes > 0 && bytes % 8 == 0);
    struct weir_output_span *span = span_at(output, output->span_appended++);
    span->token = token;
    output->stats.appended_bytes += bytes;
    if (output->error) {
        span->end = UINT64_MAX;
        complete_spans(output);
        return;
    }
    bool in_place = bytes >= WEIR_OUTPUT_COPY_BYTES;
    weir_assert(in_place || bytes <= WEIR_OUTPUT_COPY_BYTES);
    /* A span outside of our buffers has no slack to pad, nor need it lie on a block. */
    if (in_place && (buffer_index >= 0 || !output->aligned)) {
        append_in_place(output, data, bytes, buffer_index, pressed);
        span->end = output->end - (output->aligned ? weir_align_up(bytes, BLOCK_BYTES) - bytes : 0);
        return;
    }
    weir_assert(bytes <= WEIR_OUTPUT_STAGE_BYTES - BLOCK_BYTES);
    append_copy(output, data, bytes);
    span->end = output->end;
}

int weir_output_flush(struct weir_output *output)
{
    submit_queued(output);
    return output->queue_ops->flush(output->queue);
}

/* ---- completions ---- */

static bool is_for_the_moment(int result)
{
    return result == -EINTR || result == -EAGAIN || result == -EBUSY;
}

/* What to do about a write that did not go through: 0 when it is to be tried again. */
static int judge_failure(struct weir_output *output, struct weir_output_write *write, int result)
{
    if (is_for_the_moment(result) && write->retries++ < RETRY_MAX)
        return 0;
    /* A file system that opens a file with O_DIRECT and then refuses the write: the page cache takes all from now on.
     */
    if (result == -EINVAL && goes_direct(output, write)) {
        output->direct_works = false;
        return 0;
    }
    return result;
}

static void fail(struct weir_output *output, int error)
{
    if (output->error == 0)
        output->error = error;
}

static void note_written(struct weir_output *output, const struct weir_output_write *write, uint64_t bytes)
{
    output->stats.written_bytes += bytes;
    if (goes_direct(output, write))
        output->stats.direct_bytes += bytes;
    else
        output->stats.buffered_bytes += bytes;
}

static void complete_write(struct weir_output *output, struct weir_output_write *write, int64_t result)
{
    output->held--;
    int failure = 0;
    if (result > 0) {
        note_written(output, write, (uint64_t)result);
        write->written += (uint64_t)result;
    } else {
        failure = judge_failure(output, write, result < 0 ? (int)result : -EIO);
    }

    if (write->written == write->bytes) {
        output->stats.writes++;
        write->state = WEIR_OUTPUT_WRITE_DONE;
    } else if (failure < 0) {
        write->state = WEIR_OUTPUT_WRITE_DONE;
        fail(output, failure);
    } else {
        write->state = WEIR_OUTPUT_WRITE_QUEUED;
        output->stats.resubmitted++;
        /* The queue has just given a place back. After a failure elsewhere there is no point in going on. */
        if (output->error || submit(output, write) < 0)
            fail(output, output->error ? output->error : -EIO);
    }
}

/* Moves the finished prefix on. */
static void finish_writes(struct weir_output *output)
{
    while (output->write_finished < output->write_submitted) {
        struct weir_output_write *write = write_at(output, output->write_finished);
        if (write->state != WEIR_OUTPUT_WRITE_DONE || write->written < write->bytes)
            break;
        if (write->stage >= 0)
            output->stage_busy[write->stage] = false;
        output->written_end = write->offset + write->valid;
        output->write_finished++;
    }
    complete_spans(output);
}

static void process_completions(struct weir_output *output, unsigned wait_ms)
{
    submit_queued(output);
    struct weir_io_completion done[COMPLETIONS_BATCH];
    int count;
    do {
        count = output->queue_ops->reap(output->queue, done, COMPLETIONS_BATCH, output->held ? wait_ms : 0);
        for (int i = 0; i < count; i++)
            complete_write(output, done[i].tag, done[i].result);
        finish_writes(output);
        wait_ms = 0;
    } while (count == (int)COMPLETIONS_BATCH);
    if (count < 0)
        fail(output, count);
    submit_queued(output);
    output->queue_ops->flush(output->queue);
}

unsigned weir_output_reap(struct weir_output *output, struct weir_output_done *done, unsigned max, unsigned wait_ms)
{
    if (writes_open(output) > 0)
        process_completions(output, output->span_completed > output->span_reaped ? 0 : wait_ms);
    complete_spans(output);
    unsigned count = 0;
    while (count < max && output->span_reaped < output->span_completed) {
        const struct weir_output_span *span = span_at(output, output->span_reaped++);
        done[count++] = (struct weir_output_done){.token = span->token, .result = span->result};
    }
    return count;
}

unsigned weir_output_pending(const struct weir_output *output)
{
    return (unsigned)(output->span_appended - output->span_reaped);
}

uint64_t weir_output_stable_bytes(const struct weir_output *output)
{
    return output->stable_end - output->head_bytes;
}

int weir_output_error(const struct weir_output *output)
{
    return output->error;
}

void weir_output_get_stats(const struct weir_output *output, struct weir_output_stats *stats)
{
    *stats = output->stats;
    stats->enters = output->queue_ops->enters(output->queue);
}

const char *weir_output_describe(const struct weir_output *output)
{
    return output->description;
}

/* ---- head and end ---- */

/* pwrite(2) of all of it through the page cache. */
static int write_whole(struct weir_output *output, const void *data, size_t bytes, uint64_t offset)
{
    const uint8_t *from = data;
    while (bytes > 0) {
        struct iovec part = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
        ssize_t written = output->file_ops->pwritev(output->io_ctx, output->file.fd, &part, 1, (off_t)offset);
        if (written == -EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? (int)written : -EIO;
        from += written;
        bytes -= (size_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

int weir_output_write_head(struct weir_output *output, const void *head, size_t head_bytes)
{
    weir_assert(output->head_bytes == 0 && head_bytes > 0 && head_bytes % BLOCK_BYTES == 0);
    int result = write_whole(output, head, head_bytes, 0);
    if (result < 0)
        return result;
    output->head_bytes = output->end = output->written_end = output->stable_end = output->allocated = head_bytes;
    return 0;
}

int weir_output_patch_head(struct weir_output *output, uint64_t offset, const void *data, size_t bytes)
{
    weir_assert(offset + bytes <= output->head_bytes);
    return write_whole(output, data, bytes, offset);
}

static void settle(struct weir_output *output)
{
    weir_output_push_tail(output);
    while (output->held > 0 || (output->error == 0 && writes_open(output) > 0))
        process_completions(output, WAIT_MS);
    complete_spans(output);
}

int weir_output_finish(struct weir_output *output, const void *tail, size_t tail_bytes)
{
    settle(output);
    output->finished = true;
    int result = write_whole(output, tail, tail_bytes, output->stable_end);
    uint64_t end = output->stable_end + (result < 0 ? 0 : tail_bytes);
    int cut = output->file_ops->ftruncate(output->io_ctx, output->file.fd, (off_t)end);
    return result < 0 ? result : cut;
}

int weir_output_sync(struct weir_output *output)
{
    return output->file_ops->fsync(output->io_ctx, output->file.fd);
}

int weir_output_publish(struct weir_output *output, struct weir_error *err)
{
    return weir_output_file_publish(&output->file, err);
}

/* ---- open and close ---- */

static int open_queue(struct weir_output *output, const struct weir_output_options *options,
                      const struct weir_io_queue_ops *ops, unsigned *registered)
{
    struct weir_io_queue_config config = {
        .depth = output->depth,
        .fds = {[WEIR_IO_BUFFERED] = output->file.fd, [WEIR_IO_DIRECT] = output->direct_fd},
        .buffers = options->buffers,
        .buffer_count = options->buffer_count,
        .file = output->file_ops,
        .ctx = output->io_ctx,
    };
    output->queue_ops = ops;
    *registered = 0;
    return ops->open(&output->queue, &config, registered);
}

static int choose_queue(struct weir_output *output, const struct weir_output_options *options, unsigned *registered,
                        struct weir_error *err)
{
    const struct weir_io_queue_ops *given = options->io ? options->io->queue : NULL;
    const struct weir_io_queue_ops *wanted =
        options->engine == WEIR_OUTPUT_WRITEV ? &weir_io_queue_pwritev : &weir_io_queue_uring;
    int result = open_queue(output, options, given ? given : wanted, registered);
    if (result < 0 && !given && options->engine == WEIR_OUTPUT_AUTO) {
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE,
                    "io_uring is not available (%s): writing with pwritev; see kernel.io_uring_disabled, or the "
                    "container's seccomp profile",
                    strerror(-result));
        result = open_queue(output, options, &weir_io_queue_pwritev, registered);
    }
    return result < 0 ? weir_error_set_errno(err, result, "cannot set up %s", output->queue_ops->name) : 0;
}

static void open_direct(struct weir_output *output, const struct weir_output_options *options)
{
    output->direct_fd = -1;
    if (options->direct == WEIR_OUTPUT_DIRECT_AUTO)
        output->direct_fd = output->file_ops->open_direct(output->io_ctx, output->file.fd);
    if (output->direct_fd < 0)
        output->direct_fd = -1;
    output->aligned = output->direct_works = output->preallocates = output->direct_fd >= 0;
}

static int allocate(struct weir_output *output)
{
    output->write_max = (unsigned)weir_round_up_power_of_two(2ull * output->depth + WRITES_PER_APPEND);
    output->writes = calloc(output->write_max, sizeof(*output->writes));
    output->stage_memory = aligned_alloc(BLOCK_BYTES, (size_t)WEIR_OUTPUT_STAGE_COUNT * WEIR_OUTPUT_STAGE_BYTES);
    if (!output->writes || !output->stage_memory)
        return -ENOMEM;
    /* Touched now: no page fault while data flows. */
    memset(output->stage_memory, 0, (size_t)WEIR_OUTPUT_STAGE_COUNT * WEIR_OUTPUT_STAGE_BYTES);
    return 0;
}

static int open_parts(struct weir_output *output, const struct weir_output_options *options, struct weir_error *err)
{
    open_direct(output, options);
    int result = allocate(output);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the output");
    unsigned registered;
    result = choose_queue(output, options, &registered, err);
    if (result < 0)
        return result;
    int length = snprintf(output->description, sizeof(output->description), "%s, %s", output->queue_ops->name,
                          output->direct_fd >= 0 ? "O_DIRECT" : "buffered");
    if (registered > 0)
        snprintf(output->description + length, sizeof(output->description) - (size_t)length, ", %u registered buffer%s",
                 registered, registered == 1 ? "" : "s");
    return 0;
}

int weir_output_check(const char *path, struct weir_error *err)
{
    struct weir_output_file file;
    int result = weir_output_file_open(&file, path, NULL, err);
    if (result == 0)
        weir_output_file_fini(&file);
    return result;
}

int weir_output_open(struct weir_output **out, const char *path, const struct weir_output_options *options,
                     struct weir_error *err)
{
    struct weir_output *output = calloc(1, sizeof(*output));
    if (!output)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    output->file_ops = options->io ? options->io->file : &weir_io_file_real;
    output->io_ctx = options->io ? options->io->ctx : NULL;
    output->fill_padding = options->fill_padding;
    output->depth =
        options->queue_depth ? (unsigned)weir_min_u64(options->queue_depth, WEIR_IO_DEPTH_MAX) : DEPTH_DEFAULT;
    output->stage.index = -1;
    output->direct_fd = output->file.fd = output->file.dir_fd = -1;

    int result = weir_output_file_open(&output->file, path, options->notices, err);
    if (result < 0) {
        free(output);
        return result;
    }
    result = open_parts(output, options, err);
    if (result < 0) {
        weir_output_close(output);
        return result;
    }
    *out = output;
    return 0;
}

void weir_output_close(struct weir_output *output)
{
    if (!output)
        return;
    if (output->queue)
        output->queue_ops->close(output->queue); /* waits for what the kernel holds */
    if (output->direct_fd >= 0)
        output->file_ops->close(output->io_ctx, output->direct_fd);
    weir_output_file_fini(&output->file);
    free(output->writes);
    free(output->stage_memory);
    free(output);
}

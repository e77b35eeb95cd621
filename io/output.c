/*
 * An output from open to close: the file, its write queue, its head and its end. One thread at a time. The data between
 * head and end goes through output_append.c and output_writes.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/remedy.h"
#include "io/output_internal.h"

#define DEPTH_DEFAULT   32u
#define FINISH_WAIT_MS  1000u /* per look at the queue, not a limit */
#define RETRY_MAX       1000u
#define COPY_BYTES      (1ull << 30) /* in one call of copy_file_range(2) */
#define COPY_STEP_BYTES (1u << 20)   /* where the kernel refuses that call */

/* ---- open ---- */

/* Returns how many of the caller's buffers are registered. */
static unsigned early_count(const struct weir_output *output)
{
    return output->buffer_count - output->late_count;
}

/* Lists the memory to register: early buffers and, as the last one, the staging memory. Owned by the caller; NULL: no
 * memory. */
static struct iovec *early_buffers(const struct weir_output *output)
{
    unsigned count = early_count(output);
    struct iovec *buffers = calloc(count + 1u, sizeof(*buffers));
    if (!buffers)
        return NULL;
    if (count > 0)
        memcpy(buffers, output->buffers, count * sizeof(*buffers));
    buffers[count] =
        (struct iovec){.iov_base = output->stage_memory, .iov_len = WEIR_OUTPUT_STAGE_COUNT * output->stage_bytes};
    return buffers;
}

/* 0 or -errno; *registered: as of weir_io_queue_ops.open. */
static int open_queue(struct weir_output *output, const struct weir_io_queue_ops *ops, unsigned *registered)
{
    struct iovec *buffers = early_buffers(output);
    if (!buffers)
        return -ENOMEM;
    struct weir_output_writes *writes = &output->writes;
    const struct weir_io_queue_config config = {
        .depth = writes->depth,
        .fds = {[WEIR_IO_BUFFERED] = writes->fds[WEIR_IO_BUFFERED], [WEIR_IO_DIRECT] = writes->fds[WEIR_IO_DIRECT]},
        .buffers = buffers,
        .buffer_count = early_count(output) + 1,
        .file = writes->file_ops,
        .ctx = writes->ctx,
        .stream_piece = output->stream_piece,
    };
    writes->queue_ops = ops;
    int rc = ops->open(&writes->queue, &config, registered);
    free(buffers);
    return rc;
}

/* Returns advice for a user whom the kernel refuses io_uring, perhaps in text. */
static const char *uring_advice(int rc, char text[WEIR_REMEDY_BYTES])
{
    switch (rc) {
    case -ENOMEM: /* locked memory */
        return weir_remedy(WEIR_REMEDY_MEMLOCK, 0, text);
    case -EPERM: { /* the knob, or a filter */
        weir_remedy(WEIR_REMEDY_IO_URING, 0, text);
        size_t used = strlen(text);
        char other[WEIR_REMEDY_BYTES];
        snprintf(text + used, WEIR_REMEDY_BYTES - used, ", or %s",
                 weir_remedy(WEIR_REMEDY_CONTAINER_SECCOMP, 0, other));
        return text;
    }
    case -ENOSYS:
        return "it takes Linux 5.11 or newer, and a seccomp profile that lets it through";
    default:
        return "see io_uring_setup(2)";
    }
}

/* Opens the queue that the options and the kernel allow. 0 or -errno with err. */
static int choose_queue(struct weir_output *output, const struct weir_output_options *options, unsigned *registered,
                        struct weir_error *err)
{
    if (options->io && options->io->queue) {
        int rc = open_queue(output, options->io->queue, registered);
        return rc < 0 ? weir_error_set_errno(err, rc, "cannot set up %s", options->io->queue->name) : 0;
    }
    if (output->file.stream) {
        int rc = open_queue(output, &weir_io_queue_stream, registered);
        return rc < 0 ? weir_error_set_errno(err, rc, "cannot set up the output stream") : 0;
    }
    if (options->engine != WEIR_OUTPUT_WRITEV) {
        int rc = open_queue(output, &weir_io_queue_uring, registered);
        if (rc == 0)
            return 0;
        if (options->engine == WEIR_OUTPUT_URING) {
            weir_error_set_errno(err, rc, "cannot set up io_uring");
            weir_error_hint(err, "%s, or use plain writes", uring_advice(rc, (char[WEIR_REMEDY_BYTES]){0}));
            return rc;
        }
        weir_notice(options->notices, options->refusal_is_told ? WEIR_NOTICE_VERBOSE : WEIR_NOTICE_INFO,
                    "io_uring is not available (%s): writing with pwritev; %s", strerrordesc_np(-rc),
                    uring_advice(rc, (char[WEIR_REMEDY_BYTES]){0}));
    }
    int rc = open_queue(output, &weir_io_queue_pwritev, registered);
    return rc < 0 ? weir_error_set_errno(err, rc, "cannot set up plain writes") : 0;
}

/* Opens the file once more for direct writes, where the options want them and the file system has them. */
static void open_direct(struct weir_output *output, const struct weir_output_options *options)
{
    struct weir_output_writes *writes = &output->writes;
    output->direct_fd = -1;
    if (options->direct == WEIR_OUTPUT_DIRECT_AUTO && options->fill_padding && !output->file.stream) {
        int fd = writes->file_ops->open_direct(writes->ctx, output->file.fd);
        output->direct_fd = fd < 0 ? -1 : fd;
    }
    writes->fds[WEIR_IO_BUFFERED] = output->file.fd;
    writes->fds[WEIR_IO_DIRECT] = output->direct_fd;
    writes->direct = output->direct_fd >= 0;
}

static void describe(struct weir_output *output, unsigned registered)
{
    char buffers[40] = "";
    if (registered > 0)
        snprintf(buffers, sizeof(buffers), ", %u registered buffer%s", registered, registered == 1 ? "" : "s");
    const char *name = output->writes.queue_ops->name;
    snprintf(output->direct_text, sizeof(output->direct_text), "%s, O_DIRECT%s", name, buffers);
    snprintf(output->buffered_text, sizeof(output->buffered_text), output->file.stream ? "%s%s" : "%s, buffered%s",
             name, buffers);
}

/* Opens all but the file: staging memory, writes, queue. 0 or -errno with err. */
static int open_writes(struct weir_output *output, const struct weir_output_options *options, struct weir_error *err)
{
    output->writes.depth =
        (unsigned)weir_min_u64(options->queue_depth ? options->queue_depth : DEPTH_DEFAULT, WEIR_IO_DEPTH_MAX);
    open_direct(output, options);
    output->stage_bytes = options->stage_bytes ? options->stage_bytes : WEIR_OUTPUT_STAGE_BYTES;
    output->copy_bytes = output->stage_bytes / WEIR_OUTPUT_COPY_SHARE;
    weir_assert(weir_is_power_of_two(output->stage_bytes) && output->stage_bytes >= WEIR_OUTPUT_STAGE_LEAST &&
                output->stage_bytes <= WEIR_OUTPUT_STAGE_BYTES);
    size_t staging_bytes = WEIR_OUTPUT_STAGE_COUNT * output->stage_bytes;
    output->stage_memory = aligned_alloc(WEIR_OUTPUT_BLOCK_BYTES, staging_bytes);
    if (!output->stage_memory || weir_output_writes_init(&output->writes) < 0)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    memset(output->stage_memory, 0, staging_bytes); /* no page fault while data flows */

    unsigned registered = 0;
    int rc = choose_queue(output, options, &registered, err);
    if (rc < 0)
        return rc;
    output->stage_buffer_index = registered > 0 ? (int)early_count(output) : -1;
    describe(output, registered > 0 ? early_count(output) : 0);
    return 0;
}

/* path: NULL for a stream. */
static int open_output(struct weir_output **out, const char *path, int stream_fd,
                       const struct weir_output_options *options, struct weir_error *err)
{
    struct weir_output *output = calloc(1, sizeof(*output));
    if (!output)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    output->writes.file_ops = options->io ? options->io->file : &weir_io_file_real;
    output->writes.ctx = options->io ? options->io->ctx : NULL;
    output->fill_padding = options->fill_padding;
    output->padding_least = options->padding_least ? options->padding_least : sizeof(uint64_t);
    weir_assert(output->padding_least % 8 == 0 && output->padding_least <= WEIR_OUTPUT_BLOCK_BYTES);
    output->buffers = options->buffers;
    output->buffer_count = options->buffer_count;
    output->late_count = options->late_count;
    output->direct_fd = output->reserve_fd = -1;

    int rc = path ? weir_output_file_open(&output->file, path, options->directory_fd, options->notices, err)
                  : weir_output_file_open_stream(&output->file, stream_fd, &output->stream_piece, err);
    if (rc == 0)
        rc = open_writes(output, options, err);
    if (rc == 0 && path)
        weir_output_note_file_system(output);
    if (rc < 0) {
        weir_output_close(output);
        return rc;
    }
    *out = output;
    return 0;
}

int weir_output_open(struct weir_output **out, const char *path, const struct weir_output_options *options,
                     struct weir_error *err)
{
    return open_output(out, path, -1, options, err);
}

int weir_output_open_stream(struct weir_output **out, int fd, const struct weir_output_options *options,
                            struct weir_error *err)
{
    return open_output(out, NULL, fd, options, err);
}

bool weir_output_is_stream(const struct weir_output *output)
{
    return output->file.stream;
}

struct weir_output_file *weir_output_file_of(struct weir_output *output)
{
    return &output->file;
}

/* ---- head ---- */

/* pwrite(2) of all bytes, through the page cache. 0 or -errno. */
static int write_whole(struct weir_output *output, const void *data, size_t bytes, uint64_t offset)
{
    struct weir_output_writes *writes = &output->writes;
    struct iovec rest = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes}; /* pwritev(2) only reads it */
    unsigned retries = 0;
    while (rest.iov_len > 0) {
        ssize_t written = writes->file_ops->pwritev(writes->ctx, output->file.fd, &rest, 1, (off_t)offset);
        if ((written == -EINTR || written == -EAGAIN) && ++retries <= RETRY_MAX)
            continue;
        if (written <= 0)
            return written < 0 ? (int)written : -EIO;
        rest.iov_base = (uint8_t *)rest.iov_base + written;
        rest.iov_len -= (size_t)written;
        offset += (uint64_t)written;
        retries = 0;
    }
    return 0;
}

/* Queues a copy of the head without waiting: the consumer may not have begun to read. */
static int queue_stream_head(struct weir_output *output, const void *head, size_t head_bytes)
{
    weir_assert(!output->begun && head_bytes > 0 && head_bytes <= WEIR_IO_WRITE_MAX_BYTES);
    output->stream_head = malloc(head_bytes);
    if (!output->stream_head)
        return -ENOMEM;
    memcpy(output->stream_head, head, head_bytes);
    weir_output_writes_add(&output->writes, &(struct weir_output_write){
                                                .data = output->stream_head,
                                                .bytes = head_bytes,
                                                .buffer_index = -1,
                                            });
    output->head_bytes = output->end = output->stable_end = head_bytes;
    output->begun = true;
    return 0;
}

int weir_output_write_head(struct weir_output *output, const void *head, size_t head_bytes)
{
    if (output->file.stream)
        return queue_stream_head(output, head, head_bytes);
    weir_assert(!output->begun && head_bytes % WEIR_OUTPUT_BLOCK_BYTES == 0);
    int rc = write_whole(output, head, head_bytes, 0);
    if (rc < 0)
        return rc;
    output->head_bytes = output->end = output->stable_end = output->writes.written_end = head_bytes;
    output->begun = true;
    return 0;
}

/* Copies through memory, between file systems that have no copy of their own. 0 or -errno; -ENODATA: `from` ended. */
static int copy_by_hand(struct weir_output *output, int from, uint64_t at, uint64_t end, uint64_t bytes)
{
    uint8_t *buffer = malloc(COPY_STEP_BYTES);
    int rc = buffer ? 0 : -ENOMEM;
    while (rc == 0 && bytes > 0) {
        ssize_t got = pread(from, buffer, weir_min_u64(bytes, COPY_STEP_BYTES), (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rc = got < 0 ? -errno : -ENODATA;
            continue;
        }
        rc = write_whole(output, buffer, (size_t)got, end);
        at += (uint64_t)got;
        end += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    free(buffer);
    return rc;
}

int weir_output_copy_in(struct weir_output *output, int fd, uint64_t offset, uint64_t bytes)
{
    weir_assert(output->begun && !output->file.stream && output->span_added == 0 && output->end == output->head_bytes);
    off_t from = (off_t)offset, to = (off_t)output->end;
    uint64_t left = bytes;
    int rc = 0;
    while (left > 0 && rc == 0) {
        ssize_t copied = output->writes.file_ops->copy_range(output->writes.ctx, fd, &from, output->file.fd, &to,
                                                             weir_min_u64(left, COPY_BYTES));
        if (copied == -EINTR)
            continue;
        if (copied <= 0) { /* kernels and file systems differ; a real failure comes again */
            rc = copy_by_hand(output, fd, (uint64_t)from, (uint64_t)to, left);
            break;
        }
        left -= (uint64_t)copied;
    }
    if (rc < 0)
        return rc;
    output->end += bytes;
    output->stable_end = output->writes.written_end = output->end;
    return 0;
}

int weir_output_patch_head(struct weir_output *output, uint64_t offset, const void *data, size_t bytes)
{
    weir_assert(!output->file.stream && offset <= output->head_bytes && bytes <= output->head_bytes - offset);
    return write_whole(output, data, bytes, offset);
}

/* ---- state ---- */

void weir_output_abandon(struct weir_output *output, int error)
{
    weir_assert(output->file.stream);
    if (!output->writes.queue)
        return;
    output->writes.queue_ops->fail(output->writes.queue, error);
    weir_output_writes_collect(&output->writes, 0); /* how much of the oldest write is out */
    weir_output_writes_abandon(&output->writes, error);
}

bool weir_output_lacks_space(int result)
{
    return result == -ENOSPC || result == -EDQUOT;
}

bool weir_output_cannot_grow(int result)
{
    return weir_output_lacks_space(result) || result == -EFBIG;
}

bool weir_output_is_full(const struct weir_output *output)
{
    return output->writes.full || output->writes.held_back;
}

void weir_output_try_again(struct weir_output *output)
{
    output->writes.held_back = false;
}

void weir_output_wait_for_space(struct weir_output *output, bool waits)
{
    output->writes.waits_for_space = waits;
    if (!waits)
        output->writes.full = output->writes.held_back = false;
}

int weir_output_flush(struct weir_output *output)
{
    return weir_output_writes_flush(&output->writes);
}

uint64_t weir_output_stable_bytes(const struct weir_output *output)
{
    return output->stable_end - output->head_bytes;
}

int weir_output_error(const struct weir_output *output)
{
    return output->writes.error;
}

void weir_output_get_stats(const struct weir_output *output, struct weir_output_stats *stats)
{
    weir_output_writes_get_stats(&output->writes, stats);
    stats->appended_bytes = output->stats.appended_bytes;
    stats->padding_bytes = output->stats.padding_bytes;
    stats->copied_bytes = output->stats.copied_bytes;
}

bool weir_output_is_unread(const struct weir_output *output)
{
    const struct weir_output_writes *writes = &output->writes;
    return writes->direct || (!output->file.stream && writes->file_ops->is_sink(writes->ctx, output->file.fd));
}

const char *weir_output_describe(const struct weir_output *output)
{
    return output->writes.direct ? output->direct_text : output->buffered_text;
}

/* ---- end ---- */

/* Writes the tail, in the end with the room that was set aside. A file system with a journal frees cut blocks when the
 * journal commits, and may find no room before: hence the fsync(2). */
static int write_tail(struct weir_output *output, const void *tail, size_t bytes)
{
    const struct weir_output_writes *writes = &output->writes;
    bool was_cut = writes->error < 0;
    int rc = write_whole(output, tail, bytes, output->stable_end);
    if (weir_output_lacks_space(rc) && weir_output_give_back(output)) {
        was_cut = true;
        rc = write_whole(output, tail, bytes, output->stable_end);
    }
    if (was_cut && weir_output_lacks_space(rc) && writes->file_ops->fsync(writes->ctx, output->file.fd) == 0)
        rc = write_whole(output, tail, bytes, output->stable_end);
    return rc;
}

int weir_output_finish(struct weir_output *output, const void *tail, size_t tail_bytes)
{
    struct weir_output_writes *writes = &output->writes;
    weir_output_wait_for_space(output, false);
    weir_output_push_tail(output);
    while (!weir_output_writes_idle(writes))
        weir_output_writes_collect(writes, FINISH_WAIT_MS);
    weir_output_pass_written_spans(output);
    output->finished = true;
    if (output->file.stream) {
        weir_assert(tail_bytes == 0);
        return 0;
    }

    /* After a failure the data is cut first: the tail may need the room. */
    uint64_t end = output->stable_end;
    if (writes->error < 0)
        writes->file_ops->ftruncate(writes->ctx, output->file.fd, (off_t)end);
    int rc = write_tail(output, tail, tail_bytes);
    if (rc == 0) {
        end += tail_bytes;
        weir_output_give_back(output);
    }
    int cut = writes->file_ops->ftruncate(writes->ctx, output->file.fd, (off_t)end);
    return rc < 0 ? rc : cut;
}

int weir_output_begin_sync(struct weir_output *output)
{
    weir_assert(!output->file.stream);
    return weir_output_writes_sync(&output->writes, output->file.fd);
}

int weir_output_sync_result(const struct weir_output *output)
{
    return output->writes.syncing ? -EINPROGRESS : output->writes.sync_result;
}

int weir_output_sync(struct weir_output *output)
{
    if (output->file.stream)
        return 0;
    int rc = output->writes.file_ops->fsync(output->writes.ctx, output->file.fd);
    return rc == 0 && output->writes.sync_result != -EAGAIN ? output->writes.sync_result : rc;
}

void weir_output_close(struct weir_output *output)
{
    if (!output)
        return;
    struct weir_output_writes *writes = &output->writes;
    weir_output_writes_fini(writes);
    weir_output_give_back(output);
    weir_output_file_drop_hidden(&output->file);
    /* Both descriptors at once: the first close drops the lock. */
    if (output->direct_fd >= 0)
        writes->file_ops->close(writes->ctx, output->direct_fd);
    if (output->file.fd >= 0)
        writes->file_ops->close(writes->ctx, output->file.fd);
    output->file.fd = -1;
    weir_output_file_fini(&output->file);
    free(output->stage_memory);
    free(output->stream_head);
    free(output);
}

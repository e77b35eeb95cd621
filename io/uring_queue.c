/*
 * The write queue on io_uring(7). One thread at a time; nothing allocates after open.
 *
 * Life of a write: submit() fills a submission entry (no system call), flush() or reap() makes the kernel consume the
 * entry (io_uring_enter(2)), reap() returns the completion. At most `depth` writes are between submit() and reap(),
 * and the completion ring has twice as many entries, so that it cannot overflow.
 *
 * Ring flags: COOP_TASKRUN spares the interrupt that would tell a running thread of each completion; TASKRUN_FLAG lets
 * a peek see that completions are due. SINGLE_ISSUER with DEFER_TASKRUN was measured, too. It made no difference at the
 * 1000 to 10000 writes per second that chunks make. It would also tie the output to the thread that first uses it.
 *
 * The kernel must have IORING_FEAT_EXT_ARG (5.11): before that a timed wait costs a submission entry of its own. An
 * older kernel is treated like one without io_uring.
 *
 * Source: io_uring_setup(2), io_uring_enter(2), io_uring_register(2) of liburing 2.3; io_uring/rw.c of Linux 6.12.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "io/io_ops.h"

#define NEEDED_FEATURES   (IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP)
#define WORKER_MAX        4u  /* kernel worker threads for writes that would block; they count as threads of ours */
#define ENTER_RETRY_MAX   16u /* then a refused entry stays queued for the next call */
#define ENTER_RETRY_NS    (1 * WEIR_NS_PER_MS)
#define COMPLETIONS_BATCH 32u

struct uring_queue {
    struct io_uring ring;
    unsigned depth;
    unsigned held; /* submitted and not reaped */
    int fds[WEIR_IO_FILE_COUNT];
    bool files_registered;
    unsigned registered_buffers;
    uint64_t enters;
};

/* Flags from most to least wanted; a kernel answers EINVAL to flags that it does not know. */
static const unsigned setup_flags[] = {
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL, /* 5.19 */
    IORING_SETUP_SUBMIT_ALL,                                                         /* 5.18 */
    0,
};

/* more_flags: IORING_SETUP_R_DISABLED or 0. Returns 0 or -errno. */
static int setup_ring(struct io_uring *ring, unsigned depth, unsigned more_flags)
{
    int rc = -EINVAL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(setup_flags) && rc == -EINVAL; i++) {
        struct io_uring_params params = {.flags = setup_flags[i] | more_flags};
        rc = io_uring_queue_init_params(depth, ring, &params);
    }
    if (rc < 0)
        return rc;

    if ((ring->features & NEEDED_FEATURES) != NEEDED_FEATURES) {
        io_uring_queue_exit(ring);
        return -ENOSYS;
    }
    return 0;
}

/* Registers files and buffers, and bounds workers. It only saves work per write: a refusal (RLIMIT_MEMLOCK, an old
 * kernel) is no failure. */
static void register_resources(struct uring_queue *queue, const struct weir_io_queue_config *config)
{
    unsigned workers[2] = {WORKER_MAX, 0}; /* bounded (regular files), unbounded: as it is */
    io_uring_register_iowq_max_workers(&queue->ring, workers);

    /* An entry of -1 is a hole in the table. */
    queue->files_registered = io_uring_register_files(&queue->ring, config->fds, WEIR_IO_FILE_COUNT) == 0;

    if (config->buffer_count && io_uring_register_buffers(&queue->ring, config->buffers, config->buffer_count) == 0)
        queue->registered_buffers = config->buffer_count;
}

/*
 * Limits the ring to writes and syncs, for good, and starts it. Without limits io_uring also opens files, connects and
 * more, and no seccomp filter sees a system call (engine/kernel/thread_filter.h). Nothing can be registered any more.
 * Linux 5.10. Returns 0 or -errno.
 */
static int restrict_and_enable(struct io_uring *ring)
{
    static const uint8_t operations[] = {IORING_OP_NOP, IORING_OP_WRITE, IORING_OP_WRITE_FIXED, IORING_OP_FSYNC};
    static const uint8_t registrations[] = {IORING_UNREGISTER_FILES, IORING_UNREGISTER_BUFFERS};
    struct io_uring_restriction allowed[WEIR_ARRAY_COUNT(operations) + WEIR_ARRAY_COUNT(registrations) + 1] = {
        {.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = IOSQE_FIXED_FILE},
    };
    unsigned count = 1;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(operations); i++, count++) {
        allowed[count].opcode = IORING_RESTRICTION_SQE_OP;
        allowed[count].sqe_op = operations[i];
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(registrations); i++, count++) {
        allowed[count].opcode = IORING_RESTRICTION_REGISTER_OP;
        allowed[count].register_op = registrations[i];
    }
    /* liburing 2.3 has functions for both and does not export them. */
    int rc = io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_RESTRICTIONS, allowed, count);
    return rc < 0 ? rc : io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

static int open_ring(struct uring_queue *queue, const struct weir_io_queue_config *config, unsigned more_flags)
{
    *queue = (struct uring_queue){.depth = config->depth};
    int rc = setup_ring(&queue->ring, config->depth, more_flags);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < WEIR_IO_FILE_COUNT; i++)
        queue->fds[i] = config->fds[i];
    register_resources(queue, config);
    return 0;
}

/* A ring that takes writes and syncs only; where registration is refused, one without limits. */
static int open_limited(struct uring_queue *queue, const struct weir_io_queue_config *config)
{
    int rc = open_ring(queue, config, IORING_SETUP_R_DISABLED);
    if (rc < 0 || restrict_and_enable(&queue->ring) == 0)
        return rc;
    io_uring_queue_exit(&queue->ring);
    return open_ring(queue, config, 0);
}

static int uring_open(void **out, const struct weir_io_queue_config *config, unsigned *registered)
{
    weir_assert(config->depth >= 1 && config->depth <= WEIR_IO_DEPTH_MAX);
    struct uring_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return -ENOMEM;

    int rc = open_limited(queue, config);
    if (rc < 0) {
        free(queue);
        return rc;
    }
    *registered = queue->registered_buffers;
    *out = queue;
    return 0;
}

/* Returns NULL when as many writes are in flight as allowed. */
static struct io_uring_sqe *take_entry(struct uring_queue *queue)
{
    return queue->held < queue->depth ? io_uring_get_sqe(&queue->ring) : NULL;
}

static int uring_submit(void *ctx, const struct weir_io_write *write)
{
    struct uring_queue *queue = ctx;
    struct io_uring_sqe *sqe = take_entry(queue);
    if (!sqe)
        return -EBUSY;

    int fd = queue->files_registered ? (int)write->file : queue->fds[write->file];
    unsigned bytes = (unsigned)write->bytes;
    if (write->buffer_index >= 0 && (unsigned)write->buffer_index < queue->registered_buffers)
        io_uring_prep_write_fixed(sqe, fd, write->data, bytes, write->offset, write->buffer_index);
    else
        io_uring_prep_write(sqe, fd, write->data, bytes, write->offset);
    if (queue->files_registered)
        io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data(sqe, write->tag);
    queue->held++;
    return 0;
}

static bool is_device(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

/* A worker thread of the kernel waits for the disk. */
static int uring_sync(void *ctx, int fd, void *tag)
{
    struct uring_queue *queue = ctx;
    struct io_uring_sqe *sqe = take_entry(queue);
    if (!sqe)
        return -EBUSY;
    if (is_device(fd)) /* which refuses */
        io_uring_prep_nop(sqe);
    else
        io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, tag);
    queue->held++;
    return 0;
}

static bool is_transient(int rc)
{
    return rc == -EINTR || rc == -EAGAIN || rc == -EBUSY;
}

static int uring_flush(void *ctx)
{
    struct uring_queue *queue = ctx;
    int rc = 0;
    for (unsigned i = 0; i < ENTER_RETRY_MAX && io_uring_sq_ready(&queue->ring) > 0; i++) {
        if (rc == -EAGAIN || rc == -EBUSY) /* out of memory for requests, or completions are waiting */
            weir_clock_pause_ns(ENTER_RETRY_NS);
        queue->enters++;
        rc = io_uring_submit(&queue->ring);
        if (rc < 0 && !is_transient(rc))
            return rc;
    }
    return 0;
}

static unsigned take_completions(struct uring_queue *queue, struct weir_io_completion *done, unsigned max)
{
    unsigned taken = 0, count;
    do {
        struct io_uring_cqe *cqes[COMPLETIONS_BATCH];
        unsigned batch = (unsigned)weir_min_u64(max - taken, COMPLETIONS_BATCH);
        count = io_uring_peek_batch_cqe(&queue->ring, cqes, batch);
        for (unsigned i = 0; i < count; i++)
            done[taken++] = (struct weir_io_completion){.tag = io_uring_cqe_get_data(cqes[i]), .result = cqes[i]->res};
        io_uring_cq_advance(&queue->ring, count);
    } while (count == COMPLETIONS_BATCH);
    queue->held -= taken;
    return taken;
}

static int uring_reap(void *ctx, struct weir_io_completion *done, unsigned max, unsigned wait_ms)
{
    struct uring_queue *queue = ctx;
    unsigned count = take_completions(queue, done, max);
    if (count > 0 || wait_ms == 0 || queue->held == 0) {
        int rc = uring_flush(queue);
        return rc < 0 && count == 0 ? rc : (int)count;
    }

    struct __kernel_timespec timeout = {
        .tv_sec = wait_ms / 1000,
        .tv_nsec = (long long)(wait_ms % 1000) * (long long)WEIR_NS_PER_MS,
    };
    struct io_uring_cqe *first;
    queue->enters++;
    int rc = io_uring_submit_and_wait_timeout(&queue->ring, &first, 1, &timeout, NULL);
    if (rc == -EAGAIN || rc == -EBUSY)
        rc = uring_flush(queue);
    if (rc < 0 && rc != -ETIME && rc != -EINTR)
        return rc;
    return (int)take_completions(queue, done, max);
}

static uint64_t uring_enters(const void *ctx)
{
    return ((const struct uring_queue *)ctx)->enters;
}

static void uring_close(void *ctx)
{
    struct uring_queue *queue = ctx;
    /* An entry that the kernel never consumed needs no completion. */
    while (queue->held > io_uring_sq_ready(&queue->ring)) {
        struct io_uring_cqe *cqe;
        int rc = io_uring_wait_cqe(&queue->ring, &cqe);
        if (rc < 0 && !is_transient(rc))
            break;
        if (rc == 0) {
            io_uring_cqe_seen(&queue->ring, cqe);
            queue->held--;
        }
    }
    /* The kernel takes a ring down in the background; unregistered files and buffers are free at once. */
    if (queue->files_registered)
        io_uring_unregister_files(&queue->ring);
    if (queue->registered_buffers > 0)
        io_uring_unregister_buffers(&queue->ring);
    io_uring_queue_exit(&queue->ring);
    free(queue);
}

const struct weir_io_queue_ops weir_io_queue_uring = {
    .name = "io_uring",
    .open = uring_open,
    .submit = uring_submit,
    .sync = uring_sync,
    .flush = uring_flush,
    .reap = uring_reap,
    .enters = uring_enters,
    .close = uring_close,
};

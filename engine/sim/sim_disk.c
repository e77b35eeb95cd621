/* A write queue that can stall. All functions but weir_sim_disk_stall() run on the thread that owns the output. */
#include "engine/sim/sim_disk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

struct stalling_queue {
    struct weir_sim_disk *disk;            /* borrowed */
    const struct weir_io_queue_ops *queue; /* of the real queue */
    void *ctx;                             /* the real queue; owned */
};

void weir_sim_disk_init(struct weir_sim_disk *disk, const struct weir_clock *clock)
{
    disk->clock = clock;
    atomic_init(&disk->from_ns, 0);
    atomic_init(&disk->until_ns, 0);
}

void weir_sim_disk_stall(struct weir_sim_disk *disk, uint64_t from_ns, uint64_t until_ns)
{
    /* Relaxed: the two times publish no other data. */
    atomic_store_explicit(&disk->from_ns, from_ns, memory_order_relaxed);
    atomic_store_explicit(&disk->until_ns, until_ns, memory_order_relaxed);
}

/* Returns the rest of the stall; 0 outside of it. */
static uint64_t stall_left_ns(const struct stalling_queue *stalling)
{
    const struct weir_sim_disk *disk = stalling->disk;
    uint64_t now_ns = weir_clock_now_ns(disk->clock);
    uint64_t until_ns = atomic_load_explicit(&disk->until_ns, memory_order_relaxed);
    bool began = now_ns >= atomic_load_explicit(&disk->from_ns, memory_order_relaxed);
    return began && now_ns < until_ns ? until_ns - now_ns : 0;
}

static int open_queue(void **queue, const struct weir_io_queue_config *config, unsigned *registered)
{
    struct stalling_queue *stalling = calloc(1, sizeof(*stalling));
    if (!stalling)
        return -ENOMEM;
    stalling->disk = config->ctx;
    stalling->queue = &weir_io_queue_uring;
    int result = stalling->queue->open(&stalling->ctx, config, registered);
    if (result < 0) {
        stalling->queue = &weir_io_queue_pwritev;
        result = stalling->queue->open(&stalling->ctx, config, registered);
    }
    if (result < 0)
        free(stalling);
    else
        *queue = stalling;
    return result;
}

/* The real queues start writes in flush() and reap() only. A recording with a stall syncs nothing. */
static int submit(void *queue, const struct weir_io_write *write)
{
    const struct stalling_queue *stalling = queue;
    return stalling->queue->submit(stalling->ctx, write);
}

static int sync_file(void *queue, int fd, void *tag)
{
    const struct stalling_queue *stalling = queue;
    return stalling->queue->sync(stalling->ctx, fd, tag);
}

static int flush(void *queue)
{
    const struct stalling_queue *stalling = queue;
    return stall_left_ns(stalling) > 0 ? 0 : stalling->queue->flush(stalling->ctx);
}

static int reap(void *queue, struct weir_io_completion *done, unsigned max, unsigned wait_ms)
{
    const struct stalling_queue *stalling = queue;
    uint64_t left_ns = stall_left_ns(stalling);
    if (left_ns == 0)
        return stalling->queue->reap(stalling->ctx, done, max, wait_ms);
    if (wait_ms > 0)
        weir_clock_pause_ns(weir_min_u64(left_ns, wait_ms * WEIR_NS_PER_MS));
    return 0;
}

static uint64_t enters(const void *queue)
{
    const struct stalling_queue *stalling = queue;
    return stalling->queue->enters(stalling->ctx);
}

static void close_queue(void *queue)
{
    struct stalling_queue *stalling = queue;
    stalling->queue->close(stalling->ctx);
    free(stalling);
}

static const struct weir_io_queue_ops stalling_ops = {
    .name = "stalling",
    .open = open_queue,
    .submit = submit,
    .sync = sync_file,
    .flush = flush,
    .reap = reap,
    .enters = enters,
    .close = close_queue,
};

struct weir_io_ops weir_sim_disk_ops(struct weir_sim_disk *disk)
{
    return (struct weir_io_ops){.file = &weir_io_file_real, .queue = &stalling_ops, .ctx = disk};
}

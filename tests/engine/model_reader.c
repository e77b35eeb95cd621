/*
 * A reader, its ring and the rounds of the coordinator (engine/drain/reader.h, rounds.h, engine/kernel/ring.h) on the
 * machine of weak_memory.h:
 *
 *     barrier   A kernel that publishes a record, a reader that takes a step, and the coordinator, which notes what is
 *               published, opens an epoch and looks whether the reader is past it. Where it finds that, all of that
 *               stands before the marker. (holding-clear) and the release of (epoch-passed) are not shown: that
 *               machine makes no store early.
 *     wake      A reader that sleeps in poll(2), and the coordinator, which wakes it and then ends the recording. The
 *               reader comes to its end.
 */
#include "tests/engine/weak_memory.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "tests/engine/test_record.h"

static int wake_write(int fd);
static int wake_read(int fd);

#define __atomic_load_n(object, order)         weak_load(object, sizeof(*(object)), order)
#define __atomic_store_n(object, value, order) weak_store(object, sizeof(*(object)), value, order)
#define eventfd_write(fd, value)               wake_write(fd)
#define eventfd_read(fd, value)                ((void)(value), wake_read(fd))
#include "engine/drain/chunk_queue.c"
#include "engine/drain/chunk_sink.c"
#include "engine/drain/drainer.c"
#include "engine/drain/reader.c"
#include "engine/drain/reader_ring.c"
#include "engine/drain/rounds.c"
#include "engine/kernel/ring.c"

#define SAMPLE_ID    21u
#define SAMPLE_BYTES 64u
#define CHUNKS       4u
#define CHUNK_BYTES  4096u

static struct perf_event_mmap_page page;
static uint8_t data[4096];
static struct weir_pool pool;
static struct weir_pool_node node;
static struct weir_chunk chunks[CHUNKS];
static uint8_t chunk_data[CHUNKS][CHUNK_BYTES];
static struct weir_chunk_queue queue;
static struct weir_id_map ids = WEIR_ID_MAP_INIT;
static struct weir_reader_control control;
static struct weir_reader_ring ring;
static struct weir_reader reader;
static struct weir_reader *readers[] = {&reader};
static struct weir_rounds rounds;
static struct pollfd polls[2];
static uint64_t samples[1];
static _Atomic uint64_t published;
static _Atomic uint32_t wakes[2]; /* the words of the two eventfds, which are 0 and 1 */

/* ---- descriptors ---- */

/* What a system call orders by itself is not relied on: acquire and release, as the lock of an eventfd. */
static int wake_write(int fd)
{
    atomic_exchange_explicit(&wakes[fd], 1, memory_order_acq_rel);
    syscall(SYS_futex, &wakes[fd], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return 0;
}

static int wake_read(int fd)
{
    atomic_exchange_explicit(&wakes[fd], 0, memory_order_acq_rel);
    return 0;
}

/* Of the wake descriptor alone. */
static int sleep_on_wakes(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)ctx, (void)timeout_ms;
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = 0;
    while (atomic_fetch_add_explicit(&wakes[fds[0].fd], 0, memory_order_acq_rel) == 0)
        syscall(SYS_futex, &wakes[fds[0].fd], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    fds[0].revents = POLLIN;
    return 1;
}

static const struct weir_kernel_ops kernel_ops = {.poll = sleep_on_wakes};
static const struct weir_kernel kernel = {.ops = &kernel_ops};

/* ---- set-up ---- */

static void begin_pool(void)
{
    memset(&pool, 0, sizeof(pool));
    memset(&node, 0, sizeof(node));
    memset(chunks, 0, sizeof(chunks));
    for (uint32_t i = 0; i < CHUNKS; i++) {
        chunks[i].index = i;
        chunks[i].capacity = CHUNK_BYTES;
        chunks[i].data = chunk_data[i];
        atomic_init(&chunks[i].free_next, i);
    }
    pool.chunks = chunks;
    pool.chunk_count = CHUNKS;
    pool.nodes = &node;
    pool.node_count = 1;
    atomic_init(&pool.ready_count, CHUNKS);
    atomic_init(&node.top, CHUNKS);
    atomic_init(&node.free_count, CHUNKS);
}

static void begin(void)
{
    memset(&page, 0, sizeof(page));
    memset(&queue, 0, sizeof(queue));
    memset(&control, 0, sizeof(control));
    begin_pool();
    weir_chunk_queue_init(&queue);
    atomic_init(&control.stop_epoch, UINT64_MAX);
    atomic_init(&published, 0);
    atomic_init(&wakes[0], 0);
    atomic_init(&wakes[1], 0);
    samples[0] = 0;
    ring = (struct weir_reader_ring){
        .ring = {.page = &page, .data = data, .bytes = sizeof(data), .kernel = &kernel},
        .counts.samples = samples,
    };
    reader = (struct weir_reader){
        .setup =
            {
                .kernel = &kernel,
                .control = &control,
                .sink = {.pool = &pool, .queue = &queue},
                .layout = {.ids = &ids, .id_offset = TEST_SAMPLE_ID_OFFSET, .time_offset = -1, .sideband_event = 1},
                .ended_fd = -1,
            },
        .rings = {.at = &ring, .count = 1, .event_count = 1},
        .wake_fds = {0, 1},
        .polls = polls,
    };
    weir_chunk_sink_init(&reader.sink, &reader.setup.sink);
    reader.shedder = (struct weir_shedder){.setup = {.sink = &reader.sink, .rings = &reader.rings}};
    weir_mark_maker_init(&reader.marks, &reader.sink, &reader.rings);
    reader.drainer = (struct weir_drainer){
        .sink = &reader.sink,
        .shedder = &reader.shedder,
        .marks = &reader.marks,
        .layout = &reader.setup.layout,
    };
    weir_rounds_init(&rounds, &control, readers, 1, &queue, 0);
    rounds.bytes_at_marker = UINT64_MAX; /* each epoch gets a marker */
}

/* ---- barrier ---- */

static void produce(void)
{
    test_sample_put(data, SAMPLE_ID, 1, 1, SAMPLE_BYTES);
    __atomic_store_n(&page.data_head, SAMPLE_BYTES, __ATOMIC_RELEASE); /* (B) */
    atomic_store_explicit(&published, SAMPLE_BYTES, memory_order_release);
}

static void take_step(void)
{
    weir_reader_step(&reader);
}

static void open_and_mark(void)
{
    uint64_t wanted = atomic_load_explicit(&published, memory_order_acquire), bytes = 0;
    weir_rounds_advance(&rounds, WEIR_ROUND_PERIOD_NS);
    if (rounds.pushed == 0)
        weir_rounds_advance(&rounds, WEIR_ROUND_PERIOD_NS + WEIR_ROUND_GRACE_NS);
    if (rounds.pushed == 0)
        return;
    const struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&queue)) && chunk->kind == WEIR_CHUNK_DATA)
        bytes += chunk->used;
    if (chunk && bytes < wanted)
        weak_fail("a record that was published before the epoch stands behind its marker");
}

/* ---- wake ---- */

static void sleep_and_step(void)
{
    weir_reader_run(&reader);
}

static void wake_and_end(void)
{
    weir_reader_wake(&reader);
    weir_rounds_stop(&rounds, false);
}

int main(void)
{
    static const struct weak_program barrier = {
        .name = "barrier of rounds",
        .begin = begin,
        .threads = {produce, take_step, open_and_mark},
        .preemptions = 2,
    };
    static const struct weak_program wake = {
        .name = "wake of a reader",
        .begin = begin,
        .threads = {sleep_and_step, wake_and_end},
        .preemptions = 2,
    };
    if (weir_id_map_init(&ids, 1) < 0)
        return 1;
    weir_id_map_add(&ids, SAMPLE_ID, 0, 0);
    bool right = weak_explore(&barrier);
    right = weak_explore(&wake) && right;
    weir_id_map_fini(&ids);
    return right ? 0 : 1;
}

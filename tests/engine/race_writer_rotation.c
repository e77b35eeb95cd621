/*
 * Race program: several threads push chunks, the writer's thread writes them, and the coordinator's thread has it
 * change outputs all the while. Every sample must be in one output, whole, and the samples of one thread in order over
 * all outputs. Run by ctest, and under ThreadSanitizer.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/drain/writer.h"
#include "format/records.h"
#include "tests/engine/parking.h"
#include "tests/engine/test_record.h"
#include "tests/io/fake_io.h"

#define PRODUCERS   3u
#define CHUNKS_EACH 300u
#define ROTATIONS   20u
#define HEAD_BYTES  4096u
#define CHUNKS      48u

struct race {
    struct weir_pool pool;
    struct weir_chunk_queue queue;
    struct weir_id_map ids;
    struct weir_writer writer;
    int kick_fd;
    _Atomic unsigned producing;
    struct fake_io *disks[ROTATIONS + 1];
    uint64_t bytes[ROTATIONS + 1];
};

struct producer {
    struct race *race;
    unsigned number;
    pthread_t thread;
};

static struct weir_chunk *take_chunk(struct race *race)
{
    struct weir_chunk *chunk;
    while (!(chunk = weir_pool_take(&race->pool, 0, true)))
        usleep(100);
    return chunk;
}

/* One sample in each chunk, its time counting up; some are large enough not to be copied. */
static void *produce(void *argument)
{
    struct producer *producer = argument;
    for (uint64_t n = 1; n <= CHUNKS_EACH; n++) {
        struct weir_chunk *chunk = take_chunk(producer->race);
        uint16_t bytes = n % 64 == 0 ? 65528 : 64;
        chunk->used = (uint32_t)test_sample_put(chunk->data, 1 + producer->number, n, 1, bytes);
        weir_chunk_queue_push(&producer->race->queue, chunk);
        if (n % 16 == 0)
            usleep(50);
    }
    /* Relaxed: the join orders all else. */
    atomic_fetch_sub_explicit(&producer->race->producing, 1, memory_order_relaxed);
    return NULL;
}

static void *write_all(void *argument)
{
    weir_writer_run(argument);
    return NULL;
}

static struct weir_output *open_output(struct race *race, unsigned number)
{
    static const uint8_t head[HEAD_BYTES];
    struct weir_output *output = NULL;
    race->disks[number] = fake_io_new(&(struct fake_io_options){.seed = number, .reorders = true, .waits = true});
    struct weir_output_options options = {
        .buffers = race->pool.buffers,
        .buffer_count = race->pool.buffer_count,
        .fill_padding = weir_record_fill_padding,
        .padding_least = WEIR_RECORD_PADDING_LEAST,
        .io = fake_io_ops(race->disks[number]),
    };
    weir_assert(weir_output_open(&output, "/dev/null", &options, NULL) == 0);
    weir_assert(weir_output_write_head(output, head, sizeof(head)) == 0);
    return output;
}

static void close_output(struct race *race, struct weir_output *output, unsigned number)
{
    weir_assert(weir_output_error(output) == 0 && weir_output_pending(output) == 0);
    race->bytes[number] = weir_output_stable_bytes(output);
    weir_output_close(output);
}

static void await_told(struct race *race, const struct weir_writer_rotation *rotation)
{
    while (!weir_writer_rotation_is_done(rotation)) {
        struct pollfd kicked = {.fd = race->kick_fd, .events = POLLIN};
        poll(&kicked, 1, -1);
        eventfd_t ignored;
        eventfd_read(race->kick_fd, &ignored);
    }
}

/* Only the two edges order these reads: ThreadSanitizer also takes a read of a descriptor for an order. */
static void await_untold(const struct weir_writer_rotation *rotation)
{
    while (!weir_writer_rotation_has_begun(rotation))
        usleep(20);
    weir_assert(rotation->side_bytes[0] == 0); /* as the writer has stored it */
    while (!weir_writer_rotation_is_done(rotation))
        usleep(20);
}

static void rotate_outputs(struct race *race, struct weir_output *first)
{
    struct weir_output *current = first;
    for (unsigned n = 1; n <= ROTATIONS; n++) {
        struct weir_writer_rotation rotation;
        weir_writer_rotation_init(&rotation, open_output(race, n));
        uint64_t side_bytes = UINT64_MAX;
        rotation.side_bytes = &side_bytes;
        rotation.fd = n % 2 == 0 ? race->kick_fd : -1;
        weir_writer_rotation_push(&rotation, &race->queue);
        if (rotation.fd < 0)
            await_untold(&rotation);
        else
            await_told(race, &rotation);
        weir_assert(rotation.left == current);
        close_output(race, rotation.left, n - 1);
        current = rotation.next;
    }
    while (atomic_load_explicit(&race->producing, memory_order_relaxed) > 0)
        usleep(1000);
}

/* The samples of one output, counted on. */
static bool check_output(const struct race *race, unsigned number, uint64_t last[PRODUCERS])
{
    const uint8_t *data = fake_io_bytes(race->disks[number]) + HEAD_BYTES;
    for (uint64_t at = 0; at < race->bytes[number];) {
        if (test_record_type(data + at) == PERF_RECORD_SAMPLE) {
            uint64_t id, time_ns;
            memcpy(&id, data + at + TEST_SAMPLE_ID_OFFSET, sizeof(id));
            memcpy(&time_ns, data + at + TEST_SAMPLE_TIME_OFFSET, sizeof(time_ns));
            if (id < 1 || id > PRODUCERS || time_ns != last[id - 1] + 1 || !test_sample_is_whole(data + at)) {
                printf("output %u: a sample is lost, doubled or torn\n", number);
                return false;
            }
            last[id - 1] = time_ns;
        }
        at += test_record_bytes(data + at);
    }
    return true;
}

static bool check(const struct race *race)
{
    uint64_t last[PRODUCERS] = {0};
    for (unsigned n = 0; n <= ROTATIONS; n++) {
        if (!check_output(race, n, last))
            return false;
    }
    for (unsigned i = 0; i < PRODUCERS; i++) {
        if (last[i] != CHUNKS_EACH) {
            printf("producer %u: %llu of %u samples\n", i, (unsigned long long)last[i], CHUNKS_EACH);
            return false;
        }
    }
    return weir_pool_free_count(&race->pool) == race->pool.chunk_count;
}

static void init(struct race *race, struct weir_output **first)
{
    const struct weir_pool_share share = {.node = -1, .readers = 1};
    memset(race, 0, sizeof(*race));
    weir_assert(weir_pool_init(&race->pool, CHUNKS * WEIR_CHUNK_MIN_BYTES, WEIR_POOL_ALL_READY, WEIR_CHUNK_MAX_BYTES, 0,
                               &share, 1, NULL) == 0);
    weir_chunk_queue_init(&race->queue);
    weir_assert(weir_id_map_init(&race->ids, PRODUCERS) == 0);
    race->kick_fd = eventfd(0, EFD_CLOEXEC);
    atomic_init(&race->producing, PRODUCERS);
    *first = open_output(race, 0);
    struct weir_writer_setup setup = {
        .queue = &race->queue,
        .pool = &race->pool,
        .output = *first,
        .clock = &weir_clock_monotonic,
        .layout = {.ids = &race->ids, .id_offset = TEST_SAMPLE_ID_OFFSET, .time_offset = TEST_SAMPLE_TIME_OFFSET},
        .reader_count = 1,
        .failed_counters = PRODUCERS,
        .rounds.bytes = UINT64_MAX,
        .kick_fd = race->kick_fd,
    };
    weir_assert(weir_writer_init(&race->writer, &setup) == 0);
}

static void fini(struct race *race)
{
    for (unsigned n = 0; n <= ROTATIONS; n++)
        fake_io_free(race->disks[n]);
    weir_writer_fini(&race->writer);
    weir_pool_fini(&race->pool);
    weir_id_map_fini(&race->ids);
    close(race->kick_fd);
}

static int run(void *ctx)
{
    (void)ctx;
    static struct race race;
    struct producer producers[PRODUCERS];
    struct weir_output *first;
    pthread_t writer;
    init(&race, &first);
    weir_assert(pthread_create(&writer, NULL, write_all, &race.writer) == 0);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.race = &race, .number = i};
        weir_assert(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
    }
    rotate_outputs(&race, first);
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i].thread, NULL);
    weir_writer_stop(&race.writer);
    pthread_join(writer, NULL);
    close_output(&race, race.writer.output, ROTATIONS);
    bool good = check(&race);
    fini(&race);
    return good ? 0 : 1;
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_ROTATION_BEGIN, WEIR_AT_ROTATION_DONE};
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, NULL) ? 1 : 0;
}

/* The writer's thread between two steps: for how many chunks it parks, and what it does with held ones. What
 * its steps do: test_writer.c. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/drain/writer.h"
#include "format/records.h"
#include "tests/engine/test_record.h"
#include "tests/io/fake_io.h"

#define HEAD_BYTES 4096u
#define CHUNKS     64u /* one of them is the reserve */

struct fixture {
    struct fake_io *disk;
    struct weir_pool pool;
    struct weir_chunk_queue queue;
    struct weir_output *output;
    struct weir_writer writer;
    pthread_t thread;
};

static void *run(void *writer)
{
    weir_writer_run(writer);
    return NULL;
}

static void fixture_init(struct fixture *f, uint64_t ready_bytes)
{
    static const uint8_t head[HEAD_BYTES];
    const struct weir_pool_share share = {.node = -1, .readers = 1};
    memset(f, 0, sizeof(*f));
    cr_assert_eq(
        weir_pool_init(&f->pool, CHUNKS * WEIR_CHUNK_MIN_BYTES, ready_bytes, WEIR_CHUNK_MIN_BYTES, 0, &share, 1, NULL),
        0);
    cr_assert_eq(f->pool.reserve, 1);
    weir_chunk_queue_init(&f->queue);
    f->disk = fake_io_new(&(struct fake_io_options){0});
    struct weir_output_options options = {
        .buffers = f->pool.buffers,
        .buffer_count = f->pool.buffer_count,
        .fill_padding = weir_record_fill_padding,
        .padding_least = WEIR_RECORD_PADDING_LEAST,
        .io = fake_io_ops(f->disk),
    };
    cr_assert_eq(weir_output_open(&f->output, "/dev/null", &options, NULL), 0);
    cr_assert_eq(weir_output_write_head(f->output, head, sizeof(head)), 0);
    const struct weir_writer_setup setup = {
        .queue = &f->queue,
        .pool = &f->pool,
        .output = f->output,
        .clock = &weir_clock_monotonic,
        .reader_count = 1,
        .failed_counters = 1,
        .kick_fd = -1,
    };
    cr_assert_eq(weir_writer_init(&f->writer, &setup), 0);
}

static void stop(struct fixture *f)
{
    weir_writer_stop(&f->writer);
    pthread_join(f->thread, NULL);
    weir_output_close(f->output);
    fake_io_free(f->disk);
    weir_writer_fini(&f->writer);
    cr_assert_eq(weir_pool_free_count(&f->pool), f->pool.ready_count);
    weir_pool_fini(&f->pool);
}

static void push_sample(struct fixture *f)
{
    struct weir_chunk *chunk = weir_pool_take(&f->pool, 0, true);
    cr_assert_not_null(chunk);
    chunk->used = (uint32_t)test_sample_put(chunk->data, 1, 1, 1, WEIR_RECORD_MAX_BYTES);
    weir_chunk_queue_push(&f->queue, chunk);
}

/* Waits until the writer parks until so many were pushed in all. That it never does is the test's time limit. */
static void expect_wake_at(struct fixture *f, uint64_t pushed)
{
    const struct timespec pause = {.tv_nsec = (long)WEIR_NS_PER_MS};
    while (atomic_load(&f->queue.wake_at) != pushed)
        nanosleep(&pause, NULL);
}

/* The disk stalls, so that what was popped stays in use and the writer does not get idle. */
Test(writer_rest, writer_parks_for_half_of_what_readers_may_take_at_once, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f, 8 * WEIR_CHUNK_MIN_BYTES);
    fake_io_stall(f.disk, true);
    push_sample(&f);
    cr_assert_eq(pthread_create(&f.thread, NULL, run, &f.writer), 0);
    expect_wake_at(&f, 1 + 3); /* half of 7 - 1 */
    for (unsigned n = 0; n < 3; n++)
        push_sample(&f);
    expect_wake_at(&f, 4 + 1); /* half of 4 - 1 */
    fake_io_stall(f.disk, false);
    stop(&f);
}

Test(writer_rest, writer_parks_for_an_eighth_of_the_pool_at_most, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f, WEIR_POOL_ALL_READY);
    fake_io_stall(f.disk, true);
    push_sample(&f);
    cr_assert_eq(pthread_create(&f.thread, NULL, run, &f.writer), 0);
    expect_wake_at(&f, 1 + CHUNKS / 8);
    fake_io_stall(f.disk, false);
    stop(&f);
}

Test(writer_rest, idle_writer_parks_for_the_next_chunk, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f, WEIR_POOL_ALL_READY);
    cr_assert_eq(pthread_create(&f.thread, NULL, run, &f.writer), 0);
    expect_wake_at(&f, 1);
    stop(&f);
}

/* ---- chunks that the stage holds ---- */

static void *begin_nothing(const void *plan, uint32_t chunk_bytes)
{
    static uint8_t state;
    (void)plan, (void)chunk_bytes;
    return &state;
}

static void end_nothing(void *state)
{
    (void)state;
}

static void rewrite_nothing(void *state, struct weir_chunk *chunk, bool is_hurried)
{
    (void)state, (void)chunk, (void)is_hurried;
}

/* A stage without threads, and with as many slots as there are chunks. */
static void hold_chunks(struct fixture *f, struct weir_chunk_stage *stage)
{
    struct weir_error err = {0};
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {{.begin = begin_nothing, .end = end_nothing, .rewrite = rewrite_nothing}},
        .rewriter_count = 1,
        .holds = true,
        .workers = 8,
        .chunk_bytes = WEIR_CHUNK_MIN_BYTES,
    };
    cr_assert_eq(weir_chunk_stage_init(stage, &setup, &err), 0);
    cr_assert_gt(stage->slot_count, CHUNKS);
    stage->setup.workers = 0;
    f->writer.setup.stage = stage;
}

/* No round ends behind the last chunk. */
Test(writer_rest, held_chunks_are_written_at_the_end, .timeout = 30)
{
    struct fixture f;
    struct weir_chunk_stage stage;
    fixture_init(&f, WEIR_POOL_ALL_READY);
    hold_chunks(&f, &stage);
    push_sample(&f);
    cr_assert_eq(pthread_create(&f.thread, NULL, run, &f.writer), 0);
    expect_wake_at(&f, 1 + CHUNKS / 8); /* it sleeps: nothing is under way */
    cr_expect_eq(weir_pool_free_count(&f.pool), CHUNKS - 1);
    stop(&f);
    cr_expect_eq(stage.completed, 1);
    weir_chunk_stage_fini(&stage);
}

Test(writer_rest, held_chunks_are_written_when_half_of_the_pool_is_in_use, .timeout = 30)
{
    const struct timespec pause = {.tv_nsec = (long)WEIR_NS_PER_MS};
    struct fixture f;
    struct weir_chunk_stage stage;
    fixture_init(&f, WEIR_POOL_ALL_READY);
    hold_chunks(&f, &stage);
    for (unsigned n = 0; n <= CHUNKS / 2; n++)
        push_sample(&f);
    cr_assert_eq(pthread_create(&f.thread, NULL, run, &f.writer), 0);
    while (weir_pool_free_count(&f.pool) < CHUNKS) /* for ever, without: the test's time limit */
        nanosleep(&pause, NULL);
    stop(&f);
    cr_expect_eq(stage.completed, CHUNKS / 2 + 1);
    weir_chunk_stage_fini(&stage);
}

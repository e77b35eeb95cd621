/*
 * Building and taking apart the pipeline: what is left after a failure half way, which ring is whose, and emit() when
 * the pool is empty. What it does in between: test_pipeline_sim.c and race_pipeline.c.
 */
#include "engine/drain/pipeline.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/sim_rig.h"
#include "tests/engine/test_record.h"
#include "tests/io/fake_io.h"

#define CPUS 3u

static const struct sim_rig_options rig_options = {.cpus = CPUS, .ring_bytes = 4096};

/* Another pipeline with the set-up of the rig's. */
static int init_again(const struct sim_rig *rig, struct weir_pipeline *pipeline, struct weir_error *err)
{
    memset(pipeline, 0xff, sizeof(*pipeline)); /* init must not rely on what was there */
    return weir_pipeline_init(pipeline, &rig->pipeline.setup, err);
}

/* ---- failures ---- */

Test(pipeline, out_of_memory_at_any_allocation_leaves_nothing_behind)
{
    struct sim_rig rig;
    sim_rig_init(&rig, &rig_options);
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        struct weir_pipeline pipeline;
        struct weir_error err = {0};
        failing_alloc_after(failures);
        result = init_again(&rig, &pipeline, &err);
        cr_assert(result == 0 || (result == -ENOMEM && err.code == -ENOMEM), "after %u: %d", failures, result);
        weir_pipeline_fini(&pipeline); /* once more after a failure */
        cr_assert_eq(pipeline.kick_fd, -1);
        cr_assert_null(pipeline.readers);
    }
    /* Two for the shares; in the pool three tables, its mapping and its pages; three tables; for each reader itself,
     * two and one per ring; and the last time none. */
    cr_assert_eq(failures, 2 + 5 + 3 + (1 + 2 + 2) * CPUS + 1);
    sim_rig_fini(&rig);
}

Test(pipeline, no_descriptor_left_is_reported)
{
    struct sim_rig rig;
    struct weir_pipeline pipeline;
    struct weir_error err;
    struct rlimit before, none;
    sim_rig_init(&rig, &rig_options);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = init_again(&rig, &pipeline, &err);
    setrlimit(RLIMIT_NOFILE, &before); /* Criterion needs some itself */
    cr_assert_eq(result, -EMFILE);
    cr_assert_str_eq(err.what, "cannot make an eventfd: Too many open files");
    sim_rig_fini(&rig);
}

Test(pipeline, fini_takes_null)
{
    weir_pipeline_fini(NULL);
}

/* ---- what is built ---- */

Test(pipeline, every_cpu_has_a_data_and_a_sideband_ring_with_its_reader)
{
    struct sim_rig rig;
    sim_rig_init(&rig, &(struct sim_rig_options){.cpus = CPUS, .ring_bytes = 4096, .threads_spec = "0-1/0:2/1"});
    cr_assert_eq(rig.pipeline.reader_count, 2);
    cr_assert_eq(rig.pipeline.readers[0]->rings.count, 4);
    cr_assert_eq(rig.pipeline.readers[1]->rings.count, 2);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        const struct weir_reader_ring *data = weir_pipeline_ring(&rig.pipeline, cpu, false);
        const struct weir_reader_ring *side = weir_pipeline_ring(&rig.pipeline, cpu, true);
        cr_assert_eq(data->place, cpu);
        cr_assert_eq(side->place, cpu);
        cr_assert_eq(data->sideband, false);
        cr_assert_eq(side->sideband, true);
        cr_assert_eq(data, side + 1); /* sideband is read first */
        const struct weir_reader *reader = rig.pipeline.readers[cpu / 2];
        cr_assert(data >= reader->rings.at && data < reader->rings.at + reader->rings.count);
    }
    sim_rig_fini(&rig);
}

/* A pipeline for three tasks beside that of the rig, with the rig's plan. */
static void init_for_tasks(struct sim_rig *rig, struct weir_pipeline *pipeline)
{
    static const struct weir_event_place tasks[] = {{-1, 701}, {-1, 702}, {-1, 703}};
    struct weir_pipeline_setup setup = rig->pipeline.setup;
    struct weir_error err = {0};
    setup.places = tasks;
    setup.place_count = WEIR_ARRAY_COUNT(tasks);
    cr_assert_eq(weir_pipeline_init(pipeline, &setup, &err), 0, "%s", err.what);
}

Test(pipeline, rings_of_tasks_are_dealt_out_to_the_readers_in_turn)
{
    struct sim_rig rig;
    struct weir_pipeline pipeline;
    sim_rig_init(&rig, &(struct sim_rig_options){.cpus = CPUS, .ring_bytes = 4096, .threads_spec = "0-1/0:2/1"});
    init_for_tasks(&rig, &pipeline);
    cr_assert_eq(pipeline.reader_count, 2);
    cr_assert_eq(pipeline.readers[0]->rings.count, 4);
    cr_assert_eq(pipeline.readers[1]->rings.count, 2);
    for (unsigned place = 0; place < 3; place++) {
        const struct weir_reader *reader = pipeline.readers[place % 2];
        const struct weir_reader_ring *data = weir_pipeline_ring(&pipeline, place, false);
        cr_assert_eq(data->place, place);
        cr_assert(data >= reader->rings.at && data < reader->rings.at + reader->rings.count);
    }
    weir_pipeline_fini(&pipeline);
    sim_rig_fini(&rig);
}

Test(pipeline, rings_that_no_event_is_open_for_are_taken_out)
{
    struct sim_rig rig;
    struct weir_pipeline pipeline;
    sim_rig_init(&rig, &(struct sim_rig_options){.cpus = CPUS, .ring_bytes = 4096, .threads_spec = "0-1/0:2/1"});
    init_for_tasks(&rig, &pipeline);
    weir_pipeline_drop_ring(&pipeline, 1, false); /* both of the second reader */
    weir_pipeline_drop_ring(&pipeline, 1, true);
    weir_pipeline_drop_ring(&pipeline, 0, true);
    cr_assert_eq(pipeline.readers[0]->rings.count, 3);
    cr_assert_eq(pipeline.readers[1]->rings.count, 0);
    cr_assert_eq(weir_pipeline_ring(&pipeline, 0, false)->place, 0);
    cr_assert_eq(weir_pipeline_ring(&pipeline, 2, true)->place, 2);
    cr_assert_eq(weir_pipeline_ring(&pipeline, 2, false)->place, 2);
    weir_pipeline_fini(&pipeline);
    sim_rig_fini(&rig);
}

Test(pipeline, threads_have_no_ids_before_they_run)
{
    struct sim_rig rig;
    pid_t tids[CPUS + 1];
    sim_rig_init(&rig, &rig_options);
    cr_assert_eq(weir_pipeline_tids(&rig.pipeline, tids), 0);
    sim_rig_fini(&rig);
}

Test(pipeline, started_threads_are_named_and_stopped_before_their_output_is_closed, .timeout = 30)
{
    struct sim_rig rig;
    pid_t tids[CPUS + 1];
    struct weir_error err = {0};
    char name[16];
    static const uint8_t head[WEIR_OUTPUT_ALIGN_BYTES];
    struct weir_output *output = NULL;
    sim_rig_init(&rig, &rig_options);
    cr_assert_eq(weir_pipeline_open_output(&rig.pipeline, "/dev/null", NULL, NULL, &output, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    cr_assert_eq(weir_pipeline_start(&rig.pipeline, output, &err), 0, "%s", err.what);
    cr_assert_eq(weir_pipeline_tids(&rig.pipeline, tids), CPUS + 1);
    for (unsigned i = 0; i <= CPUS; i++) {
        cr_assert_gt(tids[i], 0);
        cr_assert_eq(pthread_getname_np(rig.pipeline.threads[i].thread, name, sizeof(name)), 0);
        cr_assert_eq(strncmp(name, i < CPUS ? "weir-reader-" : "weir-writer", 11), 0, "%s", name);
    }
    weir_pipeline_stop(&rig.pipeline); /* in the middle of it all */
    weir_output_close(output);
    weir_pipeline_fini(&rig.pipeline);
    cr_assert_null(rig.pipeline.threads);
    sim_rig_fini(&rig);
}

/* Of readers that are ready to run. */
struct prepared {
    bool past_caches, marks;
    uint64_t round_patient_bytes;
};

static struct prepared prepare(const struct sim_rig_options *options, const struct fake_io_options *disk)
{
    struct sim_rig rig;
    struct weir_error err = {0};
    static const uint8_t head[WEIR_OUTPUT_ALIGN_BYTES];
    struct weir_output *output = NULL;
    struct fake_io *fake = fake_io_new(disk);
    sim_rig_init(&rig, options);
    cr_assert_eq(weir_pipeline_open_output(&rig.pipeline, "/dev/null", NULL, fake_io_ops(fake), &output, &err), 0);
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    cr_assert_eq(weir_pipeline_prepare(&rig.pipeline, output, &err), 0, "%s", err.what);
    struct prepared prepared = {
        .past_caches = rig.pipeline.readers[0]->sink.past_caches,
        .marks = rig.pipeline.readers[0]->marks.bytes > 0,
        .round_patient_bytes = rig.pipeline.writer.setup.rounds.patient_bytes,
    };
    for (unsigned i = 0; i < rig.pipeline.reader_count; i++) {
        cr_assert_eq(rig.pipeline.readers[i]->sink.past_caches, prepared.past_caches);
        cr_assert_eq(rig.pipeline.readers[i]->marks.bytes > 0, prepared.marks);
    }
    cr_assert_eq(rig.pipeline.writer.marks.setup.readers, prepared.marks ? rig.pipeline.readers : NULL);
    weir_pipeline_stop(&rig.pipeline);
    weir_output_close(output);
    sim_rig_fini(&rig);
    fake_io_free(fake);
    return prepared;
}

static void expect_past_caches(const struct fake_io_options *disk, int compression_level, bool wanted)
{
    struct sim_rig_options options = rig_options;
    options.compression_level = compression_level;
    cr_assert_eq(prepare(&options, disk).past_caches, wanted);
}

Test(pipeline, chunks_pass_the_caches_only_where_nothing_but_the_device_reads_them)
{
    expect_past_caches(&(struct fake_io_options){0}, 0, true);
    expect_past_caches(&(struct fake_io_options){.no_direct = true}, 0, false);
    expect_past_caches(&(struct fake_io_options){0}, 1, false);
}

Test(pipeline, readers_mark_rounds_where_chunks_are_written_as_they_are_and_in_order)
{
    const struct fake_io_options disk = {0};
    struct sim_rig_options options = rig_options;
    cr_assert(prepare(&options, &disk).marks);
    cr_assert(prepare(&options, &(struct fake_io_options){.no_direct = true}).marks);
    options.compression_level = 1;
    cr_assert_not(prepare(&options, &disk).marks);
    options.compression_level = 0;
    options.overwrite = true;
    cr_assert_not(prepare(&options, &disk).marks);
    options.overwrite = false;
    options.retained_bytes = 1u << 20;
    cr_assert_not(prepare(&options, &disk).marks);
}

Test(pipeline, round_is_overdue_after_half_a_ring_of_each_reader_4_mib_at_most)
{
    const struct fake_io_options disk = {0};
    struct sim_rig_options options = rig_options;
    options.ring_bytes = 64 << 10;
    options.sideband_ring_bytes = 8 << 10;
    cr_assert_eq(prepare(&options, &disk).round_patient_bytes, CPUS * (32 << 10));
    options.threads_spec = "package"; /* which one reader has */
    cr_assert_eq(prepare(&options, &disk).round_patient_bytes, 32 << 10);
    options.threads_spec = NULL;
    options.ring_bytes = 8 << 20;
    cr_assert_eq(prepare(&options, &disk).round_patient_bytes, CPUS * (4 << 20));
    options.ring_bytes = 16 << 20;
    cr_assert_eq(prepare(&options, &disk).round_patient_bytes, CPUS * (4 << 20));
    options.compression_level = 1; /* what perf holds of that is a copy */
    cr_assert_eq(prepare(&options, &disk).round_patient_bytes, 0);
}

/* perf holds copies of what comes through a pipe, too. */
Test(pipeline, round_of_a_stream_is_overdue_as_soon_as_it_is_full)
{
    static const uint8_t head[16];
    struct sim_rig rig;
    struct weir_error err = {0};
    struct weir_output *output = NULL;
    struct sim_rig_options options = rig_options;
    options.stream = true;
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    sim_rig_init(&rig, &options);
    cr_assert_eq(weir_pipeline_open_stream(&rig.pipeline, fds[1], NULL, &output, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    cr_assert_eq(weir_pipeline_prepare(&rig.pipeline, output, &err), 0, "%s", err.what);
    cr_assert_eq(rig.pipeline.writer.setup.rounds.patient_bytes, 0);
    weir_pipeline_stop(&rig.pipeline);
    weir_output_close(output);
    sim_rig_fini(&rig);
    close(fds[0]);
    close(fds[1]);
}

Test(pipeline, kick_wants_an_epoch_and_haste_for_a_round_that_is_overdue)
{
    struct sim_rig rig;
    struct weir_error err = {0};
    sim_rig_init(&rig, &rig_options);
    cr_assert_eq(weir_pipeline_prepare(&rig.pipeline, NULL, &err), 0, "%s", err.what);
    weir_pipeline_take_kick(&rig.pipeline);
    cr_assert_not(rig.pipeline.rounds.wanted);
    eventfd_write(rig.pipeline.kick_fd, 1);
    weir_pipeline_take_kick(&rig.pipeline);
    cr_assert(rig.pipeline.rounds.wanted && !rig.pipeline.rounds.hasty);
    rig.pipeline.writer.round_due.overdue = true;
    weir_pipeline_take_kick(&rig.pipeline);
    cr_assert_not(rig.pipeline.rounds.hasty);
    eventfd_write(rig.pipeline.kick_fd, 1);
    weir_pipeline_take_kick(&rig.pipeline);
    cr_assert(rig.pipeline.rounds.hasty);
    sim_rig_fini(&rig);
}

/* ---- emit ---- */

static void *put_back_later(void *argument)
{
    struct weir_pool *pool = argument;
    const struct timespec pause = {.tv_nsec = (long)(20 * WEIR_NS_PER_MS)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    weir_pool_put(pool, &pool->chunks[0]);
    return NULL;
}

Test(pipeline, emit_waits_for_a_chunk_above_the_reserve, .timeout = 30)
{
    struct sim_rig rig;
    pthread_t thread;
    uint8_t record[TEST_SIDE_BYTES];
    sim_rig_init(&rig, &rig_options);
    struct weir_pool *pool = &rig.pipeline.pool;
    unsigned taken = 0;
    while (weir_pool_free_count(pool) > pool->reserve) {
        cr_assert_not_null(weir_pool_take(pool, 0, true));
        taken++;
    }
    cr_assert_eq(pool->chunks[0].state, WEIR_CHUNK_FILLING);
    cr_assert_eq(pthread_create(&thread, NULL, put_back_later, pool), 0);
    size_t bytes = test_side_put(record, PERF_RECORD_COMM, 0);
    cr_assert_eq(weir_pipeline_emit(&rig.pipeline, record, bytes), 0);
    pthread_join(thread, NULL);
    struct weir_chunk *chunk = weir_chunk_queue_pop(&rig.pipeline.queue);
    cr_assert_eq(chunk, &pool->chunks[0]);
    cr_assert_eq(chunk->used, bytes);
    cr_assert_eq(memcmp(chunk->data, record, bytes), 0);
    cr_assert_eq(weir_pool_free_count(pool), pool->chunk_count - taken);
    sim_rig_fini(&rig);
}

Test(pipeline, emit_tells_of_a_failed_output_but_the_records_are_accounted_like_others)
{
    struct sim_rig rig;
    uint8_t record[TEST_SIDE_BYTES];
    sim_rig_init(&rig, &rig_options);
    rig.pipeline.writer.error = -ENOSPC;
    size_t bytes = test_side_put(record, PERF_RECORD_COMM, 0);
    cr_assert_eq(weir_pipeline_emit(&rig.pipeline, record, bytes), -ENOSPC);
    cr_assert_eq(weir_chunk_queue_pop(&rig.pipeline.queue)->used, bytes);
    sim_rig_fini(&rig);
}

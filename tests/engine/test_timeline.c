/*
 * The timeline on the simulated kernel: what each record covers, when there is none, and that all records add up to the
 * ledger. The test plays the writer and takes the records out of the queue.
 */
#include "engine/files/timeline.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "engine/files/ledger.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/sim_rig.h"

#define CPUS         2u
#define RING_BYTES   4096u
#define SAMPLE_BYTES 72u
#define SIDEBAND     1u
#define ENTRY_BYTES  sizeof(struct weir_timeline_reader)
#define FIXED_BYTES  88u

struct fixture {
    struct sim_rig rig;
    struct fake_clock fake;
    struct weir_clock clock;
    struct weir_timeline timeline;
    struct weir_record_result result;
    struct weir_chunk *taken[8]; /* from the pool: nobody else can have them */
    unsigned taken_count;
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    sim_rig_init(&f->rig, &(struct sim_rig_options){.cpus = CPUS, .ring_bytes = RING_BYTES});
    cr_assert_eq(weir_pipeline_prepare(&f->rig.pipeline, NULL, NULL), 0);
    weir_event_set_enable(&f->rig.set, false);
    f->fake.now_ns = 100;
    f->clock = fake_clock_interface(&f->fake);
    f->timeline = (struct weir_timeline)WEIR_TIMELINE_INIT;
    const struct weir_timeline_setup setup = {.pipeline = &f->rig.pipeline, .clock = &f->clock};
    cr_assert_eq(weir_timeline_start(&f->timeline, &setup, NULL), 0);
}

static void fixture_fini(struct fixture *f)
{
    weir_timeline_fini(&f->timeline);
    weir_record_result_fini(&f->result);
    sim_rig_fini(&f->rig);
}

static void put(struct fixture *f, unsigned cpu, unsigned count)
{
    static const uint8_t raw[12];
    for (unsigned n = 0; n < count; n++)
        weir_sim_kernel_sample(f->rig.sim, sim_rig_fd(&f->rig, 0, cpu),
                               &(struct weir_sim_sample){.time_ns = 50 + n, .raw = raw, .raw_bytes = sizeof(raw)});
}

/* Every reader drains its rings and passes an epoch; the chunks of data go back to the pool. */
static void drain(struct fixture *f)
{
    struct weir_pipeline *pipeline = &f->rig.pipeline;
    atomic_fetch_add(&pipeline->control.epoch, 1);
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        weir_reader_step(pipeline->readers[i]);
    for (struct weir_chunk *chunk; (chunk = weir_chunk_queue_pop(&pipeline->queue));)
        weir_pool_put(&pipeline->pool, chunk);
}

/* Moves the clock on by 10 and lets the timeline look. */
static void tick(struct fixture *f)
{
    f->fake.now_ns += 10;
    weir_timeline_tick(&f->timeline);
}

/* Takes the record that was pushed last; false: there is none. Entries: two at most. */
static bool take(struct fixture *f, struct weir_timeline_interval *interval, struct weir_timeline_reader *readers,
                 size_t *count)
{
    struct weir_pipeline *pipeline = &f->rig.pipeline;
    struct weir_chunk *chunk = weir_chunk_queue_pop(&pipeline->queue);
    struct weir_timeline_view view;
    if (!chunk)
        return false;
    const struct perf_event_header *header = (const void *)chunk->data;
    cr_assert_eq(header->size, chunk->used);
    const struct weir_record_view record = {.data = chunk->data, .type = header->type, .bytes = header->size};
    cr_assert(weir_timeline_parse(&record, &view));
    *interval = view.interval;
    *count = view.reader_count;
    for (size_t i = 0; i < view.reader_count; i++)
        readers[i] = weir_timeline_reader_at(&view, i);
    weir_pool_put(&pipeline->pool, chunk);
    cr_assert_null(weir_chunk_queue_pop(&pipeline->queue));
    return true;
}

static void expect_nothing(struct fixture *f)
{
    cr_assert_null(weir_chunk_queue_pop(&f->rig.pipeline.queue));
}

/* Expects one record with one entry. */
static struct weir_timeline_reader expect_one(struct fixture *f, uint64_t begin_ns, uint64_t end_ns)
{
    struct weir_timeline_interval interval;
    struct weir_timeline_reader readers[CPUS];
    size_t count;
    cr_assert(take(f, &interval, readers, &count));
    cr_assert_eq(count, 1);
    cr_assert_eq(interval.begin_ns, begin_ns, "%u", (unsigned)interval.begin_ns);
    cr_assert_eq(interval.end_ns, end_ns, "%u", (unsigned)interval.end_ns);
    return readers[0];
}

static void take_all_chunks(struct fixture *f)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_pool_take(&f->rig.pipeline.pool, 0, true))) {
        cr_assert_lt(f->taken_count, 8);
        f->taken[f->taken_count++] = chunk;
    }
}

static void put_all_chunks(struct fixture *f)
{
    while (f->taken_count > 0)
        weir_pool_put(&f->rig.pipeline.pool, f->taken[--f->taken_count]);
}

/* ---- failures ---- */

Test(timeline, out_of_memory_at_any_allocation_leaves_nothing_behind)
{
    struct fixture f;
    fixture_init(&f);
    for (unsigned successes = 0; successes < 4; successes++) {
        struct weir_timeline timeline = WEIR_TIMELINE_INIT;
        struct weir_error err = {0};
        failing_alloc_after(successes);
        cr_assert_eq(weir_timeline_start(&timeline, &f.timeline.setup, &err), -ENOMEM);
        cr_assert_eq(err.code, -ENOMEM);
        weir_timeline_fini(&timeline);
    }
    fixture_fini(&f);
}

Test(timeline, that_was_not_started_ends_without_effect)
{
    struct weir_timeline timeline = WEIR_TIMELINE_INIT;
    weir_timeline_end(&timeline, &(struct weir_record_result){0});
    weir_timeline_fini(&timeline);
    weir_timeline_fini(NULL);
}

/* ---- intervals ---- */

Test(timeline, second_without_records_has_none_and_is_in_no_interval)
{
    struct fixture f;
    fixture_init(&f);
    drain(&f);
    tick(&f);
    tick(&f);
    expect_nothing(&f);
    put(&f, 1, 3);
    drain(&f);
    tick(&f);
    struct weir_timeline_reader found = expect_one(&f, 120, 130);
    cr_assert_eq(found.reader, 1);
    cr_assert_eq(found.first_cpu, 1);
    cr_assert_eq(found.cpu_count, 1);
    cr_assert_eq(found.samples, 3);
    cr_assert_eq(found.bytes, 3 * SAMPLE_BYTES);
    cr_assert_eq(found.fullest_per_mille, 3 * SAMPLE_BYTES * 1000 / RING_BYTES);
    tick(&f);
    expect_nothing(&f);
    fixture_fini(&f);
}

Test(timeline, each_record_has_what_came_since_the_last_one)
{
    struct fixture f;
    fixture_init(&f);
    for (unsigned n = 1; n <= 5; n++) {
        put(&f, 0, n);
        drain(&f);
        tick(&f);
        struct weir_timeline_reader found = expect_one(&f, 90 + 10 * n, 100 + 10 * n);
        cr_assert_eq(found.samples, n);
        cr_assert_eq(found.fullest_per_mille, n * SAMPLE_BYTES * 1000 / RING_BYTES);
    }
    fixture_fini(&f);
}

Test(timeline, interval_without_a_free_chunk_is_part_of_the_next_one)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 20);
    drain(&f);
    take_all_chunks(&f);
    tick(&f);
    expect_nothing(&f);
    put_all_chunks(&f);
    put(&f, 0, 2);
    drain(&f);
    tick(&f);
    struct weir_timeline_reader found = expect_one(&f, 100, 120);
    cr_assert_eq(found.samples, 22);
    cr_assert_eq(found.fullest_per_mille, 20 * SAMPLE_BYTES * 1000 / RING_BYTES);
    fixture_fini(&f);
}

Test(timeline, steps_without_a_chunk_are_waits)
{
    struct fixture f;
    fixture_init(&f);
    take_all_chunks(&f);
    put(&f, 1, 1);
    drain(&f);
    drain(&f);
    put_all_chunks(&f);
    tick(&f);
    struct weir_timeline_reader found = expect_one(&f, 100, 110);
    cr_assert_eq(found.reader, 1);
    cr_assert_eq(found.waits, 2);
    cr_assert_eq(found.samples, 0);
    fixture_fini(&f);
}

Test(timeline, nothing_is_pushed_while_the_output_waits_for_space)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 1);
    drain(&f);
    atomic_store(&f.rig.pipeline.writer.full, true);
    tick(&f);
    expect_nothing(&f);
    atomic_store(&f.rig.pipeline.writer.full, false);
    tick(&f);
    cr_assert_eq(expect_one(&f, 100, 120).samples, 1);
    fixture_fini(&f);
}

Test(timeline, output_figures_are_those_of_the_interval)
{
    struct fixture f;
    struct weir_timeline_interval interval;
    struct weir_timeline_reader readers[CPUS];
    size_t count;
    fixture_init(&f);
    struct weir_writer *writer = &f.rig.pipeline.writer;
    for (unsigned n = 1; n <= 2; n++) { /* the same in both intervals */
        atomic_fetch_add(&writer->told_bytes, 5000);
        atomic_fetch_add(&writer->told_failed, 7);
        atomic_fetch_add(&writer->told_latencies, 2);
        atomic_fetch_add(&writer->told_latency_ns, 8000);
        atomic_store(&writer->longest_latency_ns, 6000);
        tick(&f);
        cr_assert(take(&f, &interval, readers, &count), "failed writes alone are worth a record");
        cr_assert_eq(count, 0);
        cr_assert_eq(interval.output_bytes, 5000);
        cr_assert_eq(interval.lost_write_failed, 7);
        cr_assert_eq(interval.latency_mean_us, 4);
        cr_assert_eq(interval.latency_max_us, 6);
    }
    fixture_fini(&f);
}

/* ---- the budget ---- */

/* Ticks with one sample each until a tick has no record. Returns the number of records. */
static unsigned spend_all(struct fixture *f)
{
    const unsigned most = 2 * WEIR_TIMELINE_FREE_BYTES / (FIXED_BYTES + ENTRY_BYTES);
    struct weir_timeline_interval interval;
    struct weir_timeline_reader readers[CPUS];
    size_t count;
    for (unsigned records = 0; records < most; records++) {
        put(f, 0, 1);
        drain(f);
        tick(f);
        if (!take(f, &interval, readers, &count))
            return records;
    }
    return most;
}

Test(timeline, takes_its_free_bytes_and_then_a_share_of_the_data)
{
    struct fixture f;
    fixture_init(&f);
    const unsigned record_bytes = FIXED_BYTES + ENTRY_BYTES;
    cr_assert_eq(spend_all(&f), WEIR_TIMELINE_FREE_BYTES / record_bytes);
    atomic_store(&f.rig.pipeline.writer.told_bytes, 3 * record_bytes * WEIR_TIMELINE_SHARE);
    tick(&f);
    cr_assert_eq(expect_one(&f, f.fake.now_ns - 20, f.fake.now_ns).samples, 1);
    unsigned more = spend_all(&f);
    cr_assert(more == 2 || more == 3, "%u", more); /* the free bytes are no multiple of a record */

    weir_timeline_end_file(&f.timeline); /* belongs to the file that ends, whatever the budget says */
    cr_assert_eq(expect_one(&f, f.fake.now_ns - 10, f.fake.now_ns).samples, 1);
    put(&f, 0, 1);
    drain(&f);
    tick(&f);
    cr_assert_eq(expect_one(&f, f.fake.now_ns - 10, f.fake.now_ns).samples, 1);
    fixture_fini(&f);
}

/* ---- the end ---- */

/* Losses with a LOST record, and losses after the last one. */
Test(timeline, adds_up_to_the_ledger)
{
    struct fixture f;
    struct weir_buf lost = WEIR_BUF_INIT;
    fixture_init(&f);
    const unsigned fit = RING_BYTES / SAMPLE_BYTES;
    put(&f, 1, fit + 3);
    drain(&f);
    put(&f, 1, 1);
    drain(&f);
    tick(&f);
    struct weir_timeline_reader found = expect_one(&f, 100, 110);
    cr_assert_eq(found.samples, fit + 1);
    cr_assert_eq(found.lost_ring_full, 3);

    put(&f, 1, fit + 5);
    for (unsigned n = 0; n < RING_BYTES / 64 + 4; n++)
        weir_sim_kernel_comm(f.rig.sim, sim_rig_fd(&f.rig, SIDEBAND, 1), 1, "comm", 5);
    drain(&f);
    cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &f.result, NULL, &lost), 0);
    f.fake.now_ns += 10;
    weir_timeline_end(&f.timeline, &f.result);
    found = expect_one(&f, 110, 120);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(found.lost_ring_full, 5);
    cr_assert_eq(found.lost_side, 4);
    cr_assert_eq(f.result.lost_samples, 3 + 5);
    cr_assert_eq(f.result.lost_sideband, 4);
    cr_assert_eq(f.result.samples, fit + 1 + found.samples);
    weir_buf_fini(&lost);
    fixture_fini(&f);
}

/*
 * Rings that the kernel overwrites: of M known events the last ones are there, as many as fit, whatever the size of the
 * ring; no snapshot holds what one before it has held. One thread, simulated rings.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "engine/events/event_config.h"
#include "engine/events/event_parse.h"
#include "engine/files/ledger.h"
#include "tests/engine/sim_rig.h"

#define MIB          (1ull << 20)
#define PAGE         4096u
#define SAMPLE_BYTES 80u /* with 20 bytes of payload */
#define IP_OFFSET    16u
#define ROUNDS_MAX   1000u

struct fixture {
    struct sim_rig rig;
    struct weir_output *output;
    unsigned place; /* that the events are of */
    uint64_t next;  /* number of the next event, which is its address and its time */
};

/* late: as many CPUs more, which have no rings until they come, while the events of a task count there. */
static void fixture_init_late(struct fixture *f, uint64_t ring_bytes, unsigned late)
{
    static const uint8_t head[4096];
    struct weir_error err = {0};
    memset(f, 0, sizeof(*f));
    sim_rig_init(&f->rig, &(struct sim_rig_options){.cpus = 1,
                                                    .late = late,
                                                    .of_task = late > 0,
                                                    .ring_bytes = ring_bytes,
                                                    .buffer_bytes = MIB,
                                                    .overwrite = true});
    cr_assert_eq(weir_pipeline_open_output(&f->rig.pipeline, "/dev/null", NULL, NULL, &f->output, &err), 0, "%s",
                 err.what);
    weir_output_write_head(f->output, head, sizeof(head));
    cr_assert_eq(weir_pipeline_prepare(&f->rig.pipeline, f->output, &err), 0);
    weir_event_set_enable(&f->rig.set, false);
    f->next = 1;
}

static void fixture_init(struct fixture *f, uint64_t ring_bytes)
{
    fixture_init_late(f, ring_bytes, 0);
}

static void fixture_fini(struct fixture *f)
{
    weir_pipeline_stop(&f->rig.pipeline);
    weir_output_close(f->output);
    sim_rig_fini(&f->rig);
}

static bool produce_one(struct fixture *f, uint32_t raw_bytes)
{
    static const uint8_t payload[60000];
    struct weir_sim_sample sample = {.time_ns = f->next, .ip = f->next, .raw = payload, .raw_bytes = raw_bytes};
    f->next++;
    return weir_sim_kernel_sample(f->rig.sim, sim_rig_fd(&f->rig, 0, f->place), &sample);
}

static void produce(struct fixture *f, unsigned count)
{
    while (count-- > 0)
        produce_one(f, 20);
}

static struct weir_reader *reader(struct fixture *f)
{
    return f->rig.pipeline.readers[0];
}

static enum weir_reader_state pass_snapshot(struct fixture *f)
{
    struct weir_reader_control *control = &f->rig.pipeline.control;
    control->snapshot_epoch = control->epoch + 1;
    control->epoch++;
    return weir_reader_step(reader(f));
}

/* Asserts that the queue holds the samples from `newest` down to `oldest`, and gives its chunks back. Returns bytes. */
static uint64_t expect_handed_over(struct fixture *f, uint64_t newest, uint64_t oldest)
{
    uint64_t next = newest, bytes = 0;
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&f->rig.pipeline.queue))) {
        uint64_t first = next;
        for (uint32_t at = 0; at < chunk->used;) {
            struct perf_event_header header;
            uint64_t ip;
            memcpy(&header, chunk->data + at, sizeof(header));
            memcpy(&ip, chunk->data + at + IP_OFFSET, sizeof(ip));
            cr_assert_eq(header.type, PERF_RECORD_SAMPLE);
            cr_assert_eq(ip, next, "%lu instead of %lu", (unsigned long)ip, (unsigned long)next);
            next--;
            at += header.size;
        }
        bytes += chunk->used;
        cr_assert_eq(chunk->last_sample_ns, first);
        cr_assert_eq(chunk->first_sample_ns, next + 1);
        weir_pool_put(&f->rig.pipeline.pool, chunk);
    }
    cr_assert_eq(next, oldest - 1, "down to %lu instead of %lu", (unsigned long)next + 1, (unsigned long)oldest);
    return bytes;
}

Test(overwrite, nothing_is_read_between_snapshots)
{
    struct fixture f;
    fixture_init(&f, PAGE);
    produce(&f, 1000);
    cr_assert_eq(weir_reader_step(reader(&f)), WEIR_READER_DRAINED);
    f.rig.pipeline.control.epoch++;
    cr_assert_eq(weir_reader_step(reader(&f)), WEIR_READER_DRAINED);
    cr_assert(weir_reader_is_past(reader(&f), 1));
    cr_assert(weir_ring_is_drained(&weir_pipeline_ring(&f.rig.pipeline, 0, false)->ring));
    cr_assert_null(weir_chunk_queue_pop(&f.rig.pipeline.queue));
    fixture_fini(&f);
}

Test(overwrite, a_ring_that_is_not_full_is_there_whole)
{
    struct fixture f;
    fixture_init(&f, 16 * PAGE);
    produce(&f, 10);
    pass_snapshot(&f);
    expect_handed_over(&f, 10, 1);
    cr_assert_eq(weir_pipeline_ring(&f.rig.pipeline, 0, false)->overwritten_bytes, 0);
    fixture_fini(&f);
}

Test(overwrite, the_last_events_are_there_in_a_ring_of_one_page)
{
    struct fixture f;
    fixture_init(&f, PAGE);
    unsigned fit = PAGE / SAMPLE_BYTES; /* 51, and a part of one more */
    for (unsigned count = fit - 2; count < 4 * fit; count++) {
        uint64_t first = f.next;
        produce(&f, count);
        pass_snapshot(&f);
        unsigned kept = count < fit ? count : fit;
        uint64_t bytes = expect_handed_over(&f, first + count - 1, first + count - kept);
        cr_assert_eq(bytes, (uint64_t)kept * SAMPLE_BYTES);
    }
    fixture_fini(&f);
}

Test(overwrite, the_last_events_are_there_whatever_their_sizes)
{
    struct fixture f;
    fixture_init(&f, 32 * PAGE);
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        uint64_t bytes = 0, oldest;
        unsigned count = 1 + round % 97;
        uint32_t sizes[97];
        for (unsigned i = 0; i < count; i++) {
            sizes[i] = 4 + 8 * (round * 31 + i * 7919) % 40000;
            sizes[i] = sizes[i] / 8 * 8 + 4;
            produce_one(&f, sizes[i]);
        }
        oldest = f.next;
        while (f.next - oldest < count && bytes + sizes[count - (f.next - oldest) - 1] + 60 <= 32ull * PAGE) {
            bytes += sizes[count - (f.next - oldest) - 1] + 60;
            oldest--;
        }
        pass_snapshot(&f);
        cr_assert_eq(expect_handed_over(&f, f.next - 1, oldest), bytes, "round %u", round);
    }
    fixture_fini(&f);
}

Test(overwrite, a_snapshot_holds_nothing_of_the_one_before)
{
    struct fixture f;
    fixture_init(&f, 16 * PAGE);
    produce(&f, 10);
    pass_snapshot(&f);
    expect_handed_over(&f, 10, 1);
    pass_snapshot(&f);
    cr_assert_null(weir_chunk_queue_pop(&f.rig.pipeline.queue));
    produce(&f, 5);
    pass_snapshot(&f);
    expect_handed_over(&f, 15, 11);
    fixture_fini(&f);
}

Test(overwrite, reading_goes_on_where_it_waited_for_a_chunk)
{
    struct fixture f;
    fixture_init(&f, 128 * PAGE);
    struct weir_pool *pool = &f.rig.pipeline.pool;
    produce(&f, 6000);
    struct weir_chunk *taken[64];
    unsigned count = 0;
    while (weir_pool_free_count(pool) > 1)
        taken[count++] = weir_pool_take(pool, 0, true);
    cr_assert_eq(pass_snapshot(&f), WEIR_READER_STARVED);
    cr_assert(!weir_reader_has_passed(reader(&f), 1));
    while (count > 0)
        weir_pool_put(pool, taken[--count]);
    cr_assert_eq(weir_reader_step(reader(&f)), WEIR_READER_DRAINED);
    cr_assert(weir_reader_has_passed(reader(&f), 1));
    expect_handed_over(&f, 6000, 1);
    fixture_fini(&f);
}

Test(overwrite, what_comes_while_rings_are_paused_is_counted_as_lost)
{
    struct fixture f;
    fixture_init(&f, 16 * PAGE);
    produce(&f, 10);
    weir_event_set_pause(&f.rig.set, WEIR_PAUSE_SNAPSHOT, true);
    cr_assert(!produce_one(&f, 20));
    pass_snapshot(&f);
    expect_handed_over(&f, 10, 1);
    weir_event_set_pause(&f.rig.set, WEIR_PAUSE_SNAPSHOT, false);
    cr_assert(produce_one(&f, 20));
    uint64_t produced, lost;
    weir_sim_kernel_totals(f.rig.sim, sim_rig_fd(&f.rig, 0, 0), &produced, &lost);
    cr_assert_eq(produced, 12);
    cr_assert_eq(lost, 1);
    fixture_fini(&f);
}

Test(overwrite, the_ledger_tells_what_was_overwritten)
{
    struct fixture f;
    struct weir_record_result result = {0};
    struct weir_buf records = WEIR_BUF_INIT;
    fixture_init(&f, PAGE);
    produce(&f, 1000);
    pass_snapshot(&f);
    expect_handed_over(&f, 1000, 1000 - PAGE / SAMPLE_BYTES + 1);
    cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &result, NULL, &records), 0);
    weir_ledger_fill_totals(&f.rig.pipeline, &result);
    cr_expect_eq(result.samples, PAGE / SAMPLE_BYTES);
    cr_expect_eq(result.evicted_samples, 1000 - PAGE / SAMPLE_BYTES);
    cr_expect_eq(result.lost_samples, 0);
    cr_expect(result.overwritten);
    cr_expect_eq(result.overwritten_bytes, (1000 - PAGE / SAMPLE_BYTES) * SAMPLE_BYTES);
    weir_record_result_fini(&result);
    weir_buf_fini(&records);
    fixture_fini(&f);
}

Test(overwrite, what_came_before_the_ring_is_lost_where_it_would_still_be_there)
{
    const unsigned before = 5, fit = PAGE / SAMPLE_BYTES;
    const struct {
        unsigned count, kept, lost;
    } cases[] = {{10, 10, before}, {1000, fit, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct weir_record_result result = {0};
        struct weir_buf records = WEIR_BUF_INIT;
        fixture_init_late(&f, PAGE, 1);
        f.place = 1;
        produce(&f, before);
        sim_rig_bring_cpu(&f.rig, f.place);
        produce(&f, cases[i].count);
        pass_snapshot(&f);
        unsigned all = before + cases[i].count;
        expect_handed_over(&f, all, all - cases[i].kept + 1);
        cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &result, NULL, &records), 0);
        weir_ledger_fill_totals(&f.rig.pipeline, &result);
        cr_expect_eq(result.samples, cases[i].kept);
        cr_expect_eq(result.lost_samples, cases[i].lost);
        cr_expect_eq(result.lost_before_ring, cases[i].lost);
        cr_expect_eq(result.evicted_samples, all - cases[i].kept - cases[i].lost);
        cr_expect_eq(records.used > 0, cases[i].lost > 0, "a LOST_SAMPLES record tells of it");
        weir_record_result_fini(&result);
        weir_buf_fini(&records);
        fixture_fini(&f);
    }
}

Test(overwrite, some_events_only_are_refused)
{
    static const struct {
        const char *events;
        bool wanted;
        int result;
    } cases[] = {
        {"cpu-clock,faults", false, 0},
        {"cpu-clock,faults", true, 1},
        {"cpu-clock/overwrite/,faults/overwrite/", false, 1},
        {"cpu-clock/overwrite/,faults", false, -EINVAL},
        {"cpu-clock/no-overwrite/,faults", true, -EINVAL},
        {"{cpu-clock,faults}:S", true, -EINVAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir_event_list list = WEIR_EVENT_LIST_INIT;
        struct weir_error err = {0};
        cr_assert_eq(weir_event_list_parse(&list, cases[i].events, NULL, &err), 0, "%s: %s", cases[i].events, err.what);
        cr_assert_eq(weir_event_list_add_sideband(&list), 0);
        cr_expect_eq(weir_event_list_overwrites(&list, cases[i].wanted, &err), cases[i].result, "%s", cases[i].events);
        cr_expect_eq(err.hint[0] != '\0', cases[i].result < 0);
        weir_event_list_fini(&list);
    }
}

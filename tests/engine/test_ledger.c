/*
 * The ledger on the simulated kernel: what was produced is found again as written or lost, by cause; and the reports of
 * losses that go into the file. The whole of it with failing disks: test_pipeline_sim.c.
 */
#include "engine/files/ledger.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "tests/base/failing_alloc.h"
#include "tests/engine/sim_rig.h"

#define CPUS         2u
#define RING_BYTES   4096u
#define EVENTS       3u /* two, and sideband */
#define SIDEBAND     2u
#define SAMPLE_BYTES 72u /* without payload: seven words and the empty raw one, padded */
#define REPORT_BYTES 48u /* LOST_SAMPLES: header, number, trailer of four words */

struct fixture {
    struct sim_rig rig;
    struct weir_record_result result;
    struct weir_buf lost;
};

/* of_task: events of one task, which late CPUs, offline at the start, count before they have rings. */
static void fixture_init_late(struct fixture *f, unsigned cpus, unsigned late, bool of_task)
{
    memset(f, 0, sizeof(*f));
    sim_rig_init(&f->rig, &(struct sim_rig_options){
                              .cpus = cpus,
                              .late = late,
                              .of_task = of_task,
                              .events = "bpf-output,bpf-output",
                              .ring_bytes = RING_BYTES,
                          });
    cr_assert_eq(weir_pipeline_prepare(&f->rig.pipeline, NULL, NULL), 0);
    weir_event_set_enable(&f->rig.set, false);
    f->lost = (struct weir_buf)WEIR_BUF_INIT;
}

static void fixture_init(struct fixture *f)
{
    fixture_init_late(f, CPUS, 0, false);
}

static void fixture_fini(struct fixture *f)
{
    weir_record_result_fini(&f->result);
    weir_buf_fini(&f->lost);
    sim_rig_fini(&f->rig);
}

static void put(struct fixture *f, unsigned cpu, unsigned event, unsigned count)
{
    static const uint8_t raw[12];
    int fd = sim_rig_fd(&f->rig, event, cpu);
    for (unsigned n = 0; n < count; n++) {
        if (event == SIDEBAND)
            weir_sim_kernel_comm(f->rig.sim, fd, 1, "comm", 5);
        else
            weir_sim_kernel_sample(f->rig.sim, fd,
                                   &(struct weir_sim_sample){.time_ns = 5, .raw = raw, .raw_bytes = sizeof(raw)});
    }
}

static void drain(struct fixture *f)
{
    for (unsigned i = 0; i < f->rig.pipeline.reader_count; i++)
        cr_assert_eq(weir_reader_step(f->rig.pipeline.readers[i]), WEIR_READER_DRAINED);
}

static void collect(struct fixture *f)
{
    cr_assert_eq(weir_ledger_collect(&f->rig.set, &f->rig.pipeline, &f->result, NULL, &f->lost), 0);
}

static const struct weir_ledger_row *row(const struct fixture *f, unsigned cpu, unsigned event)
{
    const struct weir_ledger_row *found = &f->result.ledger[cpu * EVENTS + event];
    cr_assert_eq(found->cpu, f->rig.set.places[cpu].cpu);
    cr_assert_eq(found->event, event);
    return found;
}

static void expect_row(const struct fixture *f, unsigned cpu, unsigned event, uint64_t written, uint64_t ring_full,
                       uint64_t write_failed)
{
    const struct weir_ledger_row *found = row(f, cpu, event);
    cr_assert_eq(found->written, written, "cpu %u, event %u: %u", cpu, event, (unsigned)found->written);
    cr_assert_eq(found->lost_ring_full, ring_full, "cpu %u, event %u: %u", cpu, event, (unsigned)found->lost_ring_full);
    cr_assert_eq(found->lost_write_failed, write_failed, "cpu %u, event %u", cpu, event);
    cr_assert_eq(found->counted, written + ring_full + write_failed, "cpu %u, event %u", cpu, event);
}

/* ---- failures ---- */

Test(ledger, out_of_memory_can_be_released)
{
    for (unsigned successes = 0; successes < 2; successes++) { /* rows, names */
        struct fixture f;
        fixture_init(&f);
        failing_alloc_after(successes);
        cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &f.result, NULL, &f.lost), -ENOMEM);
        fixture_fini(&f);
    }
}

Test(ledger, release_is_idempotent)
{
    struct fixture f;
    fixture_init(&f);
    collect(&f);
    weir_record_result_fini(&f.result);
    cr_assert_null(f.result.ledger);
    cr_assert_eq(f.result.ledger_count, 0);
    weir_record_result_fini(&f.result);
    fixture_fini(&f);
}

/* ---- balance ---- */

Test(ledger, nothing_produced_is_a_ledger_of_zeros_without_reports)
{
    struct fixture f;
    fixture_init(&f);
    drain(&f);
    collect(&f);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.ledger_count, CPUS * EVENTS);
    cr_assert_eq(f.result.event_count, EVENTS);
    cr_assert_str_eq(f.result.event_names[0], "bpf-output");
    cr_assert_str_eq(f.result.event_names[SIDEBAND], "dummy:u");
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        for (unsigned event = 0; event < EVENTS; event++)
            expect_row(&f, cpu, event, 0, 0, 0);
    }
    cr_assert_eq(f.lost.used, 0);
    cr_assert_eq(f.result.samples, 0);
    cr_assert_eq(f.result.lost_samples, 0);
    fixture_fini(&f);
}

Test(ledger, what_was_drained_counts_as_written_by_cpu_and_event)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, 3);
    put(&f, 0, 1, 4);
    put(&f, 1, 0, 5);
    put(&f, 1, SIDEBAND, 6);
    drain(&f);
    collect(&f);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    expect_row(&f, 0, 0, 3, 0, 0);
    expect_row(&f, 0, 1, 4, 0, 0);
    expect_row(&f, 0, SIDEBAND, 0, 0, 0);
    expect_row(&f, 1, 0, 5, 0, 0);
    expect_row(&f, 1, 1, 0, 0, 0);
    expect_row(&f, 1, SIDEBAND, 6, 0, 0);
    cr_assert_eq(f.result.samples, 12);
    cr_assert_eq(f.lost.used, 0);
    fixture_fini(&f);
}

/* With LOST records in both rings: they are nobody's records. */
Test(ledger, full_rings_balance_by_event_and_are_reported_by_descriptor)
{
    struct fixture f;
    fixture_init(&f);
    const unsigned fit = RING_BYTES / SAMPLE_BYTES, comms_fit = RING_BYTES / 64;
    put(&f, 1, 0, fit);
    put(&f, 1, 0, 2);
    put(&f, 1, 1, 3);
    put(&f, 1, SIDEBAND, comms_fit + 4);
    drain(&f);
    put(&f, 1, 1, 1);
    put(&f, 1, SIDEBAND, 1);
    drain(&f);
    collect(&f);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    expect_row(&f, 1, 0, fit, 2, 0);
    expect_row(&f, 1, 1, 1, 3, 0);
    expect_row(&f, 1, SIDEBAND, comms_fit + 1, 4, 0);
    cr_assert_eq(f.result.samples, fit + 1);
    cr_assert_eq(f.result.lost_samples, 5);
    cr_assert_eq(f.result.lost_sideband, 4);

    cr_assert_eq(f.lost.used, 3 * REPORT_BYTES);
    const uint64_t lost[] = {2, 3, 4};
    for (unsigned event = 0; event < EVENTS; event++) {
        uint64_t words[REPORT_BYTES / 8];
        struct perf_event_header header;
        memcpy(words, f.lost.data + event * REPORT_BYTES, sizeof(words));
        memcpy(&header, words, sizeof(header));
        cr_assert_eq(header.type, PERF_RECORD_LOST_SAMPLES);
        cr_assert_eq(header.size, REPORT_BYTES);
        cr_assert_eq(words[1], lost[event]);
        cr_assert_eq((uint32_t)words[4], (uint32_t)f.rig.set.places[1].cpu);
        cr_assert_eq(words[5], f.rig.set.ids[event * CPUS + 1]);
    }
    fixture_fini(&f);
}

/* ---- counted without a sample ---- */

static const struct weir_kernel_ops *real_ops;
static uint64_t counted_besides; /* of event 0 on CPU 1 */
static int besides_fd;

static int read_with_more(void *ctx, int fd, uint64_t read_format, uint64_t id, struct weir_event_count *count)
{
    int result = real_ops->event_read(ctx, fd, read_format, id, count);
    count->value += fd == besides_fd ? counted_besides : 0;
    return result;
}

/* A ledger of 3 samples and so many that the kernel counted besides, after the events were disabled twice. */
static void collect_more(struct fixture *f, uint64_t besides)
{
    struct weir_kernel_ops ops = *f->rig.kernel.ops;
    struct weir_kernel kernel = {.ops = &ops, .ctx = f->rig.kernel.ctx};
    real_ops = f->rig.kernel.ops;
    ops.event_read = read_with_more;
    besides_fd = sim_rig_fd(&f->rig, 0, 1);
    counted_besides = besides;

    put(f, 1, 0, 3);
    weir_event_set_disable(&f->rig.set);
    weir_event_set_disable_samples(&f->rig.set); /* are: counts no more */
    weir_event_set_enable(&f->rig.set, false);
    weir_event_set_disable(&f->rig.set);
    drain(f);
    const struct weir_kernel *before = f->rig.set.kernel;
    f->rig.set.kernel = &kernel;
    collect(f);
    f->rig.set.kernel = before;
    weir_ledger_fill_totals(&f->rig.pipeline, &f->result);
}

static void collect_with_more(struct fixture *f, uint64_t besides)
{
    fixture_init(f);
    collect_more(f, besides);
}

/* Event 0, once it is open, becomes a tracepoint of the scheduler. */
static void become_tracepoint(struct fixture *f, const char *name)
{
    struct weir_event *event = &f->rig.list.events[0];
    event->attr.type = PERF_TYPE_TRACEPOINT;
    event->tracepoint_system = strdup("sched");
    event->tracepoint_name = strdup(name);
    cr_assert(event->tracepoint_system && event->tracepoint_name);
}

Test(ledger, what_is_counted_while_its_event_is_disabled_is_cut_off_and_not_lost)
{
    struct fixture f;
    collect_with_more(&f, 4); /* two contexts, twice */
    cr_assert_eq(row(&f, 1, 0)->cut_off, 4);
    cr_assert_eq(row(&f, 1, 0)->counted, 7);
    cr_assert_eq(row(&f, 0, 0)->cut_off, 0);
    cr_assert_eq(f.result.samples, 3);
    cr_assert_eq(f.result.lost_samples, 0);
    cr_assert_eq(f.lost.used, 0);
    fixture_fini(&f);
}

Test(ledger, more_than_a_disable_can_cut_off_is_a_ledger_that_does_not_balance)
{
    struct fixture f;
    collect_with_more(&f, 5);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 0);
    cr_assert_eq(row(&f, 1, 0)->counted, 8);
    fixture_fini(&f);
}

Test(ledger, moves_between_cgroups_cut_off_without_a_bound)
{
    struct fixture f;
    fixture_init(&f);
    f.rig.list.events[0].cgroup = strdup("group");
    collect_more(&f, 500);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 500);
    cr_assert_eq(f.result.sleeper_counts, 0);
    fixture_fini(&f);
}

Test(ledger, what_happens_to_tasks_that_sleep_is_cut_off_and_told)
{
    struct fixture f;
    fixture_init(&f);
    become_tracepoint(&f, "sched_waking");
    f.rig.targets.tids[0] = 1;
    collect_more(&f, 500);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 500);
    cr_assert_eq(f.result.sleeper_counts, 500);
    cr_assert_eq(f.result.lost_samples, 0);
    fixture_fini(&f);
}

Test(ledger, with_all_tasks_what_happens_to_sleepers_is_sampled_like_the_rest)
{
    struct fixture f;
    fixture_init(&f);
    become_tracepoint(&f, "sched_waking");
    collect_more(&f, 500);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 0);
    cr_assert_eq(f.result.sleeper_counts, 0);
    fixture_fini(&f);
}

Test(ledger, what_rings_that_other_cpus_wrote_into_have_lost_is_told)
{
    struct fixture f;
    fixture_init(&f);
    f.rig.list.events[0].attr.inherit = f.rig.list.events[0].attr.inherit_stat = 1;
    f.rig.targets.tids[0] = 1;
    collect_more(&f, 500);
    cr_assert_eq(row(&f, 1, 0)->lost_ring_full, 500);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 0);
    cr_assert_eq(f.result.lost_damaged, 500);
    cr_assert_eq(f.result.lost_samples, 500);
    cr_assert_eq(f.lost.used, REPORT_BYTES);
    fixture_fini(&f);

    fixture_init(&f);
    f.rig.list.events[0].attr.inherit = f.rig.list.events[0].attr.inherit_stat = 1;
    f.rig.targets.tids[0] = 1;
    collect_more(&f, 4);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 4, "no more than two disables account for");
    cr_assert_eq(f.result.lost_damaged, 0);
    fixture_fini(&f);
}

Test(ledger, nanoseconds_are_not_samples_that_were_overwritten)
{
    struct fixture f;
    fixture_init(&f);
    become_tracepoint(&f, "sched_stat_runtime");
    f.rig.list.events[0].attr.write_backward = 1;
    collect_more(&f, 500);
    cr_assert_eq(row(&f, 1, 0)->evicted, 0);
    cr_assert_eq(row(&f, 1, 0)->cut_off, 0);
    cr_assert_eq(row(&f, 1, 0)->counted, 503);
    fixture_fini(&f);
}

/* ---- CPUs that come online and count before they have rings ---- */

static unsigned mapped_rings(const struct fixture *f)
{
    unsigned count = 0;
    for (unsigned i = 0; i < f->rig.pipeline.reader_count; i++)
        count += weir_reader_rings_mapped(&f->rig.pipeline.readers[i]->rings);
    return count;
}

#define LATE 3u

Test(ledger, what_came_before_a_cpu_had_its_data_ring_is_lost_and_told)
{
    struct fixture f;
    fixture_init_late(&f, CPUS, LATE, true);
    cr_assert_eq(mapped_rings(&f), 2 * CPUS);
    unsigned came = CPUS + 1;
    put(&f, came, 1, 5);
    sim_rig_bring_cpu(&f.rig, came);
    cr_assert_eq(mapped_rings(&f), 2 * (CPUS + 1));
    put(&f, came, 1, 7);
    put(&f, came, 0, 2);
    drain(&f);
    collect(&f);
    expect_row(&f, came, 1, 7, 5, 0);
    expect_row(&f, came, 0, 2, 0, 0);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.ledger_count, (CPUS + 1) * EVENTS, "CPUs that never came have no rows");
    cr_assert_eq(f.result.samples, 9);
    cr_assert_eq(f.result.lost_samples, 5);
    cr_assert_eq(f.result.lost_before_ring, 5);

    cr_assert_eq(f.lost.used, REPORT_BYTES);
    uint64_t words[REPORT_BYTES / 8];
    memcpy(words, f.lost.data, sizeof(words));
    cr_assert_eq(words[1], 5);
    cr_assert_eq((uint32_t)words[4], came);
    cr_assert_eq(words[5], f.rig.set.ids[1 * (CPUS + LATE) + came]);
    fixture_fini(&f);
}

Test(ledger, of_nanoseconds_before_a_cpu_had_its_data_ring_none_is_lost)
{
    struct fixture f;
    fixture_init_late(&f, CPUS, 1, true);
    become_tracepoint(&f, "sched_stat_runtime");
    put(&f, CPUS, 0, 500);
    collect(&f);
    cr_assert_eq(f.result.lost_before_ring, 0);
    cr_assert_eq(f.lost.used, 0);
    fixture_fini(&f);
}

Test(ledger, ring_that_comes_while_output_is_paused_is_paused_too)
{
    struct fixture f;
    fixture_init_late(&f, CPUS, 1, true);
    weir_event_set_pause(&f.rig.set, WEIR_PAUSE_FULL_DISK, true);
    sim_rig_bring_cpu(&f.rig, CPUS);
    put(&f, CPUS, 0, 1);
    weir_event_set_pause(&f.rig.set, WEIR_PAUSE_FULL_DISK, false);
    put(&f, CPUS, 0, 2);
    drain(&f);
    collect(&f);
    expect_row(&f, CPUS, 0, 2, 1, 0);
    fixture_fini(&f);
}

Test(ledger, what_was_left_out_beyond_the_limit_is_not_lost)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, 7);
    drain(&f);
    collect(&f);
    f.rig.pipeline.writer.failed.samples[0] = 3;
    f.rig.pipeline.writer.limited = true;
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.ledger[0].left_out, 3);
    cr_assert_eq(f.result.ledger[0].lost_write_failed, 0);
    cr_assert_eq(f.result.samples, 4);
    cr_assert_eq(f.result.lost_samples, 0);
    cr_assert_eq(f.result.left_out_samples, 3);
    fixture_fini(&f);
}

Test(ledger, failed_writes_move_from_written_to_lost)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, 7);
    put(&f, 1, 1, 9);
    put(&f, 1, SIDEBAND, 5);
    drain(&f);
    collect(&f);
    uint64_t *failed = f.rig.pipeline.writer.failed.samples; /* as the writer's walk leaves them */
    failed[0 * EVENTS + 0] = 3;
    failed[1 * EVENTS + 1] = 9;
    failed[1 * EVENTS + SIDEBAND] = 2;
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    expect_row(&f, 0, 0, 4, 0, 3);
    expect_row(&f, 1, 1, 0, 0, 9);
    expect_row(&f, 1, SIDEBAND, 3, 0, 2);
    cr_assert_eq(f.result.samples, 4);
    cr_assert_eq(f.result.lost_samples, 12);
    fixture_fini(&f);
}

/* By the account of that output alone: the writer's own sums are those of all. */
Test(ledger, output_is_told_of_what_failed_writes_took_from_it)
{
    struct fixture f;
    uint64_t failed[CPUS * EVENTS] = {[0 * EVENTS + 1] = 3, [1 * EVENTS + 0] = 9, [1 * EVENTS + SIDEBAND] = 2};
    const struct weir_writer_account account = {.failed_samples = failed}, none = {0};
    uint64_t samples;
    fixture_init(&f);
    f.rig.pipeline.writer.failed.samples[0] = 100;
    cr_assert_eq(weir_ledger_tell_unwritten(&f.rig.set, &f.rig.pipeline, &none, &f.lost, &samples), 0);
    cr_assert_eq(f.lost.used + samples, 0);
    f.rig.pipeline.writer.limited = true; /* left out, not lost */
    cr_assert_eq(weir_ledger_tell_unwritten(&f.rig.set, &f.rig.pipeline, &account, &f.lost, &samples), 0);
    cr_assert_eq(f.lost.used + samples, 0);
    f.rig.pipeline.writer.limited = false;
    failing_alloc_after(0);
    cr_assert_eq(weir_ledger_tell_unwritten(&f.rig.set, &f.rig.pipeline, &account, &f.lost, &samples), -ENOMEM);
    failing_alloc_never();
    cr_assert_eq(f.lost.used, 0);
    weir_buf_reset(&f.lost);
    cr_assert_eq(weir_ledger_tell_unwritten(&f.rig.set, &f.rig.pipeline, &account, &f.lost, &samples), 0);
    cr_assert_eq(samples, 12);
    cr_assert_eq(f.lost.used, 2 * REPORT_BYTES);
    uint64_t lost;
    memcpy(&lost, f.lost.data + sizeof(struct perf_event_header), sizeof(lost));
    cr_assert_eq(lost, 3);
    memcpy(&lost, f.lost.data + REPORT_BYTES + sizeof(struct perf_event_header), sizeof(lost));
    cr_assert_eq(lost, 9);
    fixture_fini(&f);
}

Test(ledger, descriptor_of_a_task_that_was_gone_counts_nothing)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 1, 2);
    drain(&f);
    int fd = f.rig.set.fds[0];
    f.rig.set.fds[0] = -1;
    collect(&f);
    expect_row(&f, 0, 0, 0, 0, 0);
    expect_row(&f, 0, 1, 2, 0, 0);
    f.rig.set.fds[0] = fd;
    fixture_fini(&f);
}

/* ---- totals ---- */

Test(ledger, counts_of_all_readers_and_rings_are_summed)
{
    struct fixture f;
    struct weir_retention retentions[CPUS] = {0};
    fixture_init(&f);
    put(&f, 0, 0, RING_BYTES / SAMPLE_BYTES + 20);
    drain(&f);
    collect(&f);
    for (unsigned i = 0; i < CPUS; i++) {
        struct weir_reader *reader = f.rig.pipeline.readers[i];
        reader->wakeups = 10 + i;
        retentions[i].left_samples = 7 + i;
        reader->retention = &retentions[i];
        for (unsigned n = 0; n < reader->rings.count; n++) {
            reader->rings.at[n].counts.throttled = 1 + n;
            reader->rings.at[n].counts.unknown_samples = 3;
            reader->rings.at[n].discarded_bytes = 8;
            reader->rings.at[n].lost_while_starved = 4;
        }
    }
    f.rig.pipeline.writer.rounds = 6;
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.wakeups, 21);
    cr_assert_eq(f.result.throttled, 6);
    cr_assert_eq(f.result.unknown_samples, 12);
    cr_assert_eq(f.result.discarded_bytes, 32);
    cr_assert_eq(f.result.lost_while_pool_empty, 16);
    cr_assert_eq(f.result.left_samples, 15);
    cr_assert_eq(f.result.rounds, 6);
    for (unsigned i = 0; i < CPUS; i++)
        f.rig.pipeline.readers[i]->retention = NULL;
    fixture_fini(&f);
}

Test(ledger, no_more_is_blamed_on_the_pool_than_was_lost)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, RING_BYTES / SAMPLE_BYTES + 3);
    drain(&f);
    collect(&f);
    f.rig.pipeline.readers[0]->rings.at[1].lost_while_starved = 50; /* LOST records also count other events' losses */
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.lost_while_pool_empty, 3);
    fixture_fini(&f);
}

/* A LOST record tells the reader what it has lost only when something comes after it. */
Test(ledger, what_a_starved_ring_loses_to_its_end_is_the_pools_too)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, RING_BYTES / SAMPLE_BYTES + 20);
    put(&f, 1, 0, RING_BYTES / SAMPLE_BYTES + 5);
    drain(&f);
    f.rig.pipeline.readers[0]->rings.at[1].starved = true;
    collect(&f);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.lost_samples, 25);
    cr_assert_eq(f.result.lost_while_pool_empty, 20);
    fixture_fini(&f);
}

Test(ledger, losses_of_side_events_are_none_of_the_pools)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, RING_BYTES / SAMPLE_BYTES + 20);
    put(&f, 0, 1, 4);
    put(&f, 1, 0, RING_BYTES / SAMPLE_BYTES + 5);
    drain(&f);
    f.rig.pipeline.readers[0]->rings.at[1].starved = true;
    collect(&f);
    f.result.side_event = 1; /* as with --kcore, which has two */
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.lost_samples, 25);
    cr_assert_eq(f.result.lost_sideband, 4);
    cr_assert_eq(f.result.lost_while_pool_empty, 20);
    fixture_fini(&f);
}

/* ---- shed ---- */

Test(ledger, what_was_shed_is_lost_and_told_apart)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, 0, 0, 10);
    drain(&f);
    struct weir_shed_gap gaps[EVENTS] = {{.samples = 7}};
    struct weir_reader *reader = f.rig.pipeline.readers[0];
    reader->rings.at[1].gaps = gaps;
    reader->shedder.trimmed_samples = 3;
    reader->shedder.trimmed_bytes = 300;
    reader->sink.pressure_rises[WEIR_PRESSURE_HIGH] = 2;
    collect(&f);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    reader->rings.at[1].gaps = NULL;
    cr_assert_eq(f.result.ledger[0].written, 10);
    cr_assert_eq(f.result.ledger[0].shed, 7);
    cr_assert_eq(f.result.shed_samples, 7);
    cr_assert_eq(f.result.lost_samples, 7);
    cr_assert_eq(f.result.samples, 10);
    cr_assert_eq(f.result.trimmed_samples, 3);
    cr_assert_eq(f.result.trimmed_bytes, 300);
    cr_assert_eq(f.result.pressure_rises[WEIR_PRESSURE_HIGH], 2);
    fixture_fini(&f);
}

/* ---- several outputs ---- */

/* The sum of the LOST_SAMPLES records in f->lost, which are then taken out. */
static uint64_t take_told(struct fixture *f, unsigned *records)
{
    uint64_t sum = 0;
    *records = 0;
    for (size_t at = 0; at < f->lost.used;) {
        struct perf_event_header header;
        uint64_t lost;
        memcpy(&header, f->lost.data + at, sizeof(header));
        memcpy(&lost, f->lost.data + at + sizeof(header), sizeof(lost));
        cr_assert_eq(header.type, PERF_RECORD_LOST_SAMPLES);
        sum += lost;
        ++*records;
        at += header.size;
    }
    weir_buf_reset(&f->lost);
    return sum;
}

static uint64_t lost_by_kernel(const struct fixture *f)
{
    uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        for (unsigned event = 0; event < EVENTS; event++) {
            uint64_t produced, lost;
            weir_sim_kernel_totals(f->rig.sim, sim_rig_fd(&f->rig, event, cpu), &produced, &lost);
            sum += lost;
        }
    }
    return sum;
}

Test(ledger, out_of_memory_for_what_was_told_tells_nothing)
{
    struct fixture f;
    struct weir_told_losses told = {0};
    fixture_init(&f);
    failing_alloc_after(0);
    cr_assert_eq(weir_ledger_tell_losses(&f.rig.set, &told, &f.lost), -ENOMEM);
    cr_assert_eq(f.lost.used, 0);
    weir_told_losses_fini(&told);
    fixture_fini(&f);
}

Test(ledger, what_could_not_be_told_for_want_of_memory_is_told_the_next_time)
{
    struct fixture f;
    struct weir_told_losses told = {0};
    unsigned records, successes = 0;
    fixture_init(&f);
    put(&f, 0, 0, 5 * RING_BYTES / 64);
    put(&f, 1, 1, 5 * RING_BYTES / 64);
    for (int result = -ENOMEM; result < 0; successes++) {
        failing_alloc_after(successes);
        result = weir_ledger_tell_losses(&f.rig.set, &told, &f.lost);
        failing_alloc_never();
        cr_assert(result == 0 || f.lost.used == 0);
        if (result < 0)
            weir_buf_reset(&f.lost);
    }
    cr_assert_gt(successes, 2, "nothing has failed");
    cr_assert_eq(take_told(&f, &records), lost_by_kernel(&f));
    cr_assert_eq(records, 2);
    weir_told_losses_fini(&told);
    fixture_fini(&f);
}

/* Of a CPU that has come back, there is more to tell than there was room for at the start. */
Test(ledger, without_memory_to_tell_of_losses_the_rows_are_right)
{
    struct fixture f;
    struct weir_told_losses told = {0};
    uint64_t produced[2], lost[2];
    fixture_init(&f);
    cr_assert_eq(weir_ledger_reserve(&f.rig.set, &told, &f.result), 0);
    for (unsigned life = 0; life < 2; life++) {
        put(&f, 0, 0, 5 * RING_BYTES / 64);
        weir_sim_kernel_totals(f.rig.sim, sim_rig_fd(&f.rig, 0, 0), &produced[life], &lost[life]);
        drain(&f);
        if (life == 0) {
            sim_rig_take_cpu(&f.rig, 0);
            sim_rig_bring_cpu(&f.rig, 0);
        }
    }
    failing_alloc_from(0);
    cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &f.result, &told, &f.lost), -ENOMEM);
    failing_alloc_never();
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_gt(lost[0], 0);
    expect_row(&f, 0, 0, produced[0] + produced[1] - lost[0] - lost[1], lost[0] + lost[1], 0);
    cr_assert_eq(f.lost.used, 0);
    weir_told_losses_fini(&told);
    fixture_fini(&f);
}

Test(ledger, each_output_is_told_of_what_was_lost_since_the_one_before)
{
    struct fixture f;
    struct weir_told_losses told = {0};
    unsigned records;
    fixture_init(&f);
    put(&f, 0, 0, 5 * RING_BYTES / 64);
    uint64_t first = lost_by_kernel(&f);
    cr_assert_gt(first, 0);
    cr_assert_eq(weir_ledger_tell_losses(&f.rig.set, &told, &f.lost), 0);
    cr_assert_eq(take_told(&f, &records), first);
    cr_assert_eq(records, 1);
    cr_assert_eq(weir_ledger_tell_losses(&f.rig.set, &told, &f.lost), 0);
    cr_assert_eq(take_told(&f, &records), 0, "it was told before");
    cr_assert_eq(records, 0);

    put(&f, 0, 0, 7);
    put(&f, 1, 1, 5 * RING_BYTES / 64);
    uint64_t second = lost_by_kernel(&f) - first;
    drain(&f);
    cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &f.result, &told, &f.lost), 0);
    cr_assert_eq(take_told(&f, &records), second);
    cr_assert_eq(records, 2);
    weir_ledger_fill_totals(&f.rig.pipeline, &f.result);
    cr_assert_eq(f.result.lost_samples, first + second, "the ledger is of all outputs");
    weir_told_losses_fini(&told);
    fixture_fini(&f);
}

Test(ledger, losses_that_no_lost_record_tells_of_yet_are_held_back_for_a_later_output)
{
    struct fixture f;
    struct weir_told_losses told = {0};
    unsigned records;
    fixture_init(&f);
    put(&f, 0, 0, 5 * RING_BYTES / 64);
    put(&f, 1, 1, 5 * RING_BYTES / 64);
    uint64_t sum = lost_by_kernel(&f);
    cr_assert_gt(sum, 10);
    cr_assert_eq(weir_ledger_tell_losses(&f.rig.set, &told, &f.lost), 0);
    weir_ledger_hold_back(&told, 0, &f.lost);
    cr_assert_eq(take_told(&f, &records), 0);
    cr_assert_eq(records, 0, "and no record of no loss");
    cr_assert_eq(weir_ledger_tell_losses(&f.rig.set, &told, &f.lost), 0);
    weir_ledger_hold_back(&told, 3, &f.lost);
    cr_assert_eq(take_told(&f, &records), 3);
    cr_assert_eq(records, 1);
    cr_assert_eq(weir_ledger_tell_losses(&f.rig.set, &told, &f.lost), 0);
    weir_ledger_hold_back(&told, sum - 1, &f.lost);
    cr_assert_eq(take_told(&f, &records), sum - 4);
    cr_assert_eq(records, 2);
    drain(&f);
    cr_assert_eq(weir_ledger_collect(&f.rig.set, &f.rig.pipeline, &f.result, &told, &f.lost), 0);
    cr_assert_eq(take_told(&f, &records), 1);
    weir_told_losses_fini(&told);
    fixture_fini(&f);
}

/*
 * The closing lines: every variant is in golden/closing_lines.txt as a user sees it, made from results that are filled
 * in by hand here; and the ledger of -v.
 */
#include "cli/record_report.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/files/loss_advice.h"
#include "tests/cli/golden.h"

#define MIB  (1ull << 20)
#define PAGE 4096u

/* Two CPUs, two events and the sideband event. */
#define EVENTS 3
static char first_name[] = "cycles", second_name[] = "raw_syscalls:sys_enter", sideband_name[] = "dummy:u";
static char *event_names[EVENTS] = {first_name, second_name, sideband_name};

static const struct weir_kernel_limits free_rings = {
    .perf_event_paranoid = 2, .mlock_kb = 516, .page_bytes = PAGE, .cap_ipc_lock = true};
static const struct weir_kernel_limits limited_rings = {.perf_event_paranoid = 2, .mlock_kb = 516, .page_bytes = PAGE};

struct variant {
    bool of_tasks; /* --per-thread */
    const char *name;
    uint64_t written[2];      /* samples by CPU, all of event 0 */
    uint64_t ring_full[2];    /* of event 0 */
    uint64_t write_failed[2]; /* of event 1 */
    uint64_t side_lost[2];    /* of the sideband event */
    uint64_t side_failed[2];  /* likewise, by failed writes */
    uint64_t while_pool_empty;
    uint64_t before_ring; /* of those of ring_full */
    uint64_t suspended;   /* likewise */
    uint64_t evicted[2];  /* of event 0 */
    uint64_t left;
    uint64_t snapshots;
    uint64_t replaced; /* of these; with 100 samples and 20000 bytes each */
    uint64_t retained_bytes;
    uint64_t overwritten_bytes;
    uint64_t shed[2];    /* of event 0 */
    uint64_t cut_off[2]; /* of event 0 */
    uint64_t filtered[2];
    uint64_t damaged, sleepers;
    uint64_t trimmed; /* samples, of 6000 bytes each */
    uint64_t ring_bytes;
    unsigned realtime_priority;
    bool limited;
    uint64_t discarded_bytes;
};

static const struct variant variants[] = {
    {.name = "nothing sampled", .ring_bytes = 8 * MIB},
    {.name = "nothing lost", .written = {1000, 234}, .ring_bytes = 8 * MIB},
    {.name = "ring full on one CPU", .written = {1000, 234}, .ring_full = {0, 66}, .ring_bytes = MIB / 2},
    {.name = "ring full on both, a small share",
     .written = {6000000, 5999986},
     .ring_full = {4, 10},
     .ring_bytes = 8 * MIB},
    {.name = "ring full, real-time already",
     .written = {900},
     .ring_full = {100},
     .ring_bytes = 8 * MIB,
     .realtime_priority = 1},
    {.name = "ring full, as large as is sane", .written = {900}, .ring_full = {100}, .ring_bytes = 256 * MIB},
    {.name = "ring full, nothing left to turn",
     .written = {900},
     .ring_full = {100},
     .ring_bytes = 256 * MIB,
     .realtime_priority = 1},
    {.name = "ring full, memory limited", .written = {900}, .ring_full = {100}, .ring_bytes = MIB / 4, .limited = true},
    {.name = "waiting for the disk",
     .written = {500},
     .ring_full = {500},
     .while_pool_empty = 500,
     .ring_bytes = 8 * MIB},
    {.name = "write failed", .written = {500, 500}, .write_failed = {10, 20}, .ring_bytes = 8 * MIB},
    {.name = "everything at once",
     .written = {1, 2},
     .ring_full = {30, 10},
     .write_failed = {5, 7},
     .side_lost = {1, 2},
     .while_pool_empty = 15,
     .ring_bytes = MIB},
    {.name = "shed", .written = {500, 400}, .shed = {90, 10}, .cut_off = {0, 1}, .trimmed = 300, .ring_bytes = 8 * MIB},
    {.name = "everything lost", .ring_full = {3, 4}, .ring_bytes = MIB},
    {.name = "side records only", .written = {10}, .side_lost = {0, 3}, .ring_bytes = MIB},
    {.name = "side records, in rings and by writes",
     .written = {10},
     .side_lost = {400533, 0},
     .side_failed = {7, 58370},
     .ring_bytes = MIB},
    {.name = "losses of tasks", .of_tasks = true, .written = {500, 400}, .ring_full = {0, 7}, .ring_bytes = 8 * MIB},
    {.name = "memory without a snapshot",
     .evicted = {900, 100},
     .left = 300,
     .ring_bytes = MIB,
     .retained_bytes = 64 * MIB},
    {.name = "memory that was never full",
     .evicted = {900, 100},
     .left = 1000,
     .ring_bytes = MIB,
     .retained_bytes = 64 * MIB},
    {.name = "a snapshot of all there was",
     .written = {900, 100},
     .snapshots = 1,
     .ring_bytes = MIB,
     .retained_bytes = 64 * MIB},
    {.name = "snapshots of memory",
     .written = {100, 100},
     .evicted = {900, 0},
     .ring_full = {0, 100},
     .snapshots = 2,
     .ring_bytes = 8 * MIB,
     .retained_bytes = 64 * MIB},
    {.name = "snapshots that were replaced",
     .written = {300, 100},
     .evicted = {50, 0},
     .left = 50,
     .snapshots = 4,
     .replaced = 3,
     .ring_bytes = 8 * MIB,
     .retained_bytes = 64 * MIB},
    {.name = "overwritten",
     .written = {100, 100},
     .evicted = {900, 0},
     .ring_full = {0, 3},
     .snapshots = 1,
     .ring_bytes = MIB,
     .overwritten_bytes = 3 * MIB},
    {.name = "a broken kernel", .written = {10}, .discarded_bytes = 64, .ring_bytes = MIB},
    {.name = "no ring yet", .written = {500, 80}, .ring_full = {0, 20}, .before_ring = 20, .ring_bytes = 8 * MIB},
    {.name = "no ring yet, then full", .written = {500, 80}, .ring_full = {0, 20}, .before_ring = 5, .ring_bytes = MIB},
    {.name = "suspended", .written = {500, 80}, .ring_full = {0, 20}, .suspended = 20, .ring_bytes = 8 * MIB},
    {.name = "suspended, then full and waiting",
     .written = {500, 80},
     .ring_full = {0, 20},
     .suspended = 12,
     .while_pool_empty = 6,
     .ring_bytes = MIB},
    {.name = "rings that -s damaged", .written = {500, 80}, .ring_full = {0, 20}, .damaged = 20, .ring_bytes = 8 * MIB},
    {.name = "tasks that slept", .written = {500, 80}, .cut_off = {70, 7}, .sleepers = 77, .ring_bytes = 8 * MIB},
    {.name = "filtered", .written = {500, 80}, .filtered = {1000, 37}, .ring_bytes = 8 * MIB},
};

/* Makes the result that the engine would give for a variant; rows is its ledger. */
static struct weir_record_result make_result(const struct variant *variant, struct weir_ledger_row rows[2 * EVENTS])
{
    struct weir_record_result result = {
        .end = WEIR_RECORD_END_WORKLOAD,
        .wakeups = 42,
        .lost_while_pool_empty = variant->while_pool_empty,
        .lost_before_ring = variant->before_ring,
        .lost_suspended = variant->suspended,
        .lost_damaged = variant->damaged,
        .sleeper_counts = variant->sleepers,
        .discarded_bytes = variant->discarded_bytes,
        .file_bytes = 1294967,
        .trimmed_samples = variant->trimmed,
        .trimmed_bytes = 6000 * variant->trimmed,
        .pressure_rises = {0, variant->trimmed / 100, variant->trimmed / 150, variant->trimmed / 300},
        .rounds = 7,
        .throttled = 1,
        .left_samples = variant->left,
        .snapshots = variant->snapshots,
        .replaced_snapshots = variant->replaced,
        .replaced_samples = 100 * variant->replaced,
        .replaced_bytes = 20000 * variant->replaced,
        .retained_bytes = variant->retained_bytes,
        .overwritten = variant->overwritten_bytes > 0,
        .overwritten_bytes = variant->overwritten_bytes,
        .ring_bytes = variant->ring_bytes,
        .rings = 4,
        .pool_bytes = 128 * MIB,
        .ledger = rows,
        .ledger_count = (size_t)2 * EVENTS,
        .event_names = event_names,
        .event_count = EVENTS,
        .side_event = EVENTS - 1,
    };
    memset(rows, 0, 2 * EVENTS * sizeof(*rows));
    for (unsigned i = 0; i < 2 * EVENTS; i++) {
        rows[i].cpu = i < EVENTS ? 3 : 17;
        rows[i].task = -1;
        if (variant->of_tasks) {
            rows[i].cpu = -1;
            rows[i].task = i < EVENTS ? 4242 : 4194303;
        }
        rows[i].event = i % EVENTS;
    }
    for (unsigned i = 0; i < 2; i++) {
        struct weir_ledger_row *cpu = rows + (size_t)i * EVENTS;
        cpu[0].written = variant->written[i];
        cpu[0].lost_ring_full = variant->ring_full[i];
        cpu[0].evicted = variant->evicted[i];
        cpu[0].shed = variant->shed[i];
        cpu[0].cut_off = variant->cut_off[i];
        cpu[0].filtered = variant->filtered[i];
        cpu[0].counted = variant->written[i] + variant->evicted[i] + variant->shed[i] + variant->ring_full[i] +
                         variant->cut_off[i] + variant->filtered[i];
        result.filtered_samples += variant->filtered[i];
        result.evicted_samples += variant->evicted[i];
        cpu[1].lost_write_failed = variant->write_failed[i];
        cpu[2].lost_ring_full = variant->side_lost[i];
        cpu[2].lost_write_failed = variant->side_failed[i];
        result.samples += variant->written[i];
        result.shed_samples += variant->shed[i];
        result.lost_samples += variant->shed[i] + variant->ring_full[i] + variant->write_failed[i];
        result.lost_sideband += variant->side_lost[i] + variant->side_failed[i];
    }
    weir_loss_advise(&result, variant->limited ? &limited_rings : &free_rings, variant->realtime_priority);
    return result;
}

Test(record_report, closing_lines_read_as_in_the_golden_file)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(variants); i++) {
        const struct variant *variant = &variants[i];
        struct weir_ledger_row rows[2 * EVENTS];
        struct weir_record_result result = make_result(variant, rows);
        struct weir_report_context context = {.output_path = "perf.data"};
        weir_buf_printf(&text, "# %s\n", variant->name);
        weir_report_closing(&text, &result, &context);
        weir_buf_printf(&text, "\n");
    }
    golden_expect(GOLDEN_TEXTS, "closing_lines.txt", &text);
    weir_buf_fini(&text);
}

/* Scripts parse these two: not a byte may differ from perf's but the name. */
Test(record_report, first_two_lines_are_perfs)
{
    struct weir_ledger_row rows[2 * EVENTS];
    struct weir_record_result result = make_result(&variants[1], rows);
    struct weir_report_context context = {.output_path = "dir/x.data"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text), "[ weir record: Woken up 42 times to write data ]\n"
                                          "[ weir record: Captured and wrote 1.235 MB dir/x.data (1234 samples) ]\n");
    weir_buf_fini(&text);
}

Test(record_report, name_of_the_file_cannot_reach_the_terminal)
{
    struct weir_ledger_row rows[2 * EVENTS];
    struct weir_record_result result = make_result(&variants[1], rows);
    struct weir_report_context context = {.output_path = "a\nb\033[31m \xc3\xa4.data"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect_not_null(strstr(weir_buf_str(&text), "wrote 1.235 MB a?b?[31m \xc3\xa4.data (1234 samples) ]\n"));
    weir_buf_fini(&text);
}

Test(record_report, size_limit_is_told_as_by_perf)
{
    struct weir_ledger_row row = {.written = 7, .left_out = 5, .counted = 12};
    char name[] = "cs", *names[] = {name};
    struct weir_record_result result = {
        .end = WEIR_RECORD_END_SIZE,
        .file_bytes = 3 * MIB,
        .samples = 7,
        .left_out_samples = 5,
        .ledger = &row,
        .ledger_count = 1,
        .event_names = names,
        .event_count = 1,
        .side_event = 1,
    };
    struct weir_report_context context = {.output_path = "x"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text), "[ weir record: weir size limit reached (3072 KB), stopping session ]\n"
                                          "[ weir record: Woken up 0 times to write data ]\n"
                                          "[ weir record: Captured and wrote 3.000 MB x (7 samples) ]\n");
    weir_buf_reset(&text);
    weir_report_ledger(&text, &result);
    cr_expect_not_null(
        strstr(weir_buf_str(&text), "WRITTEN  LEFT OUT  COUNTED\n     0  cs             7         5       12\n"));
    /* The command had ended, and what was written then did not fit. */
    weir_buf_reset(&text);
    result.end = WEIR_RECORD_END_WORKLOAD;
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text),
                     "[ weir record: weir size limit reached (3072 KB), the last 5 samples are left out ]\n"
                     "[ weir record: Woken up 0 times to write data ]\n"
                     "[ weir record: Captured and wrote 3.000 MB x (7 samples) ]\n");
    /* None fits. */
    weir_buf_reset(&text);
    result.samples = 0;
    weir_report_closing(&text, &result, &context);
    cr_expect(strncmp(weir_buf_str(&text), "[ weir record: --max-size left no room for samples: ", 52) == 0);
    weir_buf_fini(&text);
}

/* perf's words: "%s, compressed (original %.3f MB, ratio is %.3f)". */
Test(record_report, compression_stands_behind_the_samples_as_by_perf)
{
    struct weir_record_result result = {
        .samples = 3,
        .compressed_in_bytes = 5 * MIB / 2,
        .compressed_out_bytes = MIB / 2,
        .compressor_bytes = 5 * MIB / 2,
        .compressed_raw_bytes = MIB,
        .compressed_cpu_ns = WEIR_NS_PER_S / 10,
    };
    struct weir_report_context context = {.output_path = "x"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text),
                     "[ weir record: Woken up 0 times to write data ]\n"
                     "[ weir record: Captured and wrote 0.000 MB x (3 samples), compressed (original 2.500 MB, "
                     "ratio is 5.000) ]\n");
    weir_buf_reset(&text);
    weir_report_ledger(&text, &result);
    cr_expect_not_null(strstr(weir_buf_str(&text), "compressed 2.5 MB to 0.5 MB in 0.100 s of CPU time (25 MB/s); "
                                                   "1.0 MB as they were, because compression was behind\n"));
    weir_buf_fini(&text);
}

Test(record_report, drains_are_told_apart_by_whether_a_switch_was_near)
{
    struct weir_record_result result = {
        .files = 2,
        .drains =
            {
                [WEIR_DRAIN_ELSEWHERE] = {.gap_us = {1000, 1500, 2500, 3500}, .fill_per_mille = {1000, 250, 271, 313}},
                [WEIR_DRAIN_AT_ROTATION] = {.gap_us = {7, 1600, 2000, 2001},
                                            .fill_per_mille = {7, 251, 999, 1000},
                                            .wait_us = {2, 12, 3456, 3456}},
            },
    };
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_ledger(&text, &result);
    cr_expect_not_null(strstr(weir_buf_str(&text),
                              "drained between switches 1000 times, 1.500 ms apart (99 %: 2.500, at most 3.500), the "
                              "fullest ring 25.0 % full (99 %: 27.1, at most 31.3); 0 waits for memory\n"
                              "drained around switches 7 times, 1.600 ms apart (99 %: 2.000, at most 2.001), the "
                              "fullest ring 25.1 % full (99 %: 99.9, at most 100.0); 2 waits for memory, 0.012 ms "
                              "(99 %: 3.456, at most 3.456)\n"));
    result.files = 1;
    result.drains[WEIR_DRAIN_AT_ROTATION] = (struct weir_drain_summary){0};
    weir_buf_reset(&text);
    weir_report_ledger(&text, &result);
    cr_expect_not_null(strstr(weir_buf_str(&text), "drained rings 1000 times, 1.500 ms apart"));
    cr_expect_null(strstr(weir_buf_str(&text), "around switches"));
    weir_buf_fini(&text);
}

/* Nobody waits for a disk there. */
Test(record_report, stream_waits_for_its_consumer)
{
    struct weir_record_result result = {.samples = 3, .lost_samples = 1, .lost_while_pool_empty = 1, .pool_bytes = MIB};
    struct weir_ledger_row row = {.lost_ring_full = 1, .task = -1};
    result.ledger = &row;
    result.ledger_count = 1;
    result.event_count = 2;
    result.side_event = 1;
    struct weir_report_context context = {.output_path = "-", .is_stream = true};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_loss_advise(&result, &free_rings, 0);
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text),
                     "[ weir record: Woken up 0 times to write data ]\n"
                     "[ weir record: Captured and wrote 0.000 MB - (3 samples) ]\n"
                     "[ weir record: Lost 1 of 4 samples (25.00 %): on 1 of 1 CPUs, most on CPU 0 (1); waiting for the "
                     "consumer; to prevent it: --buffer-size 2M (now 1M) ]\n");
    weir_buf_fini(&text);
}

/* No ring is large enough for the time in which weir was stopped. A coordinator alone can be late for other reasons. */
Test(record_report, rings_that_filled_while_weir_did_not_run_advise_no_ring)
{
    struct weir_record_result result = {
        .samples = 3, .lost_samples = 1, .ring_bytes = MIB, .longest_delay_ns = 6133000000};
    struct weir_ledger_row row = {.lost_ring_full = 1, .task = -1};
    result.ledger = &row;
    result.ledger_count = 1;
    result.event_count = 2;
    result.side_event = 1;
    weir_loss_advise(&result, &free_rings, 0);
    cr_expect_str_eq(result.losses[WEIR_LOSS_RING_FULL].hint, "-m 4M (now 1M) or -r 1");
    result.drains[WEIR_DRAIN_ELSEWHERE].gap_us.max = 6130000;
    weir_loss_advise(&result, &free_rings, 0);
    cr_expect_str_eq(result.losses[WEIR_LOSS_RING_FULL].hint,
                     "let weir run (it was stopped, or had no CPU time, for 6.1 s)");
}

/* The ledger is the engine's last allocation: what was lost is still said without it. */
Test(record_report, full_aux_areas_are_told_as_by_perf_report)
{
    struct weir_record_result result = {
        .aux = {.areas = 2, .area_bytes = 4 * MIB, .records = 100, .truncated = 3, .failed_bytes = MIB}};
    struct weir_report_context context = {.output_path = "x"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text),
                     "[ weir record: Woken up 0 times to write data ]\n"
                     "[ weir record: Captured and wrote 0.000 MB x ]\n"
                     "[ weir record: AUX data lost 3 times out of 100: area full; try -m ,8192K ]\n"
                     "[ weir record: 1.000 MB of AUX data are not in the file ]\n");
    weir_buf_fini(&text);
}

Test(record_report, snapshots_of_aux_areas_are_counted_and_how_to_take_one_is_told)
{
    struct weir_record_result result = {.aux = {.areas = 2, .area_bytes = 4 * MIB, .kept_newest = true}};
    struct weir_report_context context = {.output_path = "x"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect(strstr(weir_buf_str(&text),
                     "[ weir record: Took 0 snapshots of 2 AUX areas; SIGUSR2 takes one, -Se one at "
                     "the end ]\n"));
    weir_buf_reset(&text);
    result.snapshots = 1;
    weir_report_closing(&text, &result, &context);
    cr_expect(strstr(weir_buf_str(&text), "[ weir record: Took 1 snapshot of 2 AUX areas ]\n"));
    weir_buf_fini(&text);
}

Test(record_report, loss_without_a_ledger_is_still_reported)
{
    struct weir_record_result result = {.samples = 3, .lost_samples = 1, .ring_bytes = MIB, .pool_bytes = MIB};
    struct weir_report_context context = {.output_path = "x"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_closing(&text, &result, &context);
    cr_expect_str_eq(weir_buf_str(&text), "[ weir record: Woken up 0 times to write data ]\n"
                                          "[ weir record: Captured and wrote 0.000 MB x (3 samples) ]\n"
                                          "[ weir record: Lost 1 of 4 samples (25.00 %): on unknown CPUs ]\n");
    weir_buf_fini(&text);
}

Test(record_report, ledger_reads_as_in_the_golden_file)
{
    struct weir_ledger_row rows[2 * EVENTS];
    struct weir_record_result result = make_result(&variants[10], rows);
    struct weir_buf text = WEIR_BUF_INIT;
    weir_report_ledger(&text, &result);
    result = make_result(&variants[0], rows);
    weir_buf_printf(&text, "\n");
    weir_report_ledger(&text, &result);
    struct variant of_tasks = variants[10];
    of_tasks.of_tasks = true;
    result = make_result(&of_tasks, rows);
    weir_buf_printf(&text, "\n");
    weir_report_ledger(&text, &result);
    result = make_result(&variants[11], rows);
    weir_buf_printf(&text, "\n");
    weir_report_ledger(&text, &result);
    golden_expect(GOLDEN_TEXTS, "ledger.txt", &text);
    weir_buf_fini(&text);
}

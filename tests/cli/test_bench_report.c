/* The figures of weir bench drain, as text and as JSON. */
#include "cli/bench_report.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "tests/cli/golden.h"

static struct weir_simulate_node nodes[] = {
    {
        .node = 0,
        .cpus = 2,
        .readers = 1,
        .bytes = 300000000,
        .samples = 2500000,
        .lost = 1000,
        .wakeups = 300,
        .reader_cpu_seconds = 0.04,
    },
    {
        .node = 1,
        .cpus = 2,
        .readers = 1,
        .bytes = 180000000,
        .samples = 1499000,
        .wakeups = 21,
        .crossed_bytes = 45000000,
        .reader_cpu_seconds = 0.02,
    },
};

/* 100 chunks: of each ten, nine take 4 ms and one 64 ms. */
static struct weir_simulate_result drained_result(void)
{
    struct weir_simulate_result result = {
        .record =
            {
                .wakeups = 321,
                .samples = 3999000,
                .lost_samples = 1000,
                .lost_while_pool_empty = 400,
                .file_bytes = 480000000,
                .rounds = 12,
                .ring_bytes = 524288,
                .rings = 8,
                .pool_bytes = 134217728,
            },
        .produced = 4000000,
        .open_seconds = 0.03,
        .produce_seconds = 0.8,
        .seconds = 0.96,
        .drained_bytes = 479000000,
        .recorder_cpu_seconds = 0.084,
        .reader_cpu_seconds = 0.06,
        .writer_cpu_seconds = 0.02,
        .copy = {{8000000000, 1000000000}, {2000000000, 500000000}, {3000000000, 1000000000}},
        .direct_bytes = 470000000,
        .nodes = nodes,
        .node_count = 2,
    };
    static struct weir_shared_histogram latency_us; /* all results have the same percentiles, however many there are */
    for (unsigned i = 0; i < 100; i++)
        weir_shared_histogram_add(&latency_us, (i % 10 ? 4 : 64) * WEIR_NS_PER_MS / WEIR_NS_PER_US);
    weir_shared_histogram_read(&latency_us, &result.latency_us);
    return result;
}

static const struct weir_simulate_options options = {
    .load =
        {
            .cpus = 4,
            .records_per_cpu = 1000000,
            .rate_per_cpu_hz = 1250000,
            .payload_bytes = 64,
            .mix.parts = {90, 9, 1},
            .seed = 1,
        },
    .nodes = 2,
    .record.output.path = "a \"b\"\\c\td",
};

static const struct weir_simulate_found found = {.value = 230, .limit = WEIR_SEARCH_LIMIT_FAILURE, .runs = 11};

Test(bench_report, nothing_measured_gives_zeros_not_nan)
{
    struct weir_simulate_result nothing = {0};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_bench_report_text(&text, &options, WEIR_SIMULATE_ONCE, NULL, &nothing);
    cr_expect_str_eq(weir_buf_str(&text),
                     "drained   0.0 MB/s, 0.000 M records/s (0.0 MB in 0.000 s)\n"
                     "CPU       0.000 s per GB (0.000 s without the producers: readers 0.000, writer 0.000)\n"
                     "copying   0 MB per CPU second, 0 % of memcpy's 0 (0 at the offsets of records, 0 out of all the "
                     "rings)\n"
                     "lost      0 of 0 records (0.00 %), 0 while waiting for the disk\n"
                     "latency   of chunks to the file: median 0.0 ms, 90 % 0.0, 99 % 0.0, longest 0.0\n"
                     "rounds    0, wake-ups 0; start 0.000 s, end 0.000 s\n");
    weir_buf_fini(&text);
}

Test(bench_report, search_that_found_nothing_says_so)
{
    const struct weir_simulate_found none = {.runs = 4};
    struct weir_simulate_result nothing = {0};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_bench_report_text(&text, &options, WEIR_SIMULATE_RATE, &none, &nothing);
    cr_expect(weir_buf_error(&text) == 0);
    cr_expect_eq(strncmp(weir_buf_str(&text), "found     no rate is without loss, 4 runs\n", 42), 0, "%s",
                 weir_buf_str(&text));
    weir_buf_fini(&text);
}

/* Nothing was lost: that says nothing of stalls. */
Test(bench_report, rate_that_cannot_be_brought_about_is_no_loss)
{
    const struct weir_simulate_found none = {.limit = WEIR_SEARCH_LIMIT_REACH, .runs = 4};
    struct weir_simulate_result nothing = {0};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_bench_report_text(&text, &options, WEIR_SIMULATE_STALL, &none, &nothing);
    const char *wanted = "found     nothing: the producers cannot do this rate on this machine, 4 runs\n";
    cr_expect_eq(strncmp(weir_buf_str(&text), wanted, strlen(wanted)), 0, "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(bench_report, limits_of_a_search_are_told_apart)
{
    static const struct {
        enum weir_simulate_goal goal;
        enum weir_search_limit limit;
        const char *line;
    } cases[] = {
        {WEIR_SIMULATE_RATE, WEIR_SEARCH_LIMIT_FAILURE,
         "found     highest rate without loss: 230 Hz per CPU, 11 runs\n"},
        {WEIR_SIMULATE_RATE, WEIR_SEARCH_LIMIT_REACH,
         "found     highest rate without loss: 230 Hz per CPU, 11 runs; the producers cannot do more on this "
         "machine\n"},
        {WEIR_SIMULATE_STALL, WEIR_SEARCH_LIMIT_GREATEST,
         "found     longest stall without loss: 230 ms, 11 runs; no longer stall was tried\n"},
    };
    struct weir_simulate_result result = drained_result();
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_simulate_found limited = found;
        limited.limit = cases[i].limit;
        struct weir_buf text = WEIR_BUF_INIT;
        weir_bench_report_text(&text, &options, cases[i].goal, &limited, &result);
        cr_expect_eq(strncmp(weir_buf_str(&text), cases[i].line, strlen(cases[i].line)), 0, "%s", weir_buf_str(&text));
        weir_buf_fini(&text);
    }
}

Test(bench_report, figures_read_as_in_the_golden_file)
{
    struct weir_simulate_result result = drained_result();
    struct weir_buf text = WEIR_BUF_INIT;
    weir_bench_report_text(&text, &options, WEIR_SIMULATE_STALL, &found, &result);
    golden_expect(GOLDEN_TEXTS, "bench.txt", &text);
    weir_buf_reset(&text);
    weir_bench_report_json(&text, &options, WEIR_SIMULATE_STALL, &found, &result);
    golden_expect(GOLDEN_TEXTS, "bench.json", &text);
    weir_buf_fini(&text);
}

/* The figures of weir bench drain, as text and as JSON. */
#include "cli/bench_report.h"

#include <criterion/criterion.h>

#include "tests/cli/golden.h"

static const struct weir_simulate_result drained = {
    .record =
        {
            .wakeups = 321,
            .samples = 3999000,
            .lost_samples = 1000,
            .lost_while_pool_empty = 400,
            .file_bytes = 480000000,
            .rounds = 12,
            .ring_bytes = 524288,
            .pool_bytes = 134217728,
        },
    .produced = 4000000,
    .seconds = 0.96,
    .recorder_cpu_seconds = 0.084,
};

static const struct weir_simulate_options options = {
    .cpus = 4,
    .records_per_cpu = 1000000,
    .payload_bytes = 64,
    .seed = 1,
    .output_path = "a \"b\"\\c\td",
};

Test(bench_report, nothing_measured_gives_zeros_not_nan)
{
    struct weir_simulate_result nothing = {0};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_bench_report_text(&text, &nothing);
    cr_expect_str_eq(weir_buf_str(&text), "drained   0.0 MB/s, 0.000 M records/s (0.0 MB in 0.000 s)\n"
                                          "CPU       0.000 s per GB (0.000 s in weir's threads)\n"
                                          "lost      0 of 0 records (0.00 %), 0 while waiting for the disk\n"
                                          "rounds    0, wake-ups 0\n");
    weir_buf_fini(&text);
}

Test(bench_report, figures_read_as_in_the_golden_file)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_bench_report_text(&text, &drained);
    golden_expect(GOLDEN_TEXTS, "bench.txt", &text);
    weir_buf_reset(&text);
    weir_bench_report_json(&text, &options, &drained);
    golden_expect(GOLDEN_TEXTS, "bench.json", &text);
    weir_buf_fini(&text);
}

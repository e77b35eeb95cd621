/* Sweeps, thresholds and results of several runs of weir bench drain: what is refused first. */
#include "cli/bench_series.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"

static int parse_sweeps(struct weir_bench_sweep *sweep, const char *const *items, size_t count, struct weir_error *err)
{
    const char *copies[8];
    memcpy(copies, items, count * sizeof(*items));
    const struct weir_text_list texts = {.items = copies, .count = count};
    return weir_bench_sweep_parse(sweep, &weir_bench_drain_command.options, &texts, err);
}

Test(bench_series, sweep_of_no_values_or_of_other_options_is_refused)
{
    static const char *const refused[][2] = {{"cpus"},   {"cpus="},  {"cpus=1,"},   {"=1"},
                                             {"seed=1"}, {"json=1"}, {"no-json=1"}, {"cpus=1", "cpus=2"}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_bench_sweep sweep;
        struct weir_error err = {0};
        cr_expect_eq(parse_sweeps(&sweep, refused[i], refused[i][1] ? 2 : 1, &err), -EINVAL, "%s", refused[i][0]);
        cr_expect_neq(err.what[0], '\0');
        weir_bench_sweep_fini(&sweep);
    }
}

Test(bench_series, points_are_all_combinations_and_the_last_sweep_changes_first)
{
    static const char *const items[] = {"cpus=1,8", "mix=tracepoint;tracepoint:9,dwarf", "rate=5,max"};
    static const char *const labels[] = {"cpus=1 mix=tracepoint rate=5", "cpus=1 mix=tracepoint rate=max",
                                         "cpus=1 mix=tracepoint:9,dwarf rate=5"};
    struct weir_bench_sweep sweep;
    struct weir_error err = {0};
    cr_assert_eq(parse_sweeps(&sweep, items, 3, &err), 0, "%s", err.what);
    cr_assert_eq(sweep.point_count, 8);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(labels); i++) {
        struct weir_buf label = WEIR_BUF_INIT;
        weir_bench_sweep_describe(&sweep, i, &label);
        cr_expect_str_eq(weir_buf_str(&label), labels[i]);
        weir_buf_fini(&label);
    }
    struct weir_bench_arguments arguments;
    weir_bench_arguments_init(&arguments);
    cr_assert_eq(weir_bench_sweep_apply(&sweep, 7, &arguments, &err), 0);
    cr_expect_eq(arguments.cpus, 8);
    cr_expect_eq(arguments.mix.parts[WEIR_SIM_TRACEPOINT], 9);
    cr_expect_eq(arguments.mix.parts[WEIR_SIM_DWARF], 1);
    cr_expect_eq(arguments.rate_per_cpu_hz, WEIR_VALUE_FREQ_MAX);
    weir_bench_sweep_fini(&sweep);
}

Test(bench_series, threshold_of_no_figure_or_number_is_refused)
{
    static const char *const refused[] = {"mb_per_s",     "mb_per_s=",      "=1",
                                          "speed=1",      "mb_per_s=-1",    "mb_per_s=1x",
                                          "mb_per_s=inf", "cpu_s_per_gb=1", "mb_per_s=1e999"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_bench_gate gate;
        struct weir_error err = {0};
        const char *items[] = {refused[i]};
        const struct weir_text_list texts = {.items = items, .count = 1};
        cr_expect_eq(weir_bench_gate_parse(&gate, &texts, &err), -EINVAL, "%s", refused[i]);
        cr_expect_neq(err.hint[0], '\0');
    }
}

static struct weir_bench_figures runs_of_one[] = {
    {{300, 3, 30, 0.3, 100, 1}}, {{100, 1, 10, 0.1, 100, 3}}, {{200, 2, 20, 0.2, 100, 2}}};
static struct weir_bench_figures runs_of_two[] = {{{50, 5, 5, 5, 90, 5}}};

static struct weir_bench_point points[] = {
    {.options = {.load = {.cpus = 1, .mix = {{1, 0, 0}}}, .nodes = 1, .record.output.path = "/dev/null"},
     .ring_bytes = 4096,
     .pool_bytes = 8192,
     .produced = 30,
     .runs = runs_of_one,
     .run_count = 3},
    {.options = {.load = {.cpus = 8, .mix = {{1, 0, 0}}}, .nodes = 1, .record.output.path = "/dev/null"},
     .produced = 100,
     .lost = 10,
     .runs = runs_of_two,
     .run_count = 1},
};

static struct weir_buf series_json(size_t point_count, const struct weir_bench_gate *gate, struct weir_buf *text)
{
    static const char *const items[] = {"cpus=1,8"};
    struct weir_bench_sweep sweep;
    struct weir_error err = {0};
    cr_assert_eq(parse_sweeps(&sweep, items, 1, &err), 0);
    const struct weir_bench_series series = {.sweep = &sweep, .points = points, .point_count = point_count};
    struct weir_buf json = WEIR_BUF_INIT;
    weir_bench_series_append_json(&series, gate, &json);
    weir_bench_series_append_text(&series, text);
    weir_bench_sweep_fini(&sweep);
    return json;
}

Test(bench_series, results_are_medians_between_the_least_and_the_greatest)
{
    const struct weir_bench_gate gate = {.thresholds = {{WEIR_BENCH_KEPT_PERCENT, 100}, {WEIR_BENCH_MB_PER_S, 3}},
                                         .count = 2};
    struct weir_buf text = WEIR_BUF_INIT, json = series_json(2, &gate, &text);
    const char *all = weir_buf_str(&json);
    cr_expect_not_null(strstr(all, "\"samples_per_cpu_per_s\": {\"median\": 200.000000, \"min\": 100.000000, \"max\": "
                                   "300.000000}"),
                       "%s", all);
    cr_expect_not_null(strstr(all, "\"below\": [\"mb_per_s\"]}"), "the median 2, not the greatest: %s", all);
    cr_expect_not_null(strstr(all, "\"below\": [\"kept_percent\"]}"), "%s", all);
    cr_expect_not_null(strstr(all, "\"sweep\": [\"cpus\"]"));
    cr_expect_not_null(strstr(weir_buf_str(&text), "cpus=1     3          200 (       100 to        300)"), "%s",
                       weir_buf_str(&text));
    /* The second point was not held. */
    cr_expect_not_null(strstr(weir_buf_str(&text), "holds from 200 (cpus=1) to 200 (cpus=1) samples/s per CPU\n"));
    weir_buf_fini(&text);
    weir_buf_fini(&json);
}

Test(bench_series, nothing_that_was_run_is_an_empty_list)
{
    const struct weir_bench_gate gate = {0};
    struct weir_buf text = WEIR_BUF_INIT, json = series_json(0, &gate, &text);
    cr_expect_not_null(strstr(weir_buf_str(&json), "\"points\": [\n  ]\n}\n"));
    cr_expect_eq(text.used, 0);
    weir_buf_fini(&json);
}

#include "cli/bench_figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define BYTES_PER_MB  1e6
#define BYTES_PER_GB  1e9
#define RECORDS_PER_M 1e6
#define PERCENT       100.0

const char *const weir_bench_figure_names[WEIR_BENCH_FIGURES] = {
    [WEIR_BENCH_SAMPLES_PER_CPU] = "samples_per_cpu_per_s",
    [WEIR_BENCH_MB_PER_S] = "mb_per_s",
    [WEIR_BENCH_MRECORDS_PER_S] = "million_records_per_s",
    [WEIR_BENCH_DRAIN_MB_PER_CPU_S] = "drain_mb_per_cpu_s",
    [WEIR_BENCH_KEPT_PERCENT] = "kept_percent",
    [WEIR_BENCH_CPU_S_PER_GB] = "cpu_s_per_gb",
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

struct weir_bench_figures weir_bench_figures_of(const struct weir_simulate_options *options,
                                                enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                                                const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    double bytes = (double)record->file_bytes, drained = (double)result->drained_bytes;
    double samples = (double)record->samples;
    double per_cpu = ratio(samples / options->load.cpus, result->produce_seconds);
    return (struct weir_bench_figures){{
        [WEIR_BENCH_SAMPLES_PER_CPU] = goal == WEIR_SIMULATE_RATE ? (double)found->value : per_cpu,
        [WEIR_BENCH_MB_PER_S] = ratio(bytes / BYTES_PER_MB, result->seconds),
        [WEIR_BENCH_MRECORDS_PER_S] = ratio(samples / RECORDS_PER_M, result->seconds),
        [WEIR_BENCH_DRAIN_MB_PER_CPU_S] =
            ratio(drained / BYTES_PER_MB, result->reader_cpu_seconds + result->writer_cpu_seconds),
        [WEIR_BENCH_KEPT_PERCENT] = ratio(PERCENT * samples, (double)result->produced),
        [WEIR_BENCH_CPU_S_PER_GB] = ratio(result->recorder_cpu_seconds, bytes / BYTES_PER_GB),
    }};
}

void weir_bench_figures_conclude(const struct weir_bench_figures *figures, bool is_limit, struct weir_buf *text)
{
    double rate = figures->values[WEIR_BENCH_SAMPLES_PER_CPU], kept = figures->values[WEIR_BENCH_KEPT_PERCENT];
    if (rate <= 0) /* nothing was measured, or nothing was held: the lines before say so */
        return;
    if (kept < PERCENT)
        weir_buf_printf(text,
                        "this machine holds less than that: it wrote %.0f samples/s per CPU and lost %.2f %%; "
                        "--closed-loop or --rate max tell what it holds\n",
                        rate, PERCENT - kept);
    else
        weir_buf_printf(text, "this machine holds %s%.0f samples/s per CPU\n", is_limit ? "" : "at least ", rate);
}

static int refuse(const char *text, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "option '--fail-below': '%s' is no threshold", text);
    weir_error_hint(err, "takes samples_per_cpu_per_s, mb_per_s, million_records_per_s, drain_mb_per_cpu_s or "
                         "kept_percent with a number, as kept_percent=100");
    return -EINVAL;
}

int weir_bench_gate_parse(struct weir_bench_gate *gate, const struct weir_text_list *texts, struct weir_error *err)
{
    *gate = (struct weir_bench_gate){0};
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i], *equals = strchr(text, '=');
        struct weir_bench_threshold threshold = {.figure = WEIR_BENCH_FIGURES};
        for (unsigned figure = 0; equals && figure < WEIR_BENCH_CPU_S_PER_GB; figure++) {
            const char *name = weir_bench_figure_names[figure];
            if (strlen(name) == (size_t)(equals - text) && strncmp(name, text, strlen(name)) == 0)
                threshold.figure = (enum weir_bench_figure)figure;
        }
        if (threshold.figure == WEIR_BENCH_FIGURES || equals[1] < '0' || equals[1] > '9')
            return refuse(text, err);
        char *end;
        threshold.least = strtod(equals + 1, &end);
        if (*end != '\0' || !isfinite(threshold.least))
            return refuse(text, err);
        if (gate->count == WEIR_BENCH_THRESHOLDS_MAX)
            return weir_error_set(err, -EINVAL, "option '--fail-below': more than %u thresholds",
                                  WEIR_BENCH_THRESHOLDS_MAX);
        gate->thresholds[gate->count++] = threshold;
    }
    return 0;
}

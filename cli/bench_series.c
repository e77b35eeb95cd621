#include "cli/bench_series.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/answer.h"
#include "cli/bench_report.h"
#include "cli/exit_status.h"
#include "format/text_out.h"

#define LABEL_MIN 5

static struct weir_spread spread_of(const struct weir_bench_point *point, enum weir_bench_figure figure)
{
    double values[WEIR_BENCH_RUNS_MAX];
    for (unsigned run = 0; run < point->run_count; run++)
        values[run] = point->runs[run].values[figure];
    return weir_spread_of(values, point->run_count);
}

/* ---- what is shown ---- */

static int label_width(const struct weir_bench_series *series)
{
    size_t width = LABEL_MIN;
    struct weir_buf label = WEIR_BUF_INIT;
    for (size_t i = 0; i < series->point_count; i++) {
        weir_buf_reset(&label);
        weir_bench_sweep_describe(series->sweep, i, &label);
        width = weir_max_u64(width, label.used);
    }
    weir_buf_fini(&label);
    return (int)width;
}

static bool is_limit(const struct weir_bench_point *point)
{
    return point->goal == WEIR_SIMULATE_RATE || point->options.load.closed_loop;
}

static struct weir_bench_figures medians_of(const struct weir_bench_point *point)
{
    struct weir_bench_figures figures;
    for (unsigned figure = 0; figure < WEIR_BENCH_FIGURES; figure++)
        figures.values[figure] = spread_of(point, (enum weir_bench_figure)figure).median;
    return figures;
}

/* The closing sentence: of the only point, or from the least to the greatest. */
static void conclude(const struct weir_bench_series *series, struct weir_buf *text)
{
    if (series->point_count == 1) {
        struct weir_bench_figures figures = medians_of(&series->points[0]);
        weir_bench_figures_conclude(&figures, is_limit(&series->points[0]), text);
        return;
    }
    size_t least = SIZE_MAX, most = SIZE_MAX;
    double rates[2] = {0, 0};
    for (size_t i = 0; i < series->point_count; i++) {
        struct weir_bench_figures figures = medians_of(&series->points[i]);
        double rate = figures.values[WEIR_BENCH_SAMPLES_PER_CPU];
        if (figures.values[WEIR_BENCH_KEPT_PERCENT] < 100.0) /* that rate was not held */
            continue;
        if (least == SIZE_MAX || rate < rates[0])
            least = i, rates[0] = rate;
        if (most == SIZE_MAX || rate > rates[1])
            most = i, rates[1] = rate;
    }
    if (least == SIZE_MAX) {
        weir_buf_printf(text, "this machine holds none of these rates without loss; --closed-loop or --rate max tell "
                              "what it holds\n");
        return;
    }
    weir_buf_printf(text, "this machine holds from %.0f (", rates[0]);
    weir_bench_sweep_describe(series->sweep, least, text);
    weir_buf_printf(text, ") to %.0f (", rates[1]);
    weir_bench_sweep_describe(series->sweep, most, text);
    weir_buf_printf(text, ") samples/s per CPU\n");
}

void weir_bench_series_append_text(const struct weir_bench_series *series, struct weir_buf *text)
{
    if (series->point_count == 0)
        return;
    int width = label_width(series);
    weir_buf_printf(text, "%-*s %5s %12s %25s %10s %10s %9s\n", width, "POINT", "RUNS", "SAMPLES/S", "(MIN TO MAX)",
                    "MB/S", "CPU S/GB", "KEPT %");
    weir_buf_printf(text, "%-*s %5s %12s\n", width, "", "", "PER CPU");
    struct weir_buf label = WEIR_BUF_INIT;
    for (size_t i = 0; i < series->point_count; i++) {
        const struct weir_bench_point *point = &series->points[i];
        struct weir_spread rate = spread_of(point, WEIR_BENCH_SAMPLES_PER_CPU);
        weir_buf_reset(&label);
        weir_bench_sweep_describe(series->sweep, i, &label);
        weir_buf_printf(text, "%-*s %5u %12.0f (%10.0f to %10.0f) %10.1f %10.3f %9.4f\n", width, weir_buf_str(&label),
                        point->run_count, rate.median, rate.min, rate.max, spread_of(point, WEIR_BENCH_MB_PER_S).median,
                        spread_of(point, WEIR_BENCH_CPU_S_PER_GB).median,
                        spread_of(point, WEIR_BENCH_KEPT_PERCENT).median);
    }
    weir_buf_fini(&label);
    conclude(series, text);
}

static void append_json_point(const struct weir_bench_series *series, size_t index, const struct weir_bench_gate *gate,
                              struct weir_buf *text)
{
    const struct weir_bench_point *point = &series->points[index];
    struct weir_buf label = WEIR_BUF_INIT;
    weir_bench_sweep_describe(series->sweep, index, &label);
    weir_buf_printf(text, "{\"point\": ");
    weir_text_append_json(text, label.data, label.used);
    weir_buf_fini(&label);
    weir_buf_printf(text, ", \"parameters\": ");
    weir_bench_report_parameters(text, &point->options, point->ring_bytes, point->pool_bytes);
    weir_buf_printf(text, ", \"runs\": %u, \"produced\": %" PRIu64 ", \"lost\": %" PRIu64, point->run_count,
                    point->produced, point->lost);
    for (unsigned figure = 0; figure < WEIR_BENCH_FIGURES; figure++) {
        struct weir_spread spread = spread_of(point, (enum weir_bench_figure)figure);
        weir_buf_printf(text, ",\n    \"%s\": {\"median\": %.6f, \"min\": %.6f, \"max\": %.6f}",
                        weir_bench_figure_names[figure], spread.median, spread.min, spread.max);
    }
    weir_buf_printf(text, ",\n    \"below\": [");
    const char *between = "";
    for (size_t i = 0; i < gate->count; i++) {
        const struct weir_bench_threshold *threshold = &gate->thresholds[i];
        if (spread_of(point, threshold->figure).median >= threshold->least)
            continue;
        weir_buf_printf(text, "%s\"%s\"", between, weir_bench_figure_names[threshold->figure]);
        between = ", ";
    }
    weir_buf_printf(text, "]}");
}

void weir_bench_series_append_json(const struct weir_bench_series *series, const struct weir_bench_gate *gate,
                                   struct weir_buf *text)
{
    weir_buf_printf(text,
                    "{\n  \"benchmark\": \"drain\",\n  \"version\": \"" WEIR_VERSION "\",\n  \"interrupted\": %s,\n",
                    series->signal ? "true" : "false");
    weir_buf_printf(text, "  \"sweep\": [");
    for (size_t i = 0; i < series->sweep->axis_count; i++)
        weir_buf_printf(text, "%s\"%s\"", i ? ", " : "", series->sweep->axes[i].text);
    weir_buf_printf(text, "],\n  \"points\": [");
    for (size_t i = 0; i < series->point_count; i++) {
        weir_buf_printf(text, "%s\n   ", i ? "," : "");
        append_json_point(series, i, gate, text);
    }
    weir_buf_printf(text, "\n  ]\n}\n");
}

/* ---- running ---- */

struct series_run {
    const struct weir_bench_arguments *arguments;
    struct weir_bench_sweep sweep;
    struct weir_bench_gate gate;
    struct weir_bench_series series;
    unsigned runs_done;
    sigset_t ending; /* blocked meanwhile: the coordinator of a run reads them, and between runs was_ended() does */
};

/* Whether a signal came while no run was under way. */
static bool was_ended(struct series_run *run)
{
    const struct timespec now = {0};
    int number = sigtimedwait(&run->ending, NULL, &now);
    if (number > 0 && run->series.signal == 0)
        run->series.signal = number;
    return run->series.signal != 0;
}

static void tell_progress(const struct series_run *run, size_t point, const struct weir_bench_figures *figures)
{
    struct weir_buf label = WEIR_BUF_INIT;
    weir_bench_sweep_describe(&run->sweep, point, &label);
    weir_notice(run->arguments->options.notices, WEIR_NOTICE_INFO,
                "run %u of %zu: %s: %.0f samples/s per CPU, %.1f MB/s, kept %.2f %%", run->runs_done,
                run->sweep.point_count * (size_t)run->arguments->runs, weir_buf_str(&label),
                figures->values[WEIR_BENCH_SAMPLES_PER_CPU], figures->values[WEIR_BENCH_MB_PER_S],
                figures->values[WEIR_BENCH_KEPT_PERCENT]);
    weir_buf_fini(&label);
}

/* One run of a point. 0; -EINTR: a signal ended it, and it counts for nothing; or -errno with err. */
static int run_once(struct series_run *run, size_t index, uint64_t probe_ns, struct weir_error *err)
{
    struct weir_bench_point *point = &run->series.points[index];
    struct weir_simulate_result result = {0};
    struct weir_simulate_found found;
    int code = weir_simulate_search(&point->options, point->goal, probe_ns, &found, &result, err);
    if (result.record.signal != 0) {
        run->series.signal = result.record.signal;
        code = -EINTR;
    }
    if (code == 0)
        code = weir_bench_check_balance(&result, err);
    if (code == 0) {
        struct weir_bench_figures figures = weir_bench_figures_of(&point->options, point->goal, &found, &result);
        point->runs[point->run_count++] = figures;
        point->ring_bytes = result.record.ring_bytes;
        point->pool_bytes = result.record.pool_bytes;
        point->produced += result.produced;
        point->lost += result.record.lost_samples;
        run->runs_done++;
        tell_progress(run, index, &figures);
    }
    weir_simulate_result_fini(&result);
    return code;
}

static int run_point(struct series_run *run, size_t index, struct weir_error *err)
{
    struct weir_bench_point *point = &run->series.points[index];
    struct weir_bench_arguments arguments = *run->arguments; /* not resolved yet: each point has a length of its own */
    int code = weir_bench_sweep_apply(&run->sweep, index, &arguments, err);
    if (code == 0)
        code = weir_bench_arguments_resolve(&arguments, (uint64_t)sysconf(_SC_PAGESIZE), NULL, err);
    if (code < 0)
        return code;
    point->options = weir_bench_arguments_simulate_options(&arguments);
    point->goal = arguments.goal;
    point->runs = calloc(run->arguments->runs, sizeof(*point->runs));
    if (!point->runs)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep the results of the runs");
    for (unsigned n = 0; code == 0 && n < run->arguments->runs && !was_ended(run); n++)
        code = run_once(run, index, arguments.probe_ns, err);
    run->series.point_count += point->run_count > 0;
    return code;
}

/* Checks every point before any run. */
static int check_points(const struct series_run *run, struct weir_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < run->sweep.point_count; i++) {
        struct weir_bench_arguments arguments = *run->arguments;
        code = weir_bench_sweep_apply(&run->sweep, i, &arguments, err);
        if (code == 0)
            code = weir_bench_arguments_resolve(&arguments, (uint64_t)sysconf(_SC_PAGESIZE),
                                                i == 0 ? run->arguments->options.notices : NULL, err);
    }
    return code;
}

static int show(const struct series_run *run, struct weir_print *print)
{
    struct weir_buf text = WEIR_BUF_INIT;
    if (run->arguments->json)
        weir_bench_series_append_json(&run->series, &run->gate, &text);
    else
        weir_bench_series_append_text(&run->series, &text);
    return weir_answer_text(print, &text);
}

/* Prints each threshold that a median is below. Whether there is any. */
static bool is_below(const struct series_run *run, const struct weir_print *print)
{
    bool is_any = false;
    struct weir_buf label = WEIR_BUF_INIT;
    for (size_t i = 0; i < run->series.point_count; i++) {
        for (size_t t = 0; t < run->gate.count; t++) {
            const struct weir_bench_threshold *threshold = &run->gate.thresholds[t];
            double median = spread_of(&run->series.points[i], threshold->figure).median;
            if (median >= threshold->least)
                continue;
            struct weir_error err = {0};
            weir_buf_reset(&label);
            weir_bench_sweep_describe(&run->sweep, i, &label);
            weir_error_set(&err, -ERANGE, "%s: %s is %g, below --fail-below %g", weir_buf_str(&label),
                           weir_bench_figure_names[threshold->figure], median, threshold->least);
            weir_print_error(print, &err);
            is_any = true;
        }
    }
    weir_buf_fini(&label);
    return is_any;
}

static int run_all(struct series_run *run, struct weir_print *print)
{
    struct weir_error err = {0};
    int code = check_points(run, &err);
    if (code < 0)
        return weir_answer_refusal(print, code, &err);
    run->series.points = calloc(run->sweep.point_count, sizeof(*run->series.points));
    if (!run->series.points) {
        weir_error_set_errno(&err, -ENOMEM, "cannot keep the results of the runs");
        weir_print_error(print, &err);
        return WEIR_EXIT_FAILURE;
    }
    for (size_t i = 0; code == 0 && i < run->sweep.point_count && !was_ended(run); i++)
        code = run_point(run, i, &err);
    int status = WEIR_EXIT_OK;
    if (run->series.point_count > 0 || run->arguments->json)
        status = show(run, print);
    if (run->series.signal != 0)
        weir_notice(run->arguments->options.notices, WEIR_NOTICE_WARNING, "interrupted: %u of %zu runs are done",
                    run->runs_done, run->sweep.point_count * (size_t)run->arguments->runs);
    else if (code < 0 && err.code == 0)
        weir_error_set_errno(&err, code, "cannot run the benchmark");
    if (run->series.signal == 0 && code < 0) {
        weir_print_error(print, &err);
        return WEIR_EXIT_FAILURE;
    }
    if (status == WEIR_EXIT_OK && run->series.signal == 0 && is_below(run, print))
        status = WEIR_EXIT_BELOW;
    return status;
}

int weir_bench_series_run(const struct weir_bench_arguments *arguments, struct weir_print *print, int *number)
{
    struct weir_error err = {0};
    struct series_run run = {.arguments = arguments};
    sigset_t before;
    sigemptyset(&run.ending);
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending); i++)
        sigaddset(&run.ending, ending[i]);
    sigprocmask(SIG_BLOCK, &run.ending, &before);
    int code = weir_bench_sweep_parse(&run.sweep, &weir_bench_drain_command.options, &arguments->sweeps, &err);
    if (code == 0)
        code = weir_bench_gate_parse(&run.gate, &arguments->thresholds, &err);
    run.series.sweep = &run.sweep;
    int status = code < 0 ? weir_answer_refusal(print, code, &err) : run_all(&run, print);
    for (size_t i = 0; run.series.points && i < run.sweep.point_count; i++)
        free(run.series.points[i].runs);
    free(run.series.points);
    weir_bench_sweep_fini(&run.sweep);
    sigprocmask(SIG_SETMASK, &before, NULL);
    *number = run.series.signal;
    return status;
}

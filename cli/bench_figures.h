/*
 * The figures of simulated runs that `weir bench drain` compares: over several runs, between the points of a sweep, and
 * with the thresholds of --fail-below. Pure; any thread.
 */
#ifndef WEIR_CLI_BENCH_FIGURES_H
#define WEIR_CLI_BENCH_FIGURES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/option.h"
#include "engine/sim/simulate_search.h"

enum weir_bench_figure {
    WEIR_BENCH_SAMPLES_PER_CPU, /* per second: into the file, by the time of the producers; of --rate=max the rate found
                                 */
    WEIR_BENCH_MB_PER_S,
    WEIR_BENCH_MRECORDS_PER_S,
    WEIR_BENCH_DRAIN_MB_PER_CPU_S,
    WEIR_BENCH_KEPT_PERCENT,
    WEIR_BENCH_CPU_S_PER_GB,
    WEIR_BENCH_FIGURES,
};

/* The names in JSON and in --fail-below. */
extern const char *const weir_bench_figure_names[WEIR_BENCH_FIGURES];

struct weir_bench_figures {
    double values[WEIR_BENCH_FIGURES]; /* 0 where nothing was measured */
};

struct weir_bench_figures weir_bench_figures_of(const struct weir_simulate_options *options,
                                                enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                                                const struct weir_simulate_result *result);

/* Appends the closing sentence, which says what rate this machine holds. Appends nothing without a rate. is_limit: the
 * rings held the producers back, or the rate was searched, so the machine holds no more. */
void weir_bench_figures_conclude(const struct weir_bench_figures *figures, bool is_limit, struct weir_buf *text);

struct weir_bench_threshold {
    enum weir_bench_figure figure;
    double least;
};

#define WEIR_BENCH_THRESHOLDS_MAX 8u

struct weir_bench_gate {
    struct weir_bench_threshold thresholds[WEIR_BENCH_THRESHOLDS_MAX];
    size_t count;
};

/* Parses each "FIGURE=NUMBER" of texts. 0 or -EINVAL with err. */
int weir_bench_gate_parse(struct weir_bench_gate *gate, const struct weir_text_list *texts, struct weir_error *err);

#endif

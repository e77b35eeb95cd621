/*
 * Several runs of `weir bench drain`: --runs of each point of a --sweep, with a table or JSON of their results. Main
 * thread.
 */
#ifndef WEIR_CLI_BENCH_SERIES_H
#define WEIR_CLI_BENCH_SERIES_H

#include "base/spread.h"
#include "cli/bench_figures.h"
#include "cli/bench_options.h"
#include "cli/bench_sweep.h"
#include "cli/print.h"

struct weir_bench_point {
    struct weir_simulate_options options;
    enum weir_simulate_goal goal;
    uint64_t ring_bytes, pool_bytes, produced, lost; /* the last two of all runs */
    struct weir_bench_figures *runs;                 /* owned */
    unsigned run_count;
};

struct weir_bench_series {
    const struct weir_bench_sweep *sweep; /* borrowed */
    struct weir_bench_point *points;      /* owned */
    size_t point_count;                   /* points that have a run */
    int signal;                           /* that ended the series; 0: none */
};

/* Appends the table, a line for each point, and the closing sentence. */
void weir_bench_series_append_text(const struct weir_bench_series *series, struct weir_buf *text);

/* Appends one JSON object (docs/json.md). */
void weir_bench_series_append_json(const struct weir_bench_series *series, const struct weir_bench_gate *gate,
                                   struct weir_buf *text);

/* Runs all, shows the results, and compares them with the thresholds. A signal ends the series after the present run;
 * the results of the runs before are shown. The exit status; *number: the signal to raise again, or 0. */
int weir_bench_series_run(const struct weir_bench_arguments *arguments, struct weir_print *print, int *number);

#endif

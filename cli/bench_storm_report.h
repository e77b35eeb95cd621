/* The report that `weir bench storm` prints. Pure but for the names of the machine; any thread. */
#ifndef WEIR_CLI_BENCH_STORM_REPORT_H
#define WEIR_CLI_BENCH_STORM_REPORT_H

#include "base/buf.h"
#include "engine/bench/storm.h"

struct weir_storm_results {
    const struct weir_storm_case *what;
    uint64_t calls; /* per thread */
    unsigned runs;  /* asked for */
    bool interrupted;
    unsigned run_counts[WEIR_STORM_RECORDERS_MAX];                      /* runs that are done, by recorder */
    const struct weir_storm_measure *runs_of[WEIR_STORM_RECORDERS_MAX]; /* borrowed; NULL: takes no part */
};

/* Appends a table and a closing sentence. */
void weir_bench_storm_append_text(const struct weir_storm_results *results, struct weir_buf *text);

/* Appends one JSON object (docs/json.md). */
void weir_bench_storm_append_json(const struct weir_storm_results *results, struct weir_buf *text);

#endif

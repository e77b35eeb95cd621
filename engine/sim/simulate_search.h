/*
 * Simulated runs, one after the other, until the highest rate or the longest stall without loss is found. Blocks for
 * as long as the runs take; caller's thread.
 */
#ifndef WEIR_ENGINE_SIM_SIMULATE_SEARCH_H
#define WEIR_ENGINE_SIM_SIMULATE_SEARCH_H

#include <stdint.h>

#include "base/error.h"
#include "engine/sim/search.h"
#include "engine/sim/simulate.h"

/* The value that a search raises, run by run, until samples are lost. */
enum weir_simulate_goal {
    WEIR_SIMULATE_ONCE,  /* none: one run with the options as given */
    WEIR_SIMULATE_RATE,  /* load.rate_per_cpu_hz */
    WEIR_SIMULATE_STALL, /* stall_ns, in steps of milliseconds, at load.rate_per_cpu_hz */
};

struct weir_simulate_found {
    uint64_t value; /* samples per second and CPU, or milliseconds; 0: the least value loses samples too */
    enum weir_search_limit limit;
    unsigned runs;
};

/*
 * Runs by the goal. Each run of a search produces for probe_ns, plus its stall. result is that of the last run, which
 * has the value found; with ONCE, of the only run. Only ONCE uses options->load.records_per_cpu. A verbose notice
 * reports each run. 0 or -errno with err.
 */
int weir_simulate_search(const struct weir_simulate_options *options, enum weir_simulate_goal goal, uint64_t probe_ns,
                         struct weir_simulate_found *found, struct weir_simulate_result *result,
                         struct weir_error *err);

#endif

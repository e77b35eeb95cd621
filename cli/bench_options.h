/* The options of `weir bench drain`: the option table and the struct that it fills. Touches neither kernel nor files.
 * Main thread. */
#ifndef WEIR_CLI_BENCH_OPTIONS_H
#define WEIR_CLI_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "cli/command.h"
#include "cli/ring_options.h"
#include "engine/sim/simulate_search.h"

struct weir_bench_arguments {
    /* As struct weir_ring_arguments begins: of the options those of the rows, and output_path. */
    struct weir_record_options options;
    struct weir_ring_size_pair ring_sizes; /* -m, as typed; AUX areas are not simulated */

    uint64_t cpus;
    uint64_t nodes;
    uint64_t records_per_cpu; /* after resolve() */
    uint64_t seconds;         /* 0: not given */
    uint64_t rate_per_cpu_hz; /* 0: as fast as possible; WEIR_VALUE_FREQ_MAX: search */
    uint64_t burst;           /* 0: not given */
    uint64_t stall_ms;        /* 0: none; WEIR_VALUE_FREQ_MAX: search */
    struct weir_sim_mix mix;
    enum weir_simulate_goal goal; /* by weir_bench_arguments_resolve() */
    uint64_t probe_ns;            /* by weir_bench_arguments_resolve() */
    uint64_t payload_bytes;
    uint64_t seed;
    bool closed_loop;
    unsigned runs; /* of each point */
    bool runs_given;
    struct weir_text_list sweeps;     /* --sweep (cli/bench_sweep.h) */
    struct weir_text_list thresholds; /* --fail-below (cli/bench_figures.h) */
    bool json;
    unsigned verbosity;
    bool quiet;
};
WEIR_RING_ARGUMENTS_ASSERT(struct weir_bench_arguments);

extern const struct weir_command weir_bench_drain_command;

#define WEIR_BENCH_RUNS_MAX 64u

void weir_bench_arguments_init(struct weir_bench_arguments *arguments);
void weir_bench_arguments_fini(struct weir_bench_arguments *arguments);

/* Parses argv (the words behind `weir bench drain`), which must hold options only. As weir_options_parse(). */
int weir_bench_arguments_parse(struct weir_bench_arguments *arguments, char *const *argv, struct weir_error *err);

/* Checks combinations of options. Derives the length of the run from --records, --seconds and --stall. -m becomes
 * bytes, as for `weir record`. 0 or -EINVAL with err. */
int weir_bench_arguments_resolve(struct weir_bench_arguments *arguments, uint64_t page_bytes,
                                 const struct weir_notice_sink *notices, struct weir_error *err);

/* Returns the options of a run by resolved arguments; texts stay borrowed. */
struct weir_simulate_options weir_bench_arguments_simulate_options(const struct weir_bench_arguments *arguments);

/* Returns whether several runs are asked for (cli/bench_series.h), or one with all its figures. */
bool weir_bench_arguments_want_series(const struct weir_bench_arguments *arguments);

#endif

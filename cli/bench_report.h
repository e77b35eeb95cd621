/*
 * The output of `weir bench drain`, as text or as one JSON object. MB and GB are decimal here (10^6, 10^9 bytes), as
 * disks and memory buses are rated. Pure; appends to text. Any thread.
 */
#ifndef WEIR_CLI_BENCH_REPORT_H
#define WEIR_CLI_BENCH_REPORT_H

#include "base/buf.h"
#include "engine/sim/simulate_search.h"

/* options: as given to weir_simulate_search(); found counts unless the goal is WEIR_SIMULATE_ONCE. */
void weir_bench_report_text(struct weir_buf *text, const struct weir_simulate_options *options,
                            enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                            const struct weir_simulate_result *result);

/* Appends the parameters in use (options, and chosen values in place of 0), then the figures. */
void weir_bench_report_json(struct weir_buf *text, const struct weir_simulate_options *options,
                            enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                            const struct weir_simulate_result *result);

#endif

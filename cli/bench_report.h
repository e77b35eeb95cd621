/*
 * The output of `weir bench drain`, as text or as one JSON object. MB and GB are decimal here (10^6, 10^9 bytes), as
 * disks and memory buses are rated. Pure; appends to text. Any thread.
 */
#ifndef WEIR_CLI_BENCH_REPORT_H
#define WEIR_CLI_BENCH_REPORT_H

#include "base/buf.h"
#include "base/error.h"
#include "engine/sim/simulate_search.h"

/* options: as given to weir_simulate_search(); found counts unless the goal is WEIR_SIMULATE_ONCE. */
void weir_bench_report_text(struct weir_buf *text, const struct weir_simulate_options *options,
                            enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                            const struct weir_simulate_result *result);

/* Appends the parameters in use (options, and chosen values in place of 0), then the figures. */
void weir_bench_report_json(struct weir_buf *text, const struct weir_simulate_options *options,
                            enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                            const struct weir_simulate_result *result);

/* Appends the parameters of a run as a JSON object. */
void weir_bench_report_parameters(struct weir_buf *text, const struct weir_simulate_options *options,
                                  uint64_t ring_bytes, uint64_t pool_bytes);

/* Every sample is written or counted as lost; else the figures mean nothing. 0 or -EIO with err. */
int weir_bench_check_balance(const struct weir_simulate_result *result, struct weir_error *err);

#endif

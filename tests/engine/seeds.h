/*
 * Running something for many seeds, from the command line: [SEED [COUNT]], or seeds from 0 on, as many as
 * WEIR_SIM_SEEDS says. A seed that ends in an assertion is named. One thread; signals of the process are its.
 */
#ifndef WEIR_TESTS_ENGINE_SEEDS_H
#define WEIR_TESTS_ENGINE_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns for how many of *count seeds run() was false. count_default: without arguments and environment. */
uint64_t seeds_run(int argc, char **argv, uint64_t count_default, bool (*run)(void *ctx, uint64_t seed), void *ctx,
                   uint64_t *count);

/* Says how many have failed; the exit status. */
int seeds_end(uint64_t failures);

#endif

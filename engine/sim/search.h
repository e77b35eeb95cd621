/*
 * The search for the highest value at which something still holds: a rate without loss, the longest stall without loss.
 *
 * Steps of four upwards from the first value (downwards when that is too much already), then halving, by ratio, until
 * the highest good and the least bad value are within WEIR_SEARCH_PERCENT of each other. Measurements are noisy, so
 * what was found is probed once more and lowered until it holds again: the last probe is always that of the value
 * returned. Pure but for the probes; caller's thread.
 */
#ifndef WEIR_ENGINE_SIM_SEARCH_H
#define WEIR_ENGINE_SIM_SEARCH_H

#include <stdint.h>

#include "base/error.h"

#define WEIR_SEARCH_PERCENT 5

enum weir_probe_outcome {
    WEIR_PROBE_HOLDS,
    WEIR_PROBE_FAILS,
    WEIR_PROBE_OUT_OF_REACH, /* the value could not be brought about, so that the probe says nothing */
};

enum weir_search_limit {        /* why it goes no higher */
    WEIR_SEARCH_LIMIT_FAILURE,  /* higher values fail */
    WEIR_SEARCH_LIMIT_REACH,    /* higher values are out of reach */
    WEIR_SEARCH_LIMIT_GREATEST, /* the greatest value that was asked for holds */
};

struct weir_search {
    uint64_t first;    /* probed first, at least 1 */
    uint64_t greatest; /* not less than first */
    /* 0 with *outcome, or -errno with err, which ends the search. */
    int (*probe)(void *ctx, uint64_t value, enum weir_probe_outcome *outcome, struct weir_error *err);
    void *ctx; /* borrowed */
};

/* *best is 0 when not even 1 holds; *limit is of the least value that did not. 0, or what a probe returned. */
int weir_search_highest(const struct weir_search *search, uint64_t *best, enum weir_search_limit *limit,
                        struct weir_error *err);

#endif

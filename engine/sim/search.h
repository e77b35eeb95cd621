/*
 * Searches the highest value that still holds: a rate without loss, or a stall without loss.
 *
 * The search multiplies the first value by four until a probe fails, or divides it by four until a probe holds. It then
 * takes the geometric mean of the highest good and the least bad value until the two are within WEIR_SEARCH_PERCENT.
 * Measurements are noisy, so the search probes the result once more and lowers it until it holds again: the last probe
 * is always the probe of the returned value. Pure but for the probes; caller's thread.
 */
#ifndef WEIR_ENGINE_SIM_SEARCH_H
#define WEIR_ENGINE_SIM_SEARCH_H

#include <stdint.h>

#include "base/error.h"

#define WEIR_SEARCH_PERCENT 5

enum weir_probe_outcome {
    WEIR_PROBE_HOLDS,
    WEIR_PROBE_FAILS,
    WEIR_PROBE_OUT_OF_REACH, /* the value could not be reached, so the probe proves nothing */
};

enum weir_search_limit {        /* why the search goes no higher */
    WEIR_SEARCH_LIMIT_FAILURE,  /* higher values fail */
    WEIR_SEARCH_LIMIT_REACH,    /* higher values are out of reach */
    WEIR_SEARCH_LIMIT_GREATEST, /* the greatest value allowed holds */
};

struct weir_search {
    uint64_t first;    /* the value of the first probe, at least 1 */
    uint64_t greatest; /* not less than first */
    /* Probes a value. 0 with *outcome, or -errno with err, which ends the search. */
    int (*probe)(void *ctx, uint64_t value, enum weir_probe_outcome *outcome, struct weir_error *err);
    void *ctx; /* borrowed */
};

/* Runs the search. *best is 0 when not even 1 holds; *limit describes the least value that did not hold. 0, or the
 * error of a probe. */
int weir_search_highest(const struct weir_search *search, uint64_t *best, enum weir_search_limit *limit,
                        struct weir_error *err);

#endif

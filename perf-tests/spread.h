/* What several runs of one measurement come to. For benchmarks; pure. */
#ifndef WEIR_PERF_TESTS_SPREAD_H
#define WEIR_PERF_TESTS_SPREAD_H

struct spread {
    double min, median, max; /* of an even number of runs the mean of the middle two */
};

/* Sorts values, of which there is one at least. */
struct spread spread_of(double *values, unsigned count);

#endif

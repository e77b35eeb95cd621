/* The median and the spread of several runs of one measurement. Pure; any thread. */
#ifndef WEIR_BASE_SPREAD_H
#define WEIR_BASE_SPREAD_H

struct weir_spread {
    double min, median, max; /* of an even number of runs the mean of the middle two */
};

/* Sorts values, of which there is one at least. */
struct weir_spread weir_spread_of(double *values, unsigned count);

#endif

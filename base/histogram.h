/*
 * A histogram of durations, for percentiles: eight buckets to each power of two, so that a percentile is at most an
 * eighth too high. The size is fixed; adding takes a few instructions and never fails.
 *
 * struct weir_histogram belongs to one thread at a time. One thread fills a struct weir_shared_histogram while others
 * read. The buckets are those of HdrHistogram (G. Tene) with three bits of precision.
 */
#ifndef WEIR_BASE_HISTOGRAM_H
#define WEIR_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define WEIR_HISTOGRAM_STEPS   8u /* buckets to a power of two */
#define WEIR_HISTOGRAM_BUCKETS (24u * WEIR_HISTOGRAM_STEPS)

/* The counts that were read, of one shared histogram or several. Values from 2^26 on (in microseconds: a minute) count
 * in the last bucket. All zero: empty. */
struct weir_histogram {
    uint64_t buckets[WEIR_HISTOGRAM_BUCKETS];
    uint64_t count;
    uint64_t max; /* exact */
};

/* Returns a percentile: the least bucket end that `percent` of the values do not exceed, or the greatest value if that
 * is less. percent: above 0, at most 100. 0 when the histogram is empty. */
uint64_t weir_histogram_percentile(const struct weir_histogram *histogram, double percent);

/* Returns the number of values below `end`, which is a power of two, or such a power plus some of its eighths. */
uint64_t weir_histogram_below(const struct weir_histogram *histogram, uint64_t end);

/* Returns the sum of the values, each taken as the greatest value of its bucket. So the sum is at most an eighth too
 * high, and never falls while values are added. */
uint64_t weir_histogram_sum(const struct weir_histogram *histogram);

/* All zero: empty. */
struct weir_shared_histogram {
    _Atomic uint64_t buckets[WEIR_HISTOGRAM_BUCKETS];
    _Atomic uint64_t max; /* exact */
};

/* Adds a value. Only the thread that fills the histogram calls it. */
void weir_shared_histogram_add(struct weir_shared_histogram *histogram, uint64_t value);

/* Adds the present counts to `into`. Any thread; values added meanwhile may be missing. */
void weir_shared_histogram_read(const struct weir_shared_histogram *histogram, struct weir_histogram *into);

#endif

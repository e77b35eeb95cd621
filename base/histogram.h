/*
 * A histogram of durations, for percentiles: eight buckets to each power of two, so that a percentile is at most an
 * eighth above the value that it stands for. Fixed in size, adding is a few instructions and never fails.
 *
 * One thread at a time, but for the shared kind, which one thread fills while others read. The buckets are those of
 * HdrHistogram (G. Tene) with three bits of precision.
 */
#ifndef WEIR_BASE_HISTOGRAM_H
#define WEIR_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define WEIR_HISTOGRAM_STEPS   8u /* buckets to a power of two */
#define WEIR_HISTOGRAM_BUCKETS (62u * WEIR_HISTOGRAM_STEPS)

/* All zero: empty. */
struct weir_histogram {
    uint64_t buckets[WEIR_HISTOGRAM_BUCKETS];
    uint64_t count;
    uint64_t max; /* exact */
};

void weir_histogram_add(struct weir_histogram *histogram, uint64_t value);

/* What at least `percent` (above 0, at most 100) of the values are at most: the upper end of a bucket, never above the
 * greatest value. 0 when it is empty. */
uint64_t weir_histogram_percentile(const struct weir_histogram *histogram, double percent);

/* The lower buckets of one: values from 2^26 on (of microseconds: a minute) all count to the last of them. All zero:
 * empty. */
#define WEIR_SHARED_HISTOGRAM_BUCKETS (24u * WEIR_HISTOGRAM_STEPS)

struct weir_shared_histogram {
    _Atomic uint64_t buckets[WEIR_SHARED_HISTOGRAM_BUCKETS];
    _Atomic uint64_t max; /* exact */
};

/* The one thread that fills it. */
void weir_shared_histogram_add(struct weir_shared_histogram *histogram, uint64_t value);

/* Adds what it holds at about this moment to `into`. Any thread. */
void weir_shared_histogram_read(const struct weir_shared_histogram *histogram, struct weir_histogram *into);

#endif

/* Durations in buckets. Pure, but for the counters of the shared kind. */
#include "base/histogram.h"

#include "base/assert.h"
#include "base/bits.h"

#define STEP_BITS 3u /* WEIR_HISTOGRAM_STEPS is 2^STEP_BITS */

/* Each value below 8 has its own bucket. Above, the top bit chooses a group of eight buckets, and the next three bits
 * choose one of the group. */
static unsigned bucket_of(uint64_t value)
{
    if (value < WEIR_HISTOGRAM_STEPS)
        return (unsigned)value;
    unsigned top_bit = 63 - (unsigned)__builtin_clzll(value);
    unsigned step = (unsigned)(value >> (top_bit - STEP_BITS)) & (WEIR_HISTOGRAM_STEPS - 1);
    unsigned bucket = (top_bit - STEP_BITS + 1) * WEIR_HISTOGRAM_STEPS + step;
    return bucket < WEIR_HISTOGRAM_BUCKETS ? bucket : WEIR_HISTOGRAM_BUCKETS - 1;
}

/* The greatest value of a bucket. */
static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < WEIR_HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = bucket / WEIR_HISTOGRAM_STEPS - 1;
    uint64_t first = (uint64_t)(WEIR_HISTOGRAM_STEPS + bucket % WEIR_HISTOGRAM_STEPS) << shift;
    return first + ((UINT64_C(1) << shift) - 1);
}

uint64_t weir_histogram_percentile(const struct weir_histogram *histogram, double percent)
{
    weir_assert(percent > 0 && percent <= 100);
    double wanted = (double)histogram->count * percent / 100;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < WEIR_HISTOGRAM_BUCKETS && histogram->count > 0; bucket++) {
        seen += histogram->buckets[bucket];
        if ((double)seen >= wanted)
            return weir_min_u64(bucket_end(bucket), histogram->max);
    }
    return histogram->max;
}

uint64_t weir_histogram_below(const struct weir_histogram *histogram, uint64_t end)
{
    uint64_t below = 0;
    for (unsigned bucket = 0; bucket < WEIR_HISTOGRAM_BUCKETS && bucket_end(bucket) < end; bucket++)
        below += histogram->buckets[bucket];
    return below;
}

uint64_t weir_histogram_sum(const struct weir_histogram *histogram)
{
    uint64_t sum = 0;
    for (unsigned bucket = 0; bucket < WEIR_HISTOGRAM_BUCKETS; bucket++)
        sum += histogram->buckets[bucket] > 0 ? histogram->buckets[bucket] * bucket_end(bucket) : 0;
    return sum;
}

void weir_shared_histogram_add(struct weir_shared_histogram *histogram, uint64_t value)
{
    unsigned bucket = bucket_of(value);
    /* Relaxed, and no read-modify-write: one thread writes, and the counts publish no other data. */
    uint64_t count = atomic_load_explicit(&histogram->buckets[bucket], memory_order_relaxed);
    atomic_store_explicit(&histogram->buckets[bucket], count + 1, memory_order_relaxed);
    if (value > atomic_load_explicit(&histogram->max, memory_order_relaxed))
        atomic_store_explicit(&histogram->max, value, memory_order_relaxed);
}

void weir_shared_histogram_read(const struct weir_shared_histogram *histogram, struct weir_histogram *into)
{
    for (unsigned bucket = 0; bucket < WEIR_HISTOGRAM_BUCKETS; bucket++) {
        uint64_t count = atomic_load_explicit(&histogram->buckets[bucket], memory_order_relaxed); /* see add() */
        into->buckets[bucket] += count;
        into->count += count;
    }
    into->max = weir_max_u64(into->max, atomic_load_explicit(&histogram->max, memory_order_relaxed));
}

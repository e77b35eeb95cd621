/* Buckets of durations: where values fall, and what percentiles say of them. */
#include "base/histogram.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void add(struct weir_histogram *histogram, const uint64_t *values, size_t count)
{
    struct weir_shared_histogram *shared = calloc(1, sizeof(*shared));
    cr_assert_not_null(shared);
    for (size_t i = 0; i < count; i++)
        weir_shared_histogram_add(shared, values[i]);
    weir_shared_histogram_read(shared, histogram);
    free(shared);
}

Test(histogram, nothing_added_has_percentiles_of_zero)
{
    struct weir_histogram histogram = {0};
    cr_expect_eq(weir_histogram_percentile(&histogram, 50), 0);
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), 0);
}

Test(histogram, small_values_are_exact)
{
    struct weir_histogram histogram = {0};
    add(&histogram, (const uint64_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10);
    cr_expect_eq(weir_histogram_percentile(&histogram, 10), 0);
    cr_expect_eq(weir_histogram_percentile(&histogram, 50), 4);
    cr_expect_eq(weir_histogram_percentile(&histogram, 90), 8);
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), 9);
}

Test(histogram, percentiles_are_at_most_an_eighth_above)
{
    static struct weir_shared_histogram shared;
    struct weir_histogram histogram = {0};
    const uint64_t most = 1000000;
    for (uint64_t value = 1; value <= most; value++)
        weir_shared_histogram_add(&shared, value);
    weir_shared_histogram_read(&shared, &histogram);
    for (unsigned percent = 1; percent <= 100; percent++) {
        uint64_t exact = most / 100 * percent, told = weir_histogram_percentile(&histogram, percent);
        cr_expect(told >= exact && told <= exact + exact / 8, "%u %%: %lu", percent, told);
    }
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), most);
}

Test(histogram, counts_of_several_add_up)
{
    static struct weir_shared_histogram shared[3];
    struct weir_histogram sum = {0}, whole = {0};
    for (uint64_t value = 0; value < 100000; value += 37) {
        weir_shared_histogram_add(&shared[value % 2], value);
        weir_shared_histogram_add(&shared[2], value);
    }
    weir_shared_histogram_read(&shared[0], &sum);
    weir_shared_histogram_read(&shared[1], &sum);
    weir_shared_histogram_read(&shared[2], &whole);
    cr_expect_arr_eq(sum.buckets, whole.buckets, sizeof(sum.buckets));
    cr_expect_eq(sum.count, 2703);
    cr_expect_eq(whole.count, 2703);
    cr_expect_eq(sum.max, 99974);
}

Test(histogram, what_is_beyond_the_last_bucket_counts_there)
{
    static struct weir_shared_histogram shared;
    struct weir_histogram sum = {0};
    weir_shared_histogram_add(&shared, (UINT64_C(1) << 26) - 1);
    weir_shared_histogram_add(&shared, UINT64_C(1) << 26);
    weir_shared_histogram_add(&shared, UINT64_MAX);
    weir_shared_histogram_read(&shared, &sum);
    cr_expect_eq(sum.buckets[WEIR_HISTOGRAM_BUCKETS - 1], 3);
    cr_expect_eq(sum.count, 3);
    cr_expect_eq(sum.max, UINT64_MAX);
    cr_expect_eq(weir_histogram_percentile(&sum, 50), (UINT64_C(1) << 26) - 1);
}

/* A reader of a small ring looks at it thousands of times a second. */
Test(histogram, it_counts_for_weeks)
{
    static struct weir_shared_histogram shared = {.buckets[5] = UINT32_MAX};
    struct weir_histogram sum = {0};
    weir_shared_histogram_add(&shared, 5);
    weir_shared_histogram_read(&shared, &sum);
    cr_expect_eq(sum.count, UINT64_C(1) << 32);
}

Test(histogram, values_below_a_bound_and_their_sum)
{
    struct weir_histogram histogram = {0};
    const uint64_t values[] = {0, 7, 255, 256, 767, 768, 1000};
    add(&histogram, values, sizeof(values) / sizeof(values[0]));
    cr_expect_eq(weir_histogram_below(&histogram, 256), 3);
    cr_expect_eq(weir_histogram_below(&histogram, 512), 4);
    cr_expect_eq(weir_histogram_below(&histogram, 768), 5);
    cr_expect_eq(weir_histogram_below(&histogram, UINT64_MAX), 7);
    cr_expect_eq(weir_histogram_sum(&histogram), 0 + 7 + 255 + 287 + 767 + 831 + 1023);
}

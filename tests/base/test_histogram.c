/* Buckets of durations: where values fall, and what percentiles say of them. */
#include "base/histogram.h"

#include <criterion/criterion.h>

Test(histogram, nothing_added_has_percentiles_of_zero)
{
    struct weir_histogram histogram = {0};
    cr_expect_eq(weir_histogram_percentile(&histogram, 50), 0);
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), 0);
}

Test(histogram, small_values_are_exact)
{
    struct weir_histogram histogram = {0};
    for (uint64_t value = 0; value < 10; value++)
        weir_histogram_add(&histogram, value);
    cr_expect_eq(weir_histogram_percentile(&histogram, 10), 0);
    cr_expect_eq(weir_histogram_percentile(&histogram, 50), 4);
    cr_expect_eq(weir_histogram_percentile(&histogram, 90), 8);
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), 9);
}

Test(histogram, percentiles_are_at_most_an_eighth_above)
{
    struct weir_histogram histogram = {0};
    const uint64_t most = 1000000;
    for (uint64_t value = 1; value <= most; value++)
        weir_histogram_add(&histogram, value);
    for (unsigned percent = 1; percent <= 100; percent++) {
        uint64_t exact = most / 100 * percent, told = weir_histogram_percentile(&histogram, percent);
        cr_expect(told >= exact && told <= exact + exact / 8, "%u %%: %lu", percent, told);
    }
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), most);
}

Test(histogram, the_greatest_value_of_all_has_a_bucket)
{
    struct weir_histogram histogram = {0};
    weir_histogram_add(&histogram, UINT64_MAX);
    weir_histogram_add(&histogram, 7);
    weir_histogram_add(&histogram, 8);
    cr_expect_eq(weir_histogram_percentile(&histogram, 33), 7);
    cr_expect_eq(weir_histogram_percentile(&histogram, 60), 8);
    cr_expect_eq(weir_histogram_percentile(&histogram, 100), UINT64_MAX);
    cr_expect_eq(histogram.max, UINT64_MAX);
}

Test(histogram, shared_one_reads_as_what_was_added_and_adds_up)
{
    static struct weir_shared_histogram shared[2];
    struct weir_histogram sum = {0}, plain = {0};
    for (uint64_t value = 0; value < 100000; value += 37) {
        weir_shared_histogram_add(&shared[value % 2], value);
        weir_histogram_add(&plain, value);
    }
    weir_shared_histogram_read(&shared[0], &sum);
    weir_shared_histogram_read(&shared[1], &sum);
    cr_expect_arr_eq(sum.buckets, plain.buckets, sizeof(sum.buckets));
    cr_expect_eq(sum.count, plain.count);
    cr_expect_eq(sum.max, plain.max);
}

Test(histogram, shared_one_counts_what_is_beyond_its_last_bucket_there)
{
    static struct weir_shared_histogram shared;
    struct weir_histogram sum = {0};
    weir_shared_histogram_add(&shared, (UINT64_C(1) << 26) - 1);
    weir_shared_histogram_add(&shared, UINT64_C(1) << 26);
    weir_shared_histogram_add(&shared, UINT64_MAX);
    weir_shared_histogram_read(&shared, &sum);
    cr_expect_eq(sum.buckets[WEIR_SHARED_HISTOGRAM_BUCKETS - 1], 3);
    cr_expect_eq(sum.count, 3);
    cr_expect_eq(sum.max, UINT64_MAX);
    cr_expect_eq(weir_histogram_percentile(&sum, 50), (UINT64_C(1) << 26) - 1);
}

/* A reader of a small ring looks at it thousands of times a second. */
Test(histogram, shared_one_counts_for_weeks)
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
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        weir_histogram_add(&histogram, values[i]);
    cr_expect_eq(weir_histogram_below(&histogram, 256), 3);
    cr_expect_eq(weir_histogram_below(&histogram, 512), 4);
    cr_expect_eq(weir_histogram_below(&histogram, 768), 5);
    cr_expect_eq(weir_histogram_below(&histogram, UINT64_MAX), 7);
    cr_expect_eq(weir_histogram_sum(&histogram), 0 + 7 + 255 + 287 + 767 + 831 + 1023);
}

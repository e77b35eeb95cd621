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

/* Numbers, sizes and frequencies of the command line: what is refused, the bounds, and the way back to text. */
#include "cli/value.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/size_text.h"

#define PAGE 4096ull

static const char *const not_numbers[] = {"",    " ",    "-",   "-1",  "+1",   " 1",  "1 ",
                                          "1.5", "0x10", "1e5", "abc", "99k9", "1,2", "max1"};

Test(value, number_that_is_not_decimal_digits_is_malformed)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(not_numbers); i++) {
        uint64_t number = 7;
        cr_expect_eq(weir_value_parse_number(not_numbers[i], &number), -EINVAL, "'%s'", not_numbers[i]);
        cr_expect_eq(number, 7);
    }
    uint64_t number = 7;
    cr_expect_eq(weir_value_parse_number("4K", &number), -EINVAL);
    cr_expect_eq(weir_value_parse_number("max", &number), -EINVAL);
    cr_expect_eq(number, 7);
}

Test(value, number_above_64_bits_is_out_of_range)
{
    uint64_t number = 7;
    cr_expect_eq(weir_value_parse_number("18446744073709551616", &number), -ERANGE);
    cr_expect_eq(weir_value_parse_number("99999999999999999999", &number), -ERANGE);
    cr_expect_eq(weir_value_parse_number("36893488147419103232", &number), -ERANGE, "2^65 wraps to 0");
    cr_expect_eq(number, 7);
}

Test(value, malformed_goes_before_out_of_range)
{
    uint64_t number = 7;
    cr_expect_eq(weir_value_parse_number("99999999999999999999x", &number), -EINVAL);
    cr_expect_eq(weir_value_parse_size("99999999999999999999x", &number), -EINVAL);
    cr_expect_eq(number, 7);
}

Test(value, number_bounds_are_taken)
{
    uint64_t number = 7;
    cr_expect_eq(weir_value_parse_number("0", &number), 0);
    cr_expect_eq(number, 0);
    cr_expect_eq(weir_value_parse_number("007", &number), 0);
    cr_expect_eq(number, 7);
    cr_expect_eq(weir_value_parse_number("18446744073709551615", &number), 0);
    cr_expect_eq(number, UINT64_MAX);
}

Test(value, time_without_its_unit_or_with_another_is_malformed)
{
    static const char *const bad[] = {"", "5", "s", "5S", "5ms", "5 s", "-5s", "1.5s", "5sm", "max"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bad); i++) {
        uint64_t ns = 7;
        cr_expect_eq(weir_value_parse_time(bad[i], &ns), -EINVAL, "'%s'", bad[i]);
        cr_expect_eq(ns, 7);
    }
}

Test(value, time_bounds_are_taken)
{
    uint64_t ns = 7;
    cr_expect_eq(weir_value_parse_time("106752d", &ns), -ERANGE);
    cr_expect_eq(weir_value_parse_time("99999999999999999999s", &ns), -ERANGE);
    cr_expect_eq(ns, 7);
    cr_expect_eq(weir_value_parse_time("106751d", &ns), 0);
    cr_expect_eq(ns, 106751ull * 86400 * 1000000000);
    cr_expect_eq(weir_value_parse_time("0s", &ns), 0);
    cr_expect_eq(ns, 0);
    cr_expect_eq(weir_value_parse_time("2m", &ns), 0);
    cr_expect_eq(ns, 120ull * 1000000000);
    cr_expect_eq(weir_value_parse_time("3h", &ns), 0);
    cr_expect_eq(ns, 3ull * 3600 * 1000000000);
}

Test(value, size_or_time_goes_by_the_case_of_its_unit)
{
    uint64_t bytes = 1, ns = 1;
    cr_expect_eq(weir_value_parse_size_or_time("64k", &bytes, &ns), -EINVAL);
    cr_expect_eq(weir_value_parse_size_or_time("M", &bytes, &ns), -EINVAL);
    cr_expect_eq(weir_value_parse_size_or_time("", &bytes, &ns), -EINVAL);
    cr_expect_eq(weir_value_parse_size_or_time("17179869184G", &bytes, &ns), -ERANGE);
    cr_expect(bytes == 1 && ns == 1);
    cr_expect_eq(weir_value_parse_size_or_time("5M", &bytes, &ns), 0);
    cr_expect(bytes == 5u << 20 && ns == 0);
    cr_expect_eq(weir_value_parse_size_or_time("10000000", &bytes, &ns), 0);
    cr_expect(bytes == 10000000 && ns == 0);
    cr_expect_eq(weir_value_parse_size_or_time("5m", &bytes, &ns), 0);
    cr_expect(bytes == 0 && ns == 300ull * 1000000000);
}

Test(value, size_with_a_bad_suffix_is_malformed)
{
    static const char *const bad[] = {"K", "4KB", "4T", "4 K", "4kk", "-4K", "4.5M", "K4"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bad); i++) {
        uint64_t bytes = 7;
        cr_expect_eq(weir_value_parse_size(bad[i], &bytes), -EINVAL, "'%s'", bad[i]);
        cr_expect_eq(bytes, 7);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(not_numbers); i++) {
        uint64_t bytes = 7;
        cr_expect_eq(weir_value_parse_size(not_numbers[i], &bytes), -EINVAL, "'%s'", not_numbers[i]);
        cr_expect_eq(bytes, 7);
    }
}

Test(value, size_that_overflows_by_its_suffix_is_out_of_range)
{
    uint64_t bytes = 7;
    cr_expect_eq(weir_value_parse_size("17179869184G", &bytes), -ERANGE);
    cr_expect_eq(weir_value_parse_size("18446744073709551615K", &bytes), -ERANGE);
    cr_expect_eq(bytes, 7);
    cr_expect_eq(weir_value_parse_size("17179869183G", &bytes), 0);
    cr_expect_eq(bytes, 17179869183ull << 30);
}

Test(value, size_suffixes_are_powers_of_1024_in_either_case)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"5", 5},        {"5B", 5},       {"5b", 5},          {"5K", 5120},       {"5k", 5120},
                 {"5M", 5 << 20}, {"5m", 5 << 20}, {"5G", 5ull << 30}, {"5g", 5ull << 30}, {"0G", 0}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        uint64_t bytes = 7;
        cr_expect_eq(weir_value_parse_size(cases[i].text, &bytes), 0);
        cr_expect_eq(bytes, cases[i].bytes, "'%s'", cases[i].text);
    }
}

Test(value, frequency_is_a_number_or_max)
{
    uint64_t freq_hz = 7;
    cr_expect_eq(weir_value_parse_frequency("maximum", &freq_hz), -EINVAL);
    cr_expect_eq(weir_value_parse_frequency("99k", &freq_hz), -EINVAL);
    cr_expect_eq(weir_value_parse_frequency("18446744073709551615", &freq_hz), -ERANGE, "would read as max");
    cr_expect_eq(freq_hz, 7);
    cr_expect_eq(weir_value_parse_frequency("99", &freq_hz), 0);
    cr_expect_eq(freq_hz, 99);
    cr_expect_eq(weir_value_parse_frequency("max", &freq_hz), 0);
    cr_expect_eq(weir_value_parse_frequency("Max", &freq_hz), 0, "as perf");
    cr_expect_eq(freq_hz, WEIR_VALUE_FREQ_MAX);
}

Test(value, ring_size_without_suffix_counts_pages)
{
    struct weir_ring_size size = {0};
    cr_expect_eq(weir_value_parse_ring_size("x", &size), -EINVAL);
    cr_expect_eq(weir_value_parse_ring_size("16,4", &size), -EINVAL);
    cr_expect_eq(weir_value_parse_ring_size("18446744073709551616", &size), -ERANGE);
    cr_expect_not(size.given);

    cr_expect_eq(weir_value_parse_ring_size("128", &size), 0);
    cr_expect(size.given && !size.in_bytes && size.number == 128);
    cr_expect_eq(weir_value_parse_ring_size("128B", &size), 0);
    cr_expect(size.given && size.in_bytes && size.number == 128);
    cr_expect_eq(weir_value_parse_ring_size("2M", &size), 0);
    cr_expect(size.given && size.in_bytes && size.number == 2 << 20);
}

Test(value, ring_sizes_with_a_part_that_is_none_are_malformed)
{
    static const char *const texts[] = {"",       ",",        "16,",    "16,x",   "x,16",
                                        "16,,16", "16,16,16", "16 ,16", "16, 16", "4KK,1"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct weir_ring_size_pair pair = {.data = {.number = 7}};
        cr_expect_eq(weir_value_parse_ring_size_pair(texts[i], &pair), -EINVAL, "'%s'", texts[i]);
        cr_expect(pair.data.number == 7 && !pair.data.given && !pair.aux.given);
    }
    struct weir_ring_size_pair pair = {.data = {.number = 7}};
    cr_expect_eq(weir_value_parse_ring_size_pair("18446744073709551616,1", &pair), -ERANGE);
    cr_expect_eq(weir_value_parse_ring_size_pair("1,18446744073709551616", &pair), -ERANGE);
    cr_expect_eq(weir_value_parse_ring_size_pair("18446744073709551616,x", &pair), -EINVAL);
    cr_expect_eq(pair.data.number, 7);
}

/* perf's documents for Intel PT write -m,64M where the data rings are to stay as they are. */
Test(value, ring_sizes_are_of_data_and_of_aux_areas)
{
    struct weir_ring_size_pair pair;
    cr_expect_eq(weir_value_parse_ring_size_pair("128", &pair), 0);
    cr_expect(pair.data.given && !pair.data.in_bytes && pair.data.number == 128 && !pair.aux.given);
    cr_expect_eq(weir_value_parse_ring_size_pair("4M,64", &pair), 0);
    cr_expect(pair.data.given && pair.data.in_bytes && pair.data.number == 4 << 20);
    cr_expect(pair.aux.given && !pair.aux.in_bytes && pair.aux.number == 64);
    cr_expect_eq(weir_value_parse_ring_size_pair(",64M", &pair), 0);
    cr_expect(!pair.data.given && pair.aux.given && pair.aux.in_bytes && pair.aux.number == 64 << 20);
}

Test(value, ring_beyond_the_limit_is_out_of_range)
{
    static const struct weir_ring_size too_large[] = {
        {.number = 17},
        {.number = 9, .in_bytes = false},
        {.number = UINT64_MAX},
        {.number = UINT64_MAX, .in_bytes = true},
        {.number = 8 * PAGE + 1, .in_bytes = true},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(too_large); i++) {
        uint64_t ring_bytes = 7;
        bool rounded = false;
        cr_expect_eq(weir_value_resolve_ring_size(&too_large[i], PAGE, 8 * PAGE, &ring_bytes, &rounded), -ERANGE, "%zu",
                     i);
        cr_expect(ring_bytes == 7 && !rounded);
    }
}

/* What perf 6.1 makes of the same arguments (perf record -m N true): bytes to pages does not count as rounding. */
Test(value, ring_is_rounded_as_perf_rounds)
{
    static const struct {
        const char *text;
        uint64_t pages;
        bool rounded;
    } cases[] = {{"0", 1, true},   {"1", 1, false},     {"3", 4, true},   {"4", 4, false}, {"1B", 1, false},
                 {"4K", 1, false}, {"4097B", 2, false}, {"10K", 4, true}, {"0K", 1, true}, {"4M", 1024, false}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_ring_size size = {0};
        uint64_t ring_bytes = 0;
        bool rounded = !cases[i].rounded;
        cr_assert_eq(weir_value_parse_ring_size(cases[i].text, &size), 0);
        cr_expect_eq(weir_value_resolve_ring_size(&size, PAGE, 1ull << 32, &ring_bytes, &rounded), 0);
        cr_expect_eq(ring_bytes, cases[i].pages * PAGE, "'%s'", cases[i].text);
        cr_expect_eq(rounded, cases[i].rounded, "'%s'", cases[i].text);
    }
}

Test(value, formatted_size_reads_back_as_the_same)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {1023, "1023"},
                 {1024, "1K"},
                 {1025, "1025"},
                 {1536 << 10, "1536K"},
                 {4 << 20, "4M"},
                 {1ull << 30, "1G"},
                 {1ull << 40, "1024G"},
                 {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        char text[WEIR_SIZE_TEXT_BYTES];
        uint64_t bytes = 0;
        weir_size_format(cases[i].bytes, text);
        cr_expect_str_eq(text, cases[i].text);
        cr_expect_eq(weir_value_parse_size(text, &bytes), 0);
        cr_expect_eq(bytes, cases[i].bytes);
    }
}

Test(value, percentages_are_exact_to_a_millionth)
{
    static const char *const refused[] = {"", ".", ".5", "5.", "x", "1x", "-1", "1.23456", "100.0001", "101", "1e1"};
    uint64_t ppm = 7;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        cr_expect_lt(weir_value_parse_percent(refused[i], &ppm), 0, "%s", refused[i]);
    cr_expect_eq(ppm, 7);
    cr_expect_eq(weir_value_parse_percent("0", &ppm), 0);
    cr_expect_eq(ppm, 0);
    cr_expect_eq(weir_value_parse_percent("0.0001", &ppm), 0);
    cr_expect_eq(ppm, 1);
    cr_expect_eq(weir_value_parse_percent("2.5", &ppm), 0);
    cr_expect_eq(ppm, 25000);
    cr_expect_eq(weir_value_parse_percent("100", &ppm), 0);
    cr_expect_eq(ppm, 1000000);
}

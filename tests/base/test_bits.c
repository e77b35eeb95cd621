/* base/bits.h at the edges of each function's domain. */
#include "base/bits.h"

#include <criterion/criterion.h>

#define TOP_BIT (1ull << 63)

Test(bits, zero_and_composites_are_no_powers_of_two)
{
    const uint64_t values[] = {0, 3, 6, 12, TOP_BIT + 1, TOP_BIT - 1, UINT64_MAX};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(values); i++)
        cr_expect_not(weir_is_power_of_two(values[i]), "%#lx", values[i]);
}

Test(bits, each_single_bit_is_a_power_of_two)
{
    for (unsigned bit = 0; bit < 64; bit++)
        cr_expect(weir_is_power_of_two(1ull << bit), "bit %u", bit);
}

Test(bits, align_moves_only_what_is_off)
{
    cr_expect_eq(weir_align_up(0, 4096), 0);
    cr_expect_eq(weir_align_up(1, 4096), 4096);
    cr_expect_eq(weir_align_up(4096, 4096), 4096);
    cr_expect_eq(weir_align_up(4097, 4096), 8192);
    cr_expect_eq(weir_align_up(7, 1), 7);
    cr_expect_eq(weir_align_down(4095, 4096), 0);
    cr_expect_eq(weir_align_down(4096, 4096), 4096);
    cr_expect_eq(weir_align_down(UINT64_MAX, 8), UINT64_MAX - 7);
    cr_expect_eq(weir_align_down(7, 1), 7);
}

Test(bits, rounding_to_powers_of_two)
{
    const struct {
        uint64_t value, up, down;
    } cases[] = {
        {1, 1, 1},
        {2, 2, 2},
        {3, 4, 2},
        {4, 4, 4},
        {5, 8, 4},
        {(1ull << 32) + 1, 1ull << 33, 1ull << 32},
        {4095, 4096, 2048},
        {TOP_BIT - 1, TOP_BIT, 1ull << 62},
        {TOP_BIT, TOP_BIT, TOP_BIT},
    };
    cr_expect_eq(weir_round_up_power_of_two(0), 1);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        cr_expect_eq(weir_round_up_power_of_two(cases[i].value), cases[i].up, "up from %#lx", cases[i].value);
        cr_expect_eq(weir_round_down_power_of_two(cases[i].value), cases[i].down, "down from %#lx", cases[i].value);
    }
}

Test(bits, min_max_clamp)
{
    cr_expect_eq(weir_min_u64(0, UINT64_MAX), 0);
    cr_expect_eq(weir_max_u64(0, UINT64_MAX), UINT64_MAX);
    cr_expect_eq(weir_clamp_u64(4, 5, 9), 5);
    cr_expect_eq(weir_clamp_u64(5, 5, 9), 5);
    cr_expect_eq(weir_clamp_u64(7, 5, 9), 7);
    cr_expect_eq(weir_clamp_u64(10, 5, 9), 9);
}

Test(bits, array_count_is_elements_not_bytes)
{
    uint32_t five[5];
    cr_assert_eq(WEIR_ARRAY_COUNT(five), 5);
}

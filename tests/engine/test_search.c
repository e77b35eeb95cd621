/* The search for the highest value that holds, on probes that know it, and on noisy ones. */
#include "engine/sim/search.h"

#include <criterion/criterion.h>
#include <errno.h>

#define PROBES_MAX 64u

struct fake {
    uint64_t holds_to;   /* higher values fail */
    uint64_t reaches_to; /* higher ones are out of reach; 0: none are */
    unsigned lucky;      /* the probe of this number holds whatever the value; 0: none */
    unsigned unlucky;    /* the probe of this number fails whatever the value; 0: none */
    unsigned broken;     /* the probe of this number cannot be made; 0: none */
    uint64_t probed[PROBES_MAX];
    unsigned count;
};

static int probe(void *ctx, uint64_t value, enum weir_probe_outcome *outcome, struct weir_error *err)
{
    struct fake *fake = ctx;
    cr_assert_lt(fake->count, PROBES_MAX, "endless");
    fake->probed[fake->count++] = value;
    if (fake->count == fake->broken)
        return weir_error_set(err, -EIO, "broken");
    *outcome = value <= fake->holds_to || fake->count == fake->lucky ? WEIR_PROBE_HOLDS : WEIR_PROBE_FAILS;
    if (fake->reaches_to && value > fake->reaches_to)
        *outcome = WEIR_PROBE_OUT_OF_REACH;
    if (fake->count == fake->unlucky)
        *outcome = WEIR_PROBE_FAILS;
    return 0;
}

static uint64_t search(struct fake *fake, uint64_t first, uint64_t greatest, enum weir_search_limit *limit)
{
    struct weir_search setup = {.first = first, .greatest = greatest, .probe = probe, .ctx = fake};
    uint64_t best = 4711;
    struct weir_error err = {0};
    cr_assert_eq(weir_search_highest(&setup, &best, limit, &err), 0);
    return best;
}

Test(search, probe_that_cannot_be_made_ends_it)
{
    for (unsigned broken = 1; broken <= 8; broken++) {
        struct fake fake = {.holds_to = 3000, .broken = broken};
        struct weir_search setup = {.first = 1000, .greatest = 1000000, .probe = probe, .ctx = &fake};
        uint64_t best = 4711;
        enum weir_search_limit limit;
        struct weir_error err = {0};
        cr_assert_eq(weir_search_highest(&setup, &best, &limit, &err), -EIO);
        cr_assert_eq(best, 4711);
        cr_assert_eq(fake.count, broken);
    }
}

Test(search, nothing_holds)
{
    struct fake fake = {.holds_to = 0};
    enum weir_search_limit limit;
    cr_assert_eq(search(&fake, 100, 1000, &limit), 0);
    cr_assert_eq(limit, WEIR_SEARCH_LIMIT_FAILURE);
    const uint64_t expected[] = {100, 25, 6, 1};
    cr_assert_eq(fake.count, 4);
    cr_assert_arr_eq(fake.probed, expected, sizeof(expected));
}

Test(search, greatest_value_holds)
{
    struct fake fake = {.holds_to = 1000};
    enum weir_search_limit limit;
    cr_assert_eq(search(&fake, 100, 1000, &limit), 1000);
    cr_assert_eq(limit, WEIR_SEARCH_LIMIT_GREATEST);
    const uint64_t expected[] = {100, 400, 1000, 1000};
    cr_assert_eq(fake.count, 4);
    cr_assert_arr_eq(fake.probed, expected, sizeof(expected));
}

Test(search, value_found_is_within_the_precision_and_the_last_one_probed)
{
    const uint64_t edges[] = {1, 2, 3, 7, 999, 1000, 1001, 54321, 999999};
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        struct fake fake = {.holds_to = edges[i]};
        enum weir_search_limit limit;
        uint64_t best = search(&fake, 1000, 1000000, &limit);
        cr_expect_eq(limit, WEIR_SEARCH_LIMIT_FAILURE);
        cr_expect(best <= edges[i] && edges[i] - best <= edges[i] * WEIR_SEARCH_PERCENT / 100, "%lu of %lu", best,
                  edges[i]);
        cr_expect_eq(fake.probed[fake.count - 1], best);
        cr_expect_leq(fake.count, 20);
    }
}

Test(search, what_is_out_of_reach_is_no_failure)
{
    struct fake fake = {.holds_to = 1000000, .reaches_to = 7000};
    enum weir_search_limit limit;
    uint64_t best = search(&fake, 1000, 1000000, &limit);
    cr_assert(best <= 7000 && best >= 6650);
    cr_assert_eq(limit, WEIR_SEARCH_LIMIT_REACH);
}

Test(search, lucky_probe_is_found_out)
{
    struct fake fake = {.holds_to = 3900, .lucky = 2}; /* 4000 holds once */
    enum weir_search_limit limit;
    uint64_t best = search(&fake, 1000, 1000000, &limit);
    cr_assert_eq(best, 3800);
    cr_assert_eq(fake.probed[fake.count - 1], 3800);
    cr_assert_eq(fake.probed[fake.count - 2], 4000);
}

Test(search, greatest_value_that_is_found_out_is_a_failure)
{
    struct fake fake = {.holds_to = 1000, .unlucky = 4}; /* the one that is to confirm 1000 */
    enum weir_search_limit limit;
    cr_assert_eq(search(&fake, 100, 1000, &limit), 950);
    cr_assert_eq(limit, WEIR_SEARCH_LIMIT_FAILURE);
}

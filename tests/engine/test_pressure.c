/* Levels of pressure, and the gap between entering and leaving one. */
#include "engine/drain/pressure.h"

#include <criterion/criterion.h>

#include "base/bits.h"

Test(pressure, levels_are_entered_above_their_bounds)
{
    static const struct {
        uint64_t used;
        enum weir_pressure pressure;
    } cases[] = {
        {0, WEIR_PRESSURE_NONE},  {32, WEIR_PRESSURE_NONE}, {33, WEIR_PRESSURE_SOME}, {48, WEIR_PRESSURE_SOME},
        {49, WEIR_PRESSURE_HIGH}, {56, WEIR_PRESSURE_HIGH}, {57, WEIR_PRESSURE_FULL}, {64, WEIR_PRESSURE_FULL},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++)
        cr_expect_eq(weir_pressure_next(WEIR_PRESSURE_NONE, cases[i].used, 64), cases[i].pressure, "%u of 64",
                     (unsigned)cases[i].used);
}

Test(pressure, levels_are_left_an_eighth_below_where_they_are_entered)
{
    static const struct {
        uint64_t used;
        enum weir_pressure pressure;
    } cases[] = {
        {56, WEIR_PRESSURE_FULL}, {49, WEIR_PRESSURE_FULL}, {48, WEIR_PRESSURE_HIGH}, {41, WEIR_PRESSURE_HIGH},
        {40, WEIR_PRESSURE_SOME}, {25, WEIR_PRESSURE_SOME}, {24, WEIR_PRESSURE_NONE}, {0, WEIR_PRESSURE_NONE},
    };
    enum weir_pressure pressure = WEIR_PRESSURE_FULL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        pressure = weir_pressure_next(pressure, cases[i].used, 64);
        cr_expect_eq(pressure, cases[i].pressure, "%u of 64", (unsigned)cases[i].used);
        cr_expect_eq(weir_pressure_next(WEIR_PRESSURE_FULL, cases[i].used, 64), cases[i].pressure, "%u of 64, at once",
                     (unsigned)cases[i].used);
    }
}

/* Whatever it was before, a level is the same when nothing changes any more. */
Test(pressure, level_rests_when_the_use_does)
{
    for (uint64_t room = 1; room <= 70; room++) {
        for (uint64_t used = 0; used <= room + 2; used++) {
            for (unsigned before = 0; before < WEIR_PRESSURE_COUNT; before++) {
                enum weir_pressure once = weir_pressure_next((enum weir_pressure)before, used, room);
                cr_assert_eq(weir_pressure_next(once, used, room), once, "%u of %u from %u", (unsigned)used,
                             (unsigned)room, before);
            }
        }
    }
}

Test(pressure, pool_is_judged_by_what_readers_may_take)
{
    struct weir_pool pool;
    struct weir_pool_share share = {.node = -1, .readers = 1};
    cr_assert_eq(
        weir_pool_init(&pool, 9 * WEIR_CHUNK_MIN_BYTES, WEIR_POOL_ALL_READY, WEIR_CHUNK_MAX_BYTES, 0, &share, 1, NULL),
        0);
    cr_assert_eq(pool.chunk_count, 9);
    cr_assert_eq(pool.reserve, 1); /* 8 may be taken */
    struct weir_chunk *taken[8];
    static const enum weir_pressure expected[] = {
        WEIR_PRESSURE_NONE, WEIR_PRESSURE_NONE, WEIR_PRESSURE_NONE, WEIR_PRESSURE_NONE,
        WEIR_PRESSURE_SOME, WEIR_PRESSURE_SOME, WEIR_PRESSURE_HIGH, WEIR_PRESSURE_FULL,
    };
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(taken); i++) {
        taken[i] = weir_pool_take(&pool, 0, true);
        cr_expect_eq(weir_pool_pressure(&pool, WEIR_PRESSURE_NONE), expected[i], "%u taken", i + 1);
    }
    weir_pool_retain(&pool, 8); /* kept in memory: in nobody's way */
    cr_expect_eq(weir_pool_pressure(&pool, WEIR_PRESSURE_FULL), WEIR_PRESSURE_NONE);
    weir_pool_retain(&pool, -8);
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(taken); i++)
        weir_pool_put(&pool, taken[i]);
    weir_pool_fini(&pool);
}

Test(pressure, each_level_has_a_word)
{
    static const char *const words[] = {"none", "some", "high", "full"};
    for (unsigned i = 0; i < WEIR_PRESSURE_COUNT; i++)
        cr_expect_str_eq(weir_pressure_word((enum weir_pressure)i), words[i]);
}

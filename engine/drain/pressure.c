/* Levels of the pool's use, with a gap between entering and leaving. Pure; any thread. */
#include "engine/drain/pressure.h"

#include "base/assert.h"
#include "base/bits.h"

#define PARTS 8u

static const unsigned entered_above[] = {
    [WEIR_PRESSURE_NONE] = 0,
    [WEIR_PRESSURE_SOME] = 4,
    [WEIR_PRESSURE_HIGH] = 6,
    [WEIR_PRESSURE_FULL] = 7,
};
_Static_assert(WEIR_ARRAY_COUNT(entered_above) == WEIR_PRESSURE_COUNT, "a bound for each level");

enum weir_pressure weir_pressure_next(enum weir_pressure before, uint64_t used, uint64_t room)
{
    unsigned level = before;
    while (level < WEIR_PRESSURE_FULL && used * PARTS > entered_above[level + 1] * room)
        level++;
    while (level > WEIR_PRESSURE_NONE && used * PARTS <= (entered_above[level] - 1) * room)
        level--;
    return (enum weir_pressure)level;
}

enum weir_pressure weir_pool_pressure(const struct weir_pool *pool, enum weir_pressure before)
{
    return weir_pressure_next(before, weir_pool_used_count(pool), pool->chunk_count - pool->reserve);
}

const char *weir_pressure_word(enum weir_pressure pressure)
{
    static const char *const words[] = {"none", "some", "high", "full"};
    weir_assert(pressure < WEIR_PRESSURE_COUNT);
    return words[pressure];
}

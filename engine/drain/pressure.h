/*
 * Pressure: how far the output is behind, as the part of the pool that is in use. Each thread that needs the level
 * works it out from the pool's counts, which it reads anyway, and keeps the level that it saw last:
 *
 *     level   enters above   leaves at      of the chunks that readers may take (all but the reserve)
 *     SOME        4/8            3/8
 *     HIGH        6/8            5/8
 *     FULL        7/8            6/8
 *
 * The gap between entering and leaving keeps a pool that hovers at a bound from toggling the level. Threads share no
 * word for the level, and none decides the level for others. Readers that see different levels for a moment do no harm.
 * A writer or a coordinator that is held up cannot leave an old level standing.
 *
 * Pure; any thread.
 */
#ifndef WEIR_ENGINE_DRAIN_PRESSURE_H
#define WEIR_ENGINE_DRAIN_PRESSURE_H

#include <stdint.h>

#include "engine/drain/chunk.h"

enum weir_pressure {
    WEIR_PRESSURE_NONE,
    WEIR_PRESSURE_SOME,
    WEIR_PRESSURE_HIGH,
    WEIR_PRESSURE_FULL,
    WEIR_PRESSURE_COUNT,
};

/* The level of `used` chunks of `room`, when it was `before` at the last look. */
enum weir_pressure weir_pressure_next(enum weir_pressure before, uint64_t used, uint64_t room);

/* The level of a pool at about this moment; chunks that readers retain (retention.h) are not in use. */
enum weir_pressure weir_pool_pressure(const struct weir_pool *pool, enum weir_pressure before);

/* "none", "some", "high", "full". */
const char *weir_pressure_word(enum weir_pressure pressure);

#endif

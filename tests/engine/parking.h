/*
 * Holds threads at test points (engine/kernel/test_point.h) while the others go on. No Criterion: for race programs.
 *
 * A run has one point at which threads are parked: the first of them that come there, then ever fewer (the 2nd, 4th,
 * 8th ...), each for two milliseconds, in which the other threads make thousands of steps. What the program checks
 * must hold as in a run without.
 */
#ifndef WEIR_TESTS_ENGINE_PARKING_H
#define WEIR_TESTS_ENGINE_PARKING_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/kernel/test_point.h"

/*
 * Runs run(ctx) without parking and then, where the build has test points, once for each of the points with threads
 * parked there. Returns how many runs failed: run() returned more than 0, or no thread came to the point. Says which.
 */
int parking_run(const enum weir_test_point *points, size_t count, int (*run)(void *ctx), void *ctx);

/*
 * For an interleaving step by step: the next thread that comes to the point stays there until parking_release(), one
 * point at a time. Not while parking_run() runs. Without test points in the build no thread ever comes.
 *
 * hold() returns true once one is there, false when none came in 20 s. release() returns when it has gone on, so that a
 * hold() of the same point is for the time after.
 */
bool parking_hold(enum weir_test_point point);
void parking_release(void);

#endif

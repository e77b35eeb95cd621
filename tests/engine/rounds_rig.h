/*
 * Rounds on hand-filled rings; the test says what time it is, and plays the writer. One thread.
 */
#ifndef WEIR_TESTS_ENGINE_ROUNDS_RIG_H
#define WEIR_TESTS_ENGINE_ROUNDS_RIG_H

#include <stdint.h>

#include "engine/drain/rounds.h"
#include "tests/engine/reader_rig.h"

#define ROUNDS_RIG_START_NS (50 * WEIR_NS_PER_S)
#define ROUNDS_RIG_EPOCH_NS (ROUNDS_RIG_START_NS + WEIR_ROUND_PERIOD_NS) /* the first epoch that nobody wants */

#define ROUNDS_RIG_RING_BYTES (256 * 1024)

#define ROUNDS_RIG_CROWD     64u /* readers of a large machine */
#define ROUNDS_RIG_BUSY      0u  /* two of them, which may have something to do; all others are idle */
#define ROUNDS_RIG_STRAGGLER 1u

struct rounds_rig {
    struct reader_rig rig;
    struct weir_rounds rounds;
    struct weir_reader *crowd[ROUNDS_RIG_CROWD];
};

/* Put back by rig_fini(&f->rig). */
void rounds_rig_init(struct rounds_rig *f, unsigned readers);

/* One idle reader stands for all but two. */
void rounds_rig_init_crowd(struct rounds_rig *f);

void rounds_rig_step(struct rounds_rig *f, unsigned reader);
uint64_t rounds_rig_wakes_sent(const struct rounds_rig *f, unsigned reader);

/* Wants an epoch without haste, and advances. */
uint64_t rounds_rig_advance_wanted(struct weir_rounds *rounds, uint64_t now_ns);

/* Asserts that the next thing in the queue is a marker, and sets it free as the writer does. */
void rounds_rig_expect_marker(struct rounds_rig *f);

/* An on_cut: ctx is an unsigned, which it adds one to. */
void rounds_rig_count_cut(void *ctx);

#endif

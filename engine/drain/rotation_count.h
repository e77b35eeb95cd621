/*
 * Counts rotations of the output, for threads that ask whether a moment was near one.
 *
 * Any thread may begin and end a rotation. All accesses are relaxed: the count hands nothing over, readers only sort
 * their figures by it (drain_watch.h).
 */
#ifndef WEIR_ENGINE_DRAIN_ROTATION_COUNT_H
#define WEIR_ENGINE_DRAIN_ROTATION_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WEIR_ROTATION_COUNT_STEP (UINT64_C(1) << 32)

struct weir_rotation_count {
    _Atomic uint64_t word; /* upper half: grows with each beginning and each end; lower half: rotations under way */
};

static inline void weir_rotation_count_begin(struct weir_rotation_count *count)
{
    atomic_fetch_add_explicit(&count->word, WEIR_ROTATION_COUNT_STEP + 1, memory_order_relaxed);
}

static inline void weir_rotation_count_end(struct weir_rotation_count *count)
{
    atomic_fetch_add_explicit(&count->word, WEIR_ROTATION_COUNT_STEP - 1, memory_order_relaxed);
}

/* The word as it is now. Two different words mean that a rotation began or ended between them. */
static inline uint64_t weir_rotation_count_look(const struct weir_rotation_count *count)
{
    return atomic_load_explicit(&count->word, memory_order_relaxed);
}

/* Whether a rotation was under way when the word was read. */
static inline bool weir_rotation_count_under_way(uint64_t word)
{
    return word % WEIR_ROTATION_COUNT_STEP > 0;
}

#endif

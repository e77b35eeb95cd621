/*
 * Counts of a step of the stage (chunk_rewriter.h): a struct of uint64_t, of which each worker has one for its present
 * chunk and the step one of atomic words for all. Relaxed: each count stands for itself. Workers add their counts once
 * per chunk, and any thread may read the sums.
 */
#ifndef WEIR_ENGINE_DRAIN_STEP_COUNTS_H
#define WEIR_ENGINE_DRAIN_STEP_COUNTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The atomic words for a struct of counts of that type. */
#define WEIR_STEP_COUNTS(type, name) _Atomic uint64_t name[sizeof(type) / sizeof(uint64_t)]

/* Adds the counts of a chunk, a struct of so many bytes, to the words, and sets them to zero. */
static inline void weir_step_counts_add(_Atomic uint64_t *words, void *counts, size_t bytes)
{
    uint64_t *own = counts;
    for (size_t i = 0; i < bytes / sizeof(*own); i++) {
        if (own[i] > 0)
            atomic_fetch_add_explicit(&words[i], own[i], memory_order_relaxed);
    }
    memset(counts, 0, bytes);
}

/* Reads the words into a struct of so many bytes. */
static inline void weir_step_counts_read(const _Atomic uint64_t *words, void *counts, size_t bytes)
{
    uint64_t *own = counts;
    for (size_t i = 0; i < bytes / sizeof(*own); i++)
        own[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
}

#endif

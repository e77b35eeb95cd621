/* Small integer helpers. Each is defined for all arguments that its comment allows; no side effects. */
#ifndef WEIR_BASE_BITS_H
#define WEIR_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WEIR_ARRAY_COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define WEIR_CACHE_LINE_BYTES 64

static inline bool weir_is_power_of_two(uint64_t v)
{
    return v != 0 && (v & (v - 1)) == 0;
}

/* align: a power of two; v + align must not overflow. */
static inline uint64_t weir_align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}

static inline uint64_t weir_align_down(uint64_t v, uint64_t align)
{
    return v & ~(align - 1);
}

/* The least power of two >= v; 1 for 0; v <= 2^63. */
static inline uint64_t weir_round_up_power_of_two(uint64_t v)
{
    return v <= 1 ? 1 : 1ull << (64 - __builtin_clzll(v - 1));
}

/* The greatest power of two <= v; v >= 1. */
static inline uint64_t weir_round_down_power_of_two(uint64_t v)
{
    return 1ull << (63 - __builtin_clzll(v));
}

static inline uint64_t weir_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t weir_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Whether all bytes are zeros. */
static inline bool weir_is_zero(const void *data, size_t bytes)
{
    const char *first = data;
    return bytes == 0 || (*first == 0 && memcmp(first, first + 1, bytes - 1) == 0);
}

static inline uint64_t weir_clamp_u64(uint64_t v, uint64_t low, uint64_t high)
{
    return v < low ? low : v > high ? high : v;
}

#endif

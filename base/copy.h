/*
 * Copies records between memory at any two alignments.
 *
 * memcpy(3) of glibc 2.36 uses `rep movsb` for more than 2 KiB. On AMD's Zen 3 and 4, `rep movsb` runs at half speed
 * when source and target differ modulo 32. It is six times slower when the target lies just behind the source modulo
 * 4096 (glibc bug 30994). Records begin at multiples of 8, so most copies are misaligned in this way. A loop of 16-byte
 * loads and stores, which every x86-64 and arm64 has, copies at memcpy's best speed for all alignments.
 */
#ifndef WEIR_BASE_COPY_H
#define WEIR_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/sanitizer.h"

/* Sanitizers do not see stores past the caches, so builds with a sanitizer use plain stores. */
#if defined(__SSE2__) && !defined(WEIR_HAS_SANITIZER)
#define WEIR_COPY_PASSES_CACHES 1
#include <emmintrin.h>
#endif

/* Copies bytes as memcpy(3) does: source and target do not overlap. Any thread. */
void weir_copy(void *to, const void *from, size_t bytes);

/*
 * Copies bytes that no CPU will read soon. The copy writes whole cache lines of the target past the caches. So the CPU
 * need not read these lines from memory first (movntdq of x86-64: Intel SDM volume 1, 10.4.6.2; AMD64 APM volume 1,
 * 5.4.3). Where a call begins or ends within a line, that part of the line is written as weir_copy() writes it.
 * Machines without such a store, and builds with a sanitizer, write everything as weir_copy() does. This thread reads
 * back what it has written; weir_copy_fence() comes before another thread may read the target.
 */
void weir_copy_past_caches(void *to, const void *from, size_t bytes);

/* Sixteen bytes at any address, of any type. */
typedef uint8_t weir_copy_vector __attribute__((vector_size(16), aligned(1), may_alias));

/* Stores value past the caches. out: a multiple of 16. */
static inline void weir_copy_store_past_caches(weir_copy_vector *out, weir_copy_vector value)
{
#ifdef WEIR_COPY_PASSES_CACHES
    _mm_stream_si128((__m128i *)(void *)out, (__m128i)value);
#else
    *out = value;
#endif
}

/* Distance of the prefetch ahead of the copy past the caches: a page, so that the address translation is ready in time
 * as well. The CPU's own prefetcher does not cross pages, and predicts badly while a walk over record headers reads
 * beside the copy. */
#define WEIR_COPY_AHEAD_BYTES 4096u

/* Prefetches the source at from + WEIR_COPY_AHEAD_BYTES; the address need not be mapped. Does nothing in builds whose
 * stores go through the caches: a prefetch makes them slower (docs/performance.md, "Past the caches"). */
static inline void weir_copy_fetch_ahead(const uint8_t *from)
{
#ifdef WEIR_COPY_PASSES_CACHES
    __builtin_prefetch((const void *)((uintptr_t)from + WEIR_COPY_AHEAD_BYTES));
#else
    (void)from;
#endif
}

/* Copies one cache line as weir_copy_past_caches() does, and prefetches the source. to: a multiple of
 * WEIR_CACHE_LINE_BYTES. */
static inline void weir_copy_line_past_caches(uint8_t *to, const uint8_t *from)
{
    weir_copy_fetch_ahead(from);
    const weir_copy_vector *in = (const weir_copy_vector *)(const void *)from;
    weir_copy_vector *out = (weir_copy_vector *)(void *)to;
    weir_copy_vector a = in[0], b = in[1], c = in[2], d = in[3];
    weir_copy_store_past_caches(out, a), weir_copy_store_past_caches(out + 1, b);
    weir_copy_store_past_caches(out + 2, c), weir_copy_store_past_caches(out + 3, d);
}

/* Orders this thread's stores past the caches before all its later stores. Plain stores have that order by themselves.
 */
void weir_copy_fence(void);

#endif

/*
 * Copying records: memory that lies at any offset, to memory that lies at another one.
 *
 * memcpy(3) of glibc 2.36 takes `rep movsb` for more than 2 KiB. On AMD's Zen 3 and 4 that halves the speed when source
 * and target are not alike modulo 32, and is six times slower when the target lies just behind the source modulo 4096
 * (glibc bug 30994). Records begin at multiples of 8, so most are not alike. A loop of 16 byte loads and stores, which
 * every x86-64 and arm64 has, is as fast for all of them as memcpy is for the best.
 */
#ifndef WEIR_BASE_COPY_H
#define WEIR_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/sanitizer.h"

/* Sanitizers know nothing of stores past the caches, and are to see what is written. */
#if defined(__SSE2__) && !defined(WEIR_HAS_SANITIZER)
#define WEIR_COPY_PASSES_CACHES 1
#include <emmintrin.h>
#endif

/* As memcpy(3): the two do not overlap. Any thread. */
void weir_copy(void *to, const void *from, size_t bytes);

/*
 * The same for what no CPU will look at soon: whole cache lines of the target are written past the caches (movntdq of
 * x86-64: Intel SDM volume 1, 10.4.6.2; AMD64 APM volume 1, 5.4.3), so that they are not read from memory first. A call
 * that begins or ends within a line writes that part of it as weir_copy() does. Where there is no such store,
 * and in builds with a sanitizer, all of it. The target reads back as written on this thread; before another one may
 * look, weir_copy_settle().
 */
void weir_copy_past_caches(void *to, const void *from, size_t bytes);

/* At any address, and of whatever type the bytes are. */
typedef uint8_t weir_copy_vector __attribute__((vector_size(16), aligned(1), may_alias));

/* out: at a multiple of its size. */
static inline void weir_copy_store_past_caches(weir_copy_vector *out, weir_copy_vector value)
{
#ifdef WEIR_COPY_PASSES_CACHES
    _mm_stream_si128((__m128i *)(void *)out, (__m128i)value);
#else
    *out = value;
#endif
}

/* So far ahead of what is copied past the caches its source is fetched: a page, so that the address is translated in
 * time, too. The processor fetches ahead by itself, but not across pages, nor well where a walk of headers reads beside
 * it. */
#define WEIR_COPY_AHEAD_BYTES 4096u

/* A hint: nothing need be there. Not with stores that go through the caches, which are slower then
 * (docs/performance.md, "Past the caches"). */
static inline void weir_copy_fetch_ahead(const uint8_t *from)
{
#ifdef WEIR_COPY_PASSES_CACHES
    __builtin_prefetch((const void *)((uintptr_t)from + WEIR_COPY_AHEAD_BYTES));
#else
    (void)from;
#endif
}

/* WEIR_CACHE_LINE_BYTES, as weir_copy_past_caches() does; to is a multiple of that. Fetches what lies ahead of from. */
static inline void weir_copy_line_past_caches(uint8_t *to, const uint8_t *from)
{
    weir_copy_fetch_ahead(from);
    const weir_copy_vector *in = (const weir_copy_vector *)(const void *)from;
    weir_copy_vector *out = (weir_copy_vector *)(void *)to;
    weir_copy_vector a = in[0], b = in[1], c = in[2], d = in[3];
    weir_copy_store_past_caches(out, a), weir_copy_store_past_caches(out + 1, b);
    weir_copy_store_past_caches(out + 2, c), weir_copy_store_past_caches(out + 3, d);
}

/* What this thread has written past the caches is ordered before whatever it writes from here on, as other stores are
 * by themselves. */
void weir_copy_settle(void);

#endif

/* Copying records, see copy.h. Any thread. */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "base/sanitizer.h"

/* Sanitizers know nothing of such stores, and are to see what is written. */
#if defined(__SSE2__) && !defined(WEIR_HAS_SANITIZER)
#define PASSES_CACHES 1
#include <emmintrin.h>
#endif

#define STEP_BYTES 64 /* a cache line, too; four loads, then four stores: wider ones were not faster */

/* At any address, and of whatever type the bytes are. */
typedef uint8_t vector __attribute__((vector_size(16), aligned(1), may_alias));

void weir_copy(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, source += STEP_BYTES, target += STEP_BYTES) {
        const vector *in = (const vector *)(const void *)source;
        vector *out = (vector *)(void *)target;
        vector a = in[0], b = in[1], c = in[2], d = in[3];
        out[0] = a, out[1] = b, out[2] = c, out[3] = d;
    }
    memcpy(target, source, bytes);
}

/* out: at a multiple of its size. */
static inline void store_past_caches(vector *out, vector value)
{
#ifdef PASSES_CACHES
    _mm_stream_si128((__m128i *)(void *)out, (__m128i)value);
#else
    *out = value;
#endif
}

void weir_copy_past_caches(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    size_t before_line = weir_min_u64(-(uintptr_t)target % STEP_BYTES, bytes);
    memcpy(target, source, before_line);
    target += before_line, source += before_line, bytes -= before_line;
    for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, source += STEP_BYTES, target += STEP_BYTES) {
        const vector *in = (const vector *)(const void *)source;
        vector *out = (vector *)(void *)target;
        vector a = in[0], b = in[1], c = in[2], d = in[3];
        store_past_caches(out, a), store_past_caches(out + 1, b);
        store_past_caches(out + 2, c), store_past_caches(out + 3, d);
    }
    memcpy(target, source, bytes);
}

void weir_copy_settle(void)
{
#ifdef PASSES_CACHES
    _mm_sfence();
#endif
}

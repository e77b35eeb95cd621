/* Copying records, see copy.h. Any thread. */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bits.h"

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

#ifdef __SSE2__

void weir_copy_past_caches(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    size_t before_line = weir_min_u64(-(uintptr_t)target % STEP_BYTES, bytes);
    memcpy(target, source, before_line);
    target += before_line, source += before_line, bytes -= before_line;
    for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, source += STEP_BYTES, target += STEP_BYTES) {
        const __m128i *in = (const __m128i *)(const void *)source;
        __m128i *out = (__m128i *)(void *)target;
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
        _mm_stream_si128(out, a), _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c), _mm_stream_si128(out + 3, d);
    }
    memcpy(target, source, bytes);
}

void weir_copy_settle(void)
{
    _mm_sfence();
}

#else

void weir_copy_past_caches(void *to, const void *from, size_t bytes)
{
    weir_copy(to, from, bytes);
}

void weir_copy_settle(void)
{
}

#endif

/* Copies of records, by vectors of 16 bytes. Any thread. */
#include "base/copy.h"

#include <string.h>

#define STEP_BYTES WEIR_CACHE_LINE_BYTES /* four loads, then four stores: wider ones were not faster */

void weir_copy(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, source += STEP_BYTES, target += STEP_BYTES) {
        const weir_copy_vector *in = (const weir_copy_vector *)(const void *)source;
        weir_copy_vector *out = (weir_copy_vector *)(void *)target;
        weir_copy_vector a = in[0], b = in[1], c = in[2], d = in[3];
        out[0] = a, out[1] = b, out[2] = c, out[3] = d;
    }
    memcpy(target, source, bytes);
}

void weir_copy_past_caches(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    size_t before_line = weir_min_u64(-(uintptr_t)target % STEP_BYTES, bytes);
    memcpy(target, source, before_line);
    target += before_line, source += before_line, bytes -= before_line;
    for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, source += STEP_BYTES, target += STEP_BYTES)
        weir_copy_line_past_caches(target, source);
    memcpy(target, source, bytes);
}

void weir_copy_fence(void)
{
#ifdef WEIR_COPY_PASSES_CACHES
    _mm_sfence();
#endif
}

/* The tee between a reader and the sideband thread; the labels of the memory order are in side_tee.h. */
#include "engine/drain/side_tee.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/kernel/test_point.h"

int weir_side_tee_init(struct weir_side_tee *tee, size_t bytes)
{
    weir_assert(weir_is_power_of_two(bytes));
    memset(tee, 0, sizeof(*tee));
    tee->data = malloc(bytes);
    if (!tee->data)
        return -ENOMEM;
    tee->bytes = bytes;
    return 0;
}

void weir_side_tee_fini(struct weir_side_tee *tee)
{
    if (!tee)
        return;
    free(tee->data);
    memset(tee, 0, sizeof(*tee));
}

void weir_side_tee_push(struct weir_side_tee *tee, const void *records, size_t bytes)
{
    uint64_t head = atomic_load_explicit(&tee->head, memory_order_relaxed); /* our own word */
    if (bytes > tee->bytes - (head - tee->known_tail)) {
        tee->known_tail = atomic_load_explicit(&tee->tail, memory_order_acquire); /* (tee-tail) */
        if (bytes > tee->bytes - (head - tee->known_tail)) {
            /* Relaxed: a count, our own word. */
            uint64_t missed = atomic_load_explicit(&tee->missed, memory_order_relaxed);
            atomic_store_explicit(&tee->missed, missed + 1, memory_order_relaxed);
            return;
        }
    }
    size_t at = head & (tee->bytes - 1);
    size_t first = weir_min_u64(bytes, tee->bytes - at);
    memcpy(tee->data + at, records, first);
    memcpy(tee->data, (const uint8_t *)records + first, bytes - first);
    weir_test_point(WEIR_AT_TEE_PUSH);
    atomic_store_explicit(&tee->head, head + bytes, memory_order_release); /* (tee-head) */
}

int64_t weir_side_tee_drain(struct weir_side_tee *tee, struct weir_buf *out)
{
    uint64_t head = atomic_load_explicit(&tee->head, memory_order_acquire); /* (tee-head) */
    uint64_t tail = atomic_load_explicit(&tee->tail, memory_order_relaxed); /* our own word */
    size_t bytes = head - tail;
    if (bytes == 0)
        return 0;
    uint8_t *to = weir_buf_extend(out, bytes);
    if (!to)
        return -ENOMEM;
    size_t at = tail & (tee->bytes - 1);
    size_t first = weir_min_u64(bytes, tee->bytes - at);
    memcpy(to, tee->data + at, first);
    memcpy(to + first, tee->data, bytes - first);
    weir_test_point(WEIR_AT_TEE_DRAIN);
    atomic_store_explicit(&tee->tail, head, memory_order_release); /* (tee-tail) */
    return (int64_t)bytes;
}

uint64_t weir_side_tee_missed(const struct weir_side_tee *tee)
{
    return atomic_load_explicit(&tee->missed, memory_order_relaxed); /* a count */
}

uint64_t weir_side_tee_pushed(const struct weir_side_tee *tee)
{
    return atomic_load_explicit(&tee->head, memory_order_relaxed); /* our own word */
}

uint64_t weir_side_tee_drained(const struct weir_side_tee *tee)
{
    return atomic_load_explicit(&tee->tail, memory_order_relaxed); /* our own word */
}

/*
 * A CPU comes back: what a reader's rings are told then. next_return() is called by the reader, the rest by the
 * coordinator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/drain/reader_internal.h"
#include "engine/kernel/test_point.h"

/* Records that a chunk takes. */
static int note(struct weir_reader_ring *r, const uint8_t *records, size_t bytes)
{
    struct weir_reader_return *next = malloc(sizeof(*next) + bytes);
    if (!next)
        return -ENOMEM;
    next->before = atomic_load_explicit(&r->returned, memory_order_relaxed); /* our own word */
    next->at = weir_ring_head(&r->ring); /* nobody writes to it: the old events are dead, the new ones are not on */
    next->bytes = bytes;
    memcpy(next->records, records, bytes);
    weir_test_point(WEIR_AT_RING_RETURN);
    atomic_store_explicit(&r->returned, next, memory_order_release); /* (R) */
    return 0;
}

int weir_reader_note_return(struct weir_reader_ring *r, const void *records, size_t bytes)
{
    int result = 0;
    for (size_t noted = 0, piece; result == 0 && noted < bytes; noted += piece) {
        const uint8_t *rest = (const uint8_t *)records + noted;
        piece = weir_record_whole_bytes(rest, weir_min_u64(bytes - noted, WEIR_CHUNK_MIN_BYTES));
        result = note(r, rest, piece);
    }
    return result;
}

void weir_reader_rename(struct weir_reader_ring *r)
{
    atomic_store_explicit(&r->renames, true, memory_order_relaxed); /* weir_reader_renames() says why that is enough */
}

/* (R) acquire pairs with the release of note_return(): who sees it sees its records. It was stored before the events
 * were enabled, so who has looked at a head that is beyond it (C) sees it. */
const struct weir_reader_return *weir_reader_next_return(const struct weir_reader_ring *r)
{
    const struct weir_reader_return *next = atomic_load_explicit(&r->returned, memory_order_acquire);
    if (next == r->passed)
        return NULL;
    while (next->before != r->passed)
        next = next->before;
    return next;
}

void weir_reader_free_returns(struct weir_reader_ring *r)
{
    /* Relaxed: the threads have been joined. */
    for (struct weir_reader_return *at = atomic_load_explicit(&r->returned, memory_order_relaxed); at;) {
        struct weir_reader_return *before = at->before;
        free(at);
        at = before;
    }
}

/*
 * The rings of a reader: made, taken apart, counted; and the returns of their CPUs. The coordinator calls all functions
 * but samples() and next_return(), which are the reader's. Edges: reader_ring.h.
 */
#include "engine/drain/reader_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/drain/chunk.h"
#include "engine/kernel/test_point.h"

int weir_reader_rings_init(struct weir_reader_rings *rings, unsigned count, unsigned event_count)
{
    *rings = (struct weir_reader_rings){.count = count, .event_count = event_count};
    rings->at = calloc(count, sizeof(*rings->at));
    if (!rings->at)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        uint64_t *samples = calloc(event_count, sizeof(*samples));
        if (!samples)
            return -ENOMEM;
        rings->at[i].counts.samples = samples;
    }
    return 0;
}

static void free_ring(struct weir_reader_ring *r)
{
    weir_assert(!r->aux);
    weir_ring_unmap(&r->ring);
    free(r->counts.samples);
    free(r->gaps);
    /* Relaxed: the threads have been joined. */
    for (struct weir_reader_return *at = atomic_load_explicit(&r->returned, memory_order_relaxed); at;) {
        struct weir_reader_return *before = at->before;
        free(at);
        at = before;
    }
}

void weir_reader_rings_fini(struct weir_reader_rings *rings)
{
    for (unsigned i = 0; rings->at && i < rings->count; i++)
        free_ring(&rings->at[i]);
    free(rings->at);
    *rings = (struct weir_reader_rings){0};
}

void weir_reader_rings_drop(struct weir_reader_rings *rings, struct weir_reader_ring *r)
{
    weir_assert(!r->ring.page);
    free_ring(r);
    size_t behind = (size_t)(rings->at + rings->count - (r + 1));
    memmove(r, r + 1, behind * sizeof(*r));
    rings->count--;
}

unsigned weir_reader_rings_mapped(const struct weir_reader_rings *rings)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rings->count; i++)
        count += rings->at[i].ring.page != NULL;
    return count;
}

static uint64_t ring_samples(const struct weir_reader_rings *rings, const struct weir_reader_ring *r)
{
    uint64_t samples = 0;
    for (unsigned event = 0; event < rings->event_count; event++)
        samples += r->counts.samples[event];
    return samples;
}

uint64_t weir_reader_rings_samples(const struct weir_reader_rings *rings)
{
    uint64_t samples = 0;
    for (unsigned i = 0; i < rings->count; i++)
        samples += ring_samples(rings, &rings->at[i]);
    return samples;
}

void weir_reader_rings_tell(struct weir_reader_rings *rings)
{
    for (unsigned i = 0; i < rings->count; i++) {
        struct weir_reader_ring *r = &rings->at[i];
        /* Relaxed: see the fields. */
        atomic_store_explicit(&r->told_samples, ring_samples(rings, r), memory_order_relaxed);
        atomic_store_explicit(&r->told_lost, r->counts.lost_reported, memory_order_relaxed);
    }
}

void weir_reader_ring_set_poll_fds(struct weir_reader_ring *r, const int *fds, unsigned count)
{
    r->poll_fds = fds;
    r->poll_fd_count = count;
    r->poll_fd = 0;
    while (r->poll_fd < count && fds[r->poll_fd] < 0)
        r->poll_fd++;
}

void weir_reader_ring_rename(struct weir_reader_ring *r)
{
    atomic_store_explicit(&r->renames, true, memory_order_relaxed); /* weir_reader_ring_renames() says why */
}

/* Notes a return whose records one chunk takes. */
static int note(struct weir_reader_ring *r, const uint8_t *records, size_t bytes)
{
    struct weir_reader_return *next = malloc(sizeof(*next) + bytes);
    if (!next)
        return -ENOMEM;
    next->before = atomic_load_explicit(&r->returned, memory_order_relaxed); /* our own word */
    next->at = weir_ring_head(&r->ring); /* nobody writes to the ring: the old events are dead, the new ones are off */
    next->bytes = bytes;
    memcpy(next->records, records, bytes);
    weir_test_point(WEIR_AT_RING_RETURN);
    atomic_store_explicit(&r->returned, next, memory_order_release); /* (cpu-return) */
    return 0;
}

int weir_reader_ring_note_return(struct weir_reader_ring *r, const void *records, size_t bytes)
{
    int result = 0;
    for (size_t noted = 0, piece; result == 0 && noted < bytes; noted += piece) {
        const uint8_t *rest = (const uint8_t *)records + noted;
        piece = weir_record_whole_bytes(rest, weir_min_u64(bytes - noted, WEIR_CHUNK_MIN_BYTES));
        result = note(r, rest, piece);
    }
    return result;
}

const struct weir_reader_return *weir_reader_ring_next_return(const struct weir_reader_ring *r)
{
    const struct weir_reader_return *next = atomic_load_explicit(&r->returned, memory_order_acquire); /* (cpu-return) */
    if (next == r->passed)
        return NULL;
    while (next->before != r->passed)
        next = next->before;
    return next;
}

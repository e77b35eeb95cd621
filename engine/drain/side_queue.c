/* The queue of side records; see side_queue.h. Run by the sideband thread. */
#include "engine/drain/side_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"

void weir_side_queue_init(struct weir_side_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
}

void weir_side_queue_fini(struct weir_side_queue *queue)
{
    weir_buf_fini(&queue->records);
    free(queue->entries);
    weir_side_queue_init(queue);
}

static bool make_room(struct weir_side_queue *queue)
{
    struct weir_side_entry *entries = weir_array_grow(queue->entries, sizeof(*entries), queue->count, 1, &queue->room);
    if (!entries)
        return false;
    queue->entries = entries;
    return true;
}

void weir_side_queue_push(struct weir_side_queue *queue, const uint8_t *record, size_t bytes, uint64_t time_ns,
                          const struct weir_side_origin *origin)
{
    size_t offset = queue->records.used;
    uint8_t *to = NULL;
    if (offset + bytes <= 2ull * WEIR_SIDE_QUEUE_BYTES && make_room(queue))
        to = weir_buf_extend(&queue->records, bytes);
    if (!to) {
        queue->records.error = 0; /* the next record tries again */
        queue->lost++;
        return;
    }
    memcpy(to, record, bytes);
    queue->entries[queue->count++] = (struct weir_side_entry){
        .time_ns = time_ns,
        .origin = *origin,
        .offset = (uint32_t)offset,
        .bytes = (uint32_t)bytes,
    };
    queue->newest_ns = weir_max_u64(queue->newest_ns, time_ns);
}

static int compare(const void *a, const void *b)
{
    const struct weir_side_entry *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_offsets(const void *a, const void *b)
{
    const struct weir_side_entry *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Passes on the first `taken` of the sorted entries, and moves the others to the front, in the order of arrival. */
static void apply_first(struct weir_side_queue *queue, size_t taken, weir_side_apply apply, void *ctx)
{
    for (size_t i = 0; i < taken; i++)
        apply(ctx, queue->records.data + queue->entries[i].offset, queue->entries[i].bytes);
    size_t left = queue->count - taken, used = 0;
    if (left > 0)
        memmove(queue->entries, queue->entries + taken, left * sizeof(*queue->entries));
    queue->count = left;
    qsort(queue->entries, left, sizeof(*queue->entries), compare_offsets);
    for (size_t i = 0; i < left; i++) {
        struct weir_side_entry *entry = &queue->entries[i];
        memmove(queue->records.data + used, queue->records.data + entry->offset, entry->bytes);
        entry->offset = (uint32_t)used;
        used += entry->bytes;
    }
    queue->records.used = used;
}

static void apply_until(struct weir_side_queue *queue, uint64_t time_ns, weir_side_apply apply, void *ctx)
{
    if (queue->count == 0)
        return;
    qsort(queue->entries, queue->count, sizeof(*queue->entries), compare);
    size_t taken = 0;
    while (taken < queue->count && queue->entries[taken].time_ns <= time_ns)
        taken++;
    apply_first(queue, taken, apply, ctx);
}

void weir_side_queue_advance(struct weir_side_queue *queue, uint64_t epoch, uint64_t epoch_after, weir_side_apply apply,
                             void *ctx)
{
    if (queue->has_horizon && epoch >= queue->horizon_epoch) {
        queue->has_horizon = false;
        apply_until(queue, queue->horizon_ns, apply, ctx);
    }
    if (queue->records.used > WEIR_SIDE_QUEUE_BYTES) {
        qsort(queue->entries, queue->count, sizeof(*queue->entries), compare);
        queue->unproven += queue->count / 2;
        apply_first(queue, queue->count / 2, apply, ctx);
    }
    if (!queue->has_horizon && queue->count > 0) {
        queue->has_horizon = true;
        queue->horizon_ns = queue->newest_ns;
        queue->horizon_epoch = epoch_after + 2;
    }
}

int weir_side_queue_visit(const struct weir_side_queue *queue,
                          int (*visit)(void *ctx, const struct weir_side_origin *origin, const uint8_t *record,
                                       size_t bytes),
                          void *ctx)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < queue->count; i++) {
        const struct weir_side_entry *entry = &queue->entries[i];
        result = visit(ctx, &entry->origin, queue->records.data + entry->offset, entry->bytes);
    }
    return result;
}

void weir_side_queue_apply_all(struct weir_side_queue *queue, weir_side_apply apply, void *ctx)
{
    queue->has_horizon = false;
    apply_until(queue, UINT64_MAX, apply, ctx);
}

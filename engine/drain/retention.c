/* The samples that a reader keeps in memory. Reader thread, but for init and fini. See retention.h. */
#include "engine/drain/retention.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/kernel/test_point.h"

#define SPAN_SLICES       8
#define EVICTED_SHARE     8 /* at most this part of a reader's samples is evicted at a time */
#define SPAN_PER_READER   (64ull << 20)
#define SPAN_MEMORY_SHARE 16 /* at most this part of the machine's memory */

struct weir_retention_plan weir_retention_plan(uint64_t bytes, uint64_t span_ns, unsigned readers)
{
    weir_assert(bytes > 0 && readers > 0);
    /* cppcheck-suppress zerodiv ; asserted above */
    uint64_t share = bytes / readers;
    uint32_t least = span_ns > 0 ? WEIR_RETENTION_SPAN_CHUNKS_MIN : WEIR_RETENTION_CHUNKS_MIN;
    uint64_t wanted = weir_round_down_power_of_two(share / weir_max_u64(EVICTED_SHARE, least) | 1);
    struct weir_retention_plan plan = {
        .chunk_bytes = (uint32_t)weir_clamp_u64(wanted, WEIR_CHUNK_MIN_BYTES, WEIR_CHUNK_MAX_BYTES),
    };
    plan.chunks_per_reader = (uint32_t)weir_max_u64(share / plan.chunk_bytes, least);
    plan.bytes = (uint64_t)plan.chunk_bytes * plan.chunks_per_reader * readers;
    return plan;
}

uint64_t weir_retention_default_bytes(uint64_t memory_bytes, unsigned readers)
{
    return weir_min_u64(readers * SPAN_PER_READER, memory_bytes / SPAN_MEMORY_SHARE);
}

int weir_retention_init(struct weir_retention *retention, const struct weir_retention_setup *setup)
{
    weir_assert(setup->room >= WEIR_RETENTION_CHUNKS_MIN);
    *retention = (struct weir_retention){.setup = *setup};
    retention->list = calloc(setup->room, sizeof(*retention->list));
    retention->counts = calloc(setup->room, weir_max_u64(setup->counters, 1) * sizeof(*retention->counts));
    retention->left = calloc(setup->counters + 1, sizeof(*retention->left));
    retention->evicted = calloc(setup->counters + 1, sizeof(*retention->evicted));
    if (!retention->list || !retention->counts || !retention->left || !retention->evicted)
        return -ENOMEM;
    for (uint32_t i = 0; i < setup->room; i++)
        retention->list[i].drained = retention->counts + i * setup->counters;
    return 0;
}

static struct weir_retained *entry(const struct weir_retention *retention, uint32_t n)
{
    return &retention->list[(retention->first + n) % retention->setup.room];
}

/* Takes the oldest chunk out of the list, which is not empty. */
static struct weir_chunk *take_out(struct weir_retention *retention)
{
    const struct weir_retained *oldest = entry(retention, 0);
    memcpy(retention->left, oldest->drained, retention->setup.counters * sizeof(*retention->left));
    retention->first = (retention->first + 1) % retention->setup.room;
    retention->count--;
    return oldest->chunk;
}

void weir_retention_fini(struct weir_retention *retention)
{
    if (!retention)
        return;
    while (retention->count > 0)
        weir_pool_put(retention->setup.pool, take_out(retention));
    if (retention->open.chunk)
        weir_pool_put(retention->setup.pool, retention->open.chunk);
    free(retention->list);
    free(retention->counts);
    free(retention->left);
    free(retention->evicted);
    memset(retention, 0, sizeof(*retention));
}

bool weir_retention_note(struct weir_retention *retention, uint64_t side_bytes)
{
    const struct weir_chunk *chunk = retention->open.chunk;
    retention->open.side_bytes += side_bytes;
    retention->newest_ns = weir_max_u64(retention->newest_ns, chunk->last_sample_ns);
    return retention->setup.span_ns > 0 &&
           chunk->last_sample_ns - chunk->first_sample_ns >= retention->setup.span_ns / SPAN_SLICES;
}

bool weir_retention_begins_slice(const struct weir_retention *retention, uint64_t time_ns)
{
    uint64_t first_ns = retention->open.chunk ? retention->open.chunk->first_sample_ns : 0;
    return first_ns > 0 && time_ns > first_ns && time_ns - first_ns >= retention->setup.span_ns / SPAN_SLICES;
}

/* Whether all samples of the oldest chunk are older than the span. newest_ns: of the samples of all readers; 0: not
 * known. */
static bool is_outdated(const struct weir_retention *retention, uint64_t newest_ns)
{
    if (retention->setup.span_ns == 0 || retention->count == 0)
        return false;
    uint64_t newest = weir_max_u64(retention->newest_ns, newest_ns);
    uint64_t last = entry(retention, 0)->chunk->last_sample_ns;
    return newest > last && newest - last > retention->setup.span_ns;
}

/* Copies all records but samples. The headers are valid: the drainer has walked the bytes. */
static void copy_side_records(const struct weir_chunk *from, struct weir_chunk *side)
{
    for (uint32_t at = 0; at < from->used;) {
        struct perf_event_header header;
        memcpy(&header, from->data + at, sizeof(header));
        if (header.type != PERF_RECORD_SAMPLE) {
            weir_assert(header.size <= side->capacity - side->used);
            memcpy(side->data + side->used, from->data + at, header.size);
            side->used += header.size;
        }
        at += header.size;
    }
}

uint64_t weir_retention_evicted(const struct weir_retention *retention)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < retention->setup.counters; i++)
        sum += retention->evicted[i];
    return sum;
}

/* ---- between the list and the sink ---- */

/* Evicts the oldest chunk and returns it, empty. NULL: the sink has no room for its records that may not be evicted. */
static struct weir_chunk *evict(struct weir_retention *retention)
{
    struct weir_chunk_sink *sink = retention->setup.sink;
    const struct weir_retained *oldest = entry(retention, 0);
    if (oldest->side_bytes > 0) {
        if (!weir_chunk_sink_make_room(sink, oldest->side_bytes))
            return NULL;
        copy_side_records(oldest->chunk, sink->chunk);
        sink->chunk->lost_reported += oldest->chunk->lost_reported;
        weir_chunk_sink_hold(sink);
    }
    for (size_t i = 0; i < retention->setup.counters; i++)
        retention->evicted[i] += oldest->drained[i] - retention->left[i];
    struct weir_chunk *chunk = take_out(retention);
    weir_chunk_empty(chunk);
    return chunk;
}

static bool evict_to_pool(struct weir_retention *retention)
{
    struct weir_chunk *chunk = evict(retention);
    if (!chunk)
        return false;
    weir_chunk_sink_fence(retention->setup.sink);
    weir_pool_retain(retention->setup.pool, -1);
    weir_pool_put(retention->setup.pool, chunk);
    return true;
}

struct weir_chunk *weir_retention_open_next(struct weir_retention *retention)
{
    struct weir_chunk *chunk = NULL;
    weir_assert(!retention->open.chunk);
    if (retention->count < retention->setup.room)
        chunk = weir_chunk_sink_take(retention->setup.sink, true);
    if (chunk)
        weir_pool_retain(retention->setup.pool, 1);
    else if (retention->count > 0)
        chunk = evict(retention);
    if (chunk) {
        weir_chunk_empty(chunk);
        retention->open.chunk = chunk;
    }
    return chunk;
}

void weir_retention_seal(struct weir_retention *retention)
{
    const struct weir_reader_rings *rings = retention->setup.rings;
    weir_assert(retention->open.chunk && retention->count < retention->setup.room);
    struct weir_retained *sealed = entry(retention, retention->count);
    uint64_t *drained = sealed->drained;
    for (unsigned i = 0; i < rings->count; i++)
        memcpy(drained + (size_t)i * rings->event_count, rings->at[i].counts.samples,
               rings->event_count * sizeof(*drained));
    *sealed = retention->open;
    sealed->drained = drained;
    retention->count++;
    retention->open = (struct weir_retained){0};
}

/* False: come again, the sink has no room for records that may not be evicted. */
static bool evict_outdated(struct weir_retention *retention, uint64_t newest_ns)
{
    while (is_outdated(retention, newest_ns)) {
        if (!evict_to_pool(retention))
            return false;
    }
    return true;
}

void weir_retention_end_slice(struct weir_retention *retention)
{
    weir_retention_seal(retention);
    evict_outdated(retention, 0);
}

/* Seals the open chunk and evicts the outdated ones. False: come again. */
static bool seal_all(struct weir_retention *retention, uint64_t newest_ns)
{
    if (retention->open.chunk && retention->open.chunk->used > 0)
        weir_retention_seal(retention);
    return evict_outdated(retention, newest_ns);
}

bool weir_retention_hand_over(struct weir_retention *retention, uint64_t newest_ns)
{
    struct weir_chunk_sink *sink = retention->setup.sink;
    if (!seal_all(retention, newest_ns))
        return false;
    /* The records that were copied out of evicted chunks are older than the retained ones. */
    if (sink->chunk && sink->chunk->used > 0)
        weir_chunk_sink_hand_over(sink);
    retention->handed_first_ns = 0;
    while (retention->count > 0) {
        struct weir_chunk *chunk = take_out(retention);
        if (retention->handed_first_ns == 0)
            retention->handed_first_ns = chunk->first_sample_ns;
        weir_pool_retain(retention->setup.pool, -1);
        weir_test_point(WEIR_AT_SNAPSHOT_PUSH);
        weir_chunk_sink_push(sink, chunk);
    }
    return true;
}

bool weir_retention_evict_all(struct weir_retention *retention, uint64_t newest_ns)
{
    if (!seal_all(retention, newest_ns))
        return false;
    uint64_t before = weir_retention_evicted(retention);
    bool emptied = true;
    while (emptied && retention->count > 0)
        emptied = evict_to_pool(retention);
    retention->left_samples += weir_retention_evicted(retention) - before;
    return emptied;
}

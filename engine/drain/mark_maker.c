/* Making marks for rounds. Reader thread. The rules and their proof: round_mark.h. */
#include "engine/drain/mark_maker.h"

#include "engine/drain/reader_control.h"

void weir_mark_maker_init(struct weir_mark_maker *maker, struct weir_chunk_sink *sink,
                          const struct weir_reader_rings *rings)
{
    *maker = (struct weir_mark_maker){.sink = sink, .rings = rings};
}

/* Whether no other ring of the reader has had records since some time before the last step that drained all of them. */
static bool is_alone(struct weir_mark_maker *maker, const struct weir_reader_ring *r, uint64_t now_ns)
{
    uint64_t others_bytes = 0;
    bool drained = true;
    for (unsigned i = 0; i < maker->rings->count; i++) {
        const struct weir_reader_ring *other = &maker->rings->at[i];
        if (other == r || weir_reader_ring_is_dormant(other))
            continue;
        others_bytes += other->drained_bytes;
        drained &= weir_ring_is_drained(&other->ring);
    }
    if (maker->alone != r || maker->alone_bytes != others_bytes) {
        maker->alone = r;
        maker->alone_bytes = others_bytes;
        maker->alone_ns = now_ns;
    }
    return drained && maker->drained_ns >= maker->alone_ns + WEIR_ROUND_GRACE_NS;
}

/* Whether the current chunk has room for a mark. *bytes: handed over by the sink, and in the chunk. */
static bool has_room(const struct weir_mark_maker *maker, uint64_t *bytes)
{
    const struct weir_chunk *chunk = maker->sink->chunk;
    if (!chunk || chunk->used == 0 || chunk->mark_count == WEIR_CHUNK_MARKS || maker->sink->untold_rings > 0)
        return false;
    /* Relaxed: our own word. */
    *bytes = atomic_load_explicit(&maker->sink->handed_bytes, memory_order_relaxed) + chunk->used;
    return weir_chunk_room(chunk) >= WEIR_MARK_BYTES;
}

/* r: the ring that may be alone; NULL: none. began_ns: as in the mark. */
static void mark(struct weir_mark_maker *maker, const struct weir_reader_ring *r, uint64_t began_ns)
{
    uint64_t bytes;
    uint64_t *marked_bytes = began_ns > 0 ? &maker->marked_drained_bytes : &maker->marked_bytes;
    if (!has_room(maker, &bytes) || bytes < *marked_bytes + maker->bytes)
        return;
    struct weir_chunk *chunk = maker->sink->chunk;
    struct weir_round_mark *last = chunk->mark_count > 0 ? &chunk->marks[chunk->mark_count - 1] : NULL;
    if (last && last->at + WEIR_MARK_BYTES == chunk->used) {
        /* Nothing has come since: its rings were drained by then. */
        last->began_ns = began_ns;
        *marked_bytes = bytes;
        return;
    }
    uint64_t now_ns = weir_clock_now_ns(maker->sink->setup->clock);
    bool alone = r && r->counts.ends_with_sample && is_alone(maker, r, now_ns);
    if (!alone && began_ns == 0) { /* looks again after as many bytes, not after each block: rings may be many */
        *marked_bytes = bytes;
        return;
    }
    chunk->marks[chunk->mark_count++] = (struct weir_round_mark){
        .at = chunk->used,
        .began_ns = began_ns,
        .ended_ns = now_ns,
        .alone_ns = alone ? maker->drained_ns : 0,
        .sample_ns = alone ? r->newest_ns : 0,
    };
    weir_record_fill_padding(chunk->data + chunk->used, WEIR_MARK_BYTES);
    chunk->used += WEIR_MARK_BYTES;
    *marked_bytes = bytes + WEIR_MARK_BYTES;
}

void weir_mark_maker_within(struct weir_mark_maker *maker, const struct weir_reader_ring *r)
{
    if (maker->bytes > 0 && !r->sideband)
        mark(maker, r, 0);
}

bool weir_mark_maker_is_near(const struct weir_mark_maker *maker, uint64_t bytes)
{
    uint64_t there;
    return maker->bytes > 0 && has_room(maker, &there) && there + bytes >= maker->marked_bytes + maker->bytes;
}

void weir_mark_maker_drained(struct weir_mark_maker *maker, uint64_t began_ns)
{
    if (maker->bytes == 0)
        return;
    mark(maker, maker->alone, began_ns);
    maker->drained_ns = began_ns;
}

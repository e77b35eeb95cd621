/* Marks: made by readers, settled by the writer. The rules are in round_mark.h. */
#include "engine/drain/round_mark.h"

#include <string.h>

#include "base/bits.h"
#include "engine/drain/reader_internal.h"
#include "engine/drain/rounds.h"
#include "format/perf_file.h"
#include "format/records.h"

#define MARK_BYTES ((uint32_t)sizeof(struct perf_event_header))

/* ---- readers ---- */

/* Whether that ring is the only one of the reader's with records since some time before the last whole step. */
static bool is_alone(struct weir_reader *reader, const struct weir_reader_ring *r, uint64_t now_ns)
{
    uint64_t others_bytes = 0;
    bool drained = true;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *other = &reader->rings[i];
        if (other == r || weir_reader_is_dormant(other))
            continue;
        others_bytes += other->drained_bytes;
        drained &= weir_ring_is_drained(&other->ring);
    }
    if (reader->alone != r || reader->alone_bytes != others_bytes) {
        reader->alone = r;
        reader->alone_bytes = others_bytes;
        reader->alone_ns = now_ns;
    }
    return drained && reader->drained_ns >= reader->alone_ns + WEIR_ROUND_GRACE_NS;
}

/* Whether there is room for one behind the bytes that it has handed over and has in its chunk. */
static bool has_room(const struct weir_reader *reader, uint64_t *bytes)
{
    const struct weir_chunk *chunk = reader->chunk;
    if (!chunk || chunk->used == 0 || chunk->mark_count == WEIR_CHUNK_MARKS || reader->untold_rings > 0)
        return false;
    /* Relaxed: our own word. */
    *bytes = atomic_load_explicit(&reader->handed_bytes, memory_order_relaxed) + chunk->used;
    return chunk->capacity - chunk->used >= MARK_BYTES;
}

/* r: the ring that may be alone; NULL: none. began_ns: as in the mark. */
static void mark(struct weir_reader *reader, const struct weir_reader_ring *r, uint64_t began_ns)
{
    uint64_t bytes;
    uint64_t *marked_bytes = began_ns > 0 ? &reader->marked_drained_bytes : &reader->marked_bytes;
    if (!has_room(reader, &bytes) || bytes < *marked_bytes + reader->mark_bytes)
        return;
    struct weir_chunk *chunk = reader->chunk;
    struct weir_round_mark *last = chunk->mark_count > 0 ? &chunk->marks[chunk->mark_count - 1] : NULL;
    if (last && last->at + MARK_BYTES == chunk->used) { /* nothing has come since: its rings were drained by then */
        last->began_ns = began_ns;
        *marked_bytes = bytes;
        return;
    }
    uint64_t now_ns = weir_clock_now_ns(reader->clock);
    bool alone = r && r->counts.ends_with_sample && is_alone(reader, r, now_ns);
    if (!alone && began_ns == 0) { /* looked at again after as much, not after each block: there may be many rings */
        *marked_bytes = bytes;
        return;
    }
    chunk->marks[chunk->mark_count++] = (struct weir_round_mark){
        .at = chunk->used,
        .began_ns = began_ns,
        .ended_ns = now_ns,
        .alone_ns = alone ? reader->drained_ns : 0,
        .sample_ns = alone ? r->newest_ns : 0,
    };
    weir_record_fill_padding(chunk->data + chunk->used, MARK_BYTES);
    chunk->used += MARK_BYTES;
    *marked_bytes = bytes + MARK_BYTES;
}

void weir_reader_mark_within(struct weir_reader *reader, const struct weir_reader_ring *r)
{
    if (reader->mark_bytes > 0 && !r->sideband)
        mark(reader, r, 0);
}

bool weir_reader_marks_soon(const struct weir_reader *reader, uint64_t bytes)
{
    uint64_t there;
    return reader->mark_bytes > 0 && has_room(reader, &there) &&
           there + bytes >= reader->marked_bytes + reader->mark_bytes;
}

void weir_reader_mark_drained(struct weir_reader *reader, uint64_t began_ns)
{
    if (reader->mark_bytes == 0)
        return;
    mark(reader, reader->alone, began_ns);
    reader->drained_ns = began_ns;
}

/* ---- the writer ---- */

void weir_round_marks_init(struct weir_round_marks *marks, struct weir_chunk_queue *queue,
                           const struct weir_round_marks_setup *setup)
{
    memset(marks, 0, sizeof(*marks));
    marks->queue = queue;
    if (setup)
        marks->setup = *setup;
}

/* The one that was found busy last is likely to be so still. */
static bool are_others_idle(struct weir_round_marks *marks, uint32_t reader)
{
    for (unsigned n = 0; n < marks->setup.reader_count; n++) {
        unsigned i = (marks->busy + n) % marks->setup.reader_count;
        if (i + 1 == reader || weir_reader_is_idle(marks->setup.readers[i]))
            continue;
        marks->busy = i;
        return false;
    }
    return true;
}

/* Whether all that others had published by now stands before the chunk, which is out of the queue. */
static bool is_clear(struct weir_round_marks *marks, const struct weir_chunk *chunk)
{
    /* Acquire: who maps a ring afterwards does so later than now. */
    return !atomic_load_explicit(&marks->setup.control->mapping, memory_order_acquire) &&
           are_others_idle(marks, chunk->reader) &&
           weir_chunk_queue_is_of(marks->queue, chunk->reader, &marks->cleared_to);
}

/* All that is older than the last marker was published before the mark's reader began to drain. */
static bool is_behind(const struct weir_round_marks *marks, const struct weir_round_mark *mark)
{
    return mark->began_ns >= marks->marker_ns + WEIR_ROUND_GRACE_NS;
}

/* The last marker was of that ring, too, and what it does not hold itself of what is older than that marker was
 * published before the mark's reader had drained all of its rings. */
static bool is_behind_own(const struct weir_round_marks *marks, const struct weir_chunk *chunk,
                          const struct weir_round_mark *mark)
{
    uint64_t others_ns = chunk->reader == marks->appended_reader ? marks->others_ns : marks->appended_ns;
    return marks->marker_reader == chunk->reader && marks->marker_sample_ns > 0 &&
           mark->sample_ns >= marks->marker_sample_ns + 2 * WEIR_ROUND_GRACE_NS &&
           mark->alone_ns >= others_ns + WEIR_ROUND_GRACE_NS;
}

/* What is in a chunk was published before it was handed over. */
static void note_appended(struct weir_round_marks *marks, const struct weir_chunk *chunk)
{
    if (chunk->reader == marks->appended_reader) {
        marks->appended_ns = weir_max_u64(marks->appended_ns, chunk->handed_ns);
    } else if (chunk->handed_ns >= marks->appended_ns) {
        marks->others_ns = marks->appended_ns;
        marks->appended_ns = chunk->handed_ns;
        marks->appended_reader = chunk->reader;
    } else {
        marks->others_ns = weir_max_u64(marks->others_ns, chunk->handed_ns);
    }
}

static void make_marker(struct weir_chunk *chunk, const struct weir_round_mark *mark)
{
    memcpy(chunk->data + mark->at, &weir_finished_round, sizeof(weir_finished_round));
    chunk->marks[chunk->marker_count++] = *mark; /* that one or one before it */
}

uint32_t weir_round_marks_settle(struct weir_round_marks *marks, struct weir_chunk *chunk)
{
    bool cleared = marks->cleared_to != NULL;
    if (cleared && chunk == marks->cleared_to)
        marks->cleared_to = NULL;
    uint32_t behind = 0;
    bool open = marks->setup.readers && !marks->closed;
    for (uint32_t i = 0; open && i < chunk->mark_count; i++) {
        const struct weir_round_mark mark = chunk->marks[i];
        bool drained = is_behind(marks, &mark);
        if (!drained && !is_behind_own(marks, chunk, &mark))
            continue;
        cleared = cleared || is_clear(marks, chunk);
        if (!cleared)
            break;
        make_marker(chunk, &mark);
        marks->made++;
        marks->made_within += !drained;
        marks->marker_ns = weir_max_u64(marks->appended_ns, mark.ended_ns);
        marks->marker_reader = chunk->reader;
        marks->marker_sample_ns = mark.sample_ns;
        behind = mark.at + MARK_BYTES;
    }
    note_appended(marks, chunk);
    return behind;
}

void weir_round_marks_close(struct weir_round_marks *marks)
{
    marks->closed = true;
}

bool weir_round_marks_let_pass(struct weir_round_marks *marks, const struct weir_chunk *marker)
{
    marks->closed = false;
    bool in_order = marker->handed_ns == 0 || marks->marker_reader == 0 ||
                    marker->handed_ns >= marks->marker_ns + WEIR_ROUND_GRACE_NS;
    if (!in_order) {
        marks->turned_down++;
        return false;
    }
    marks->marker_ns = marks->appended_ns;
    marks->marker_reader = 0;
    return true;
}

uint32_t weir_round_marks_within(const struct weir_chunk *chunk, size_t bytes)
{
    uint32_t count = 0;
    while (count < chunk->marker_count && chunk->marks[count].at + MARK_BYTES <= bytes)
        count++;
    return count;
}

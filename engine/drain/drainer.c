/* Draining a ring. Reader thread. The order of its stores: drainer.h, chunk_sink.h and ring.h. */
#include "engine/drain/drainer.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/probe.h"
#include "engine/drain/off_cpu_sample.h"
#include "engine/drain/record_rename.h"
#include "engine/kernel/test_point.h"
#include "format/perf_file.h"

/* Copied and walked in one go: source and target together are half of a 32 KiB first-level cache. */
#define BLOCK_BYTES (8u * 1024)

/* Whether the records of a ring stay in memory (retention.h). */
static bool retains(const struct weir_drainer *drainer, const struct weir_reader_ring *r)
{
    return drainer->retention && !r->sideband;
}

/* A chunk with room for at least one byte, or NULL. */
static struct weir_chunk *chunk_to_fill(struct weir_drainer *drainer, const struct weir_reader_ring *r)
{
    if (retains(drainer, r)) {
        struct weir_chunk *open = drainer->retention->open.chunk;
        return open ? open : weir_retention_open_next(drainer->retention);
    }
    return weir_chunk_sink_make_room(drainer->sink, 0) ? drainer->sink->chunk : NULL;
}

static void close_chunk(struct weir_drainer *drainer, const struct weir_reader_ring *r)
{
    if (retains(drainer, r))
        weir_retention_seal(drainer->retention);
    else
        weir_chunk_sink_hand_over(drainer->sink);
}

/* Records of the ring were added to its chunk; side_bytes of them are not of samples. */
static void note_filled(struct weir_drainer *drainer, const struct weir_reader_ring *r, uint64_t side_bytes)
{
    if (retains(drainer, r))
        weir_retention_note_block(drainer->retention, side_bytes);
    else
        weir_chunk_sink_hold(drainer->sink);
}

/* Whether a ring's records are copied past the caches: no step after the copy looks at them again. */
static bool passes_caches(const struct weir_drainer *drainer, const struct weir_reader_ring *r)
{
    return drainer->sink->past_caches && !r->sideband && !weir_reader_ring_renames(r) && drainer->off_cpu_event == 0 &&
           !weir_shedder_trims(drainer->shedder);
}

/* Trims the stack dumps in a block, if it is time to. Returns the bytes that are left. */
static uint64_t trim(struct weir_drainer *drainer, const struct weir_reader_ring *r, uint8_t *data, uint64_t bytes)
{
    if (!weir_shedder_trims(drainer->shedder) || r->sideband || r->ring.newest || retains(drainer, r))
        return bytes;
    return weir_shedder_trim(drainer->shedder, data, bytes);
}

static bool holds_back(const struct weir_drainer *drainer, const struct weir_reader_ring *r)
{
    return weir_shedder_holds_back(drainer->shedder, r) && !drainer->stopping && !retains(drainer, r);
}

/* Counts losses of samples while the pool was empty. Side records are no samples. */
static void note_lost(struct weir_reader_ring *r, uint64_t lost)
{
    if (lost > 0)
        weir_probe_loss(r->place, r->sideband, lost);
    if (lost > 0 && r->starved && !r->sideband) {
        r->lost_while_starved += lost;
        r->starved = false;
    }
}

/* Widens the chunk's span of times by the block just walked. The samples of one ring stand in order of time, newest
 * first in a ring of the newest records. But a chunk has samples of several rings. */
static void note_times(struct weir_reader_ring *r, struct weir_chunk *chunk)
{
    const struct weir_walk_counts *counts = &r->counts;
    uint64_t oldest_ns = weir_min_u64(counts->first_sample_ns, counts->last_sample_ns);
    uint64_t newest_ns = weir_max_u64(counts->first_sample_ns, counts->last_sample_ns);
    if (oldest_ns > 0 && (chunk->first_sample_ns == 0 || oldest_ns < chunk->first_sample_ns))
        chunk->first_sample_ns = oldest_ns;
    chunk->last_sample_ns = weir_max_u64(chunk->last_sample_ns, newest_ns);
    r->newest_ns = weir_max_u64(r->newest_ns, newest_ns);
}

/* Bytes behind the records of a chunk that are copied already. They are the lines that the walk has copied, and the
 * beginning of a record that ends in a later block. They hold while nothing else is added to that chunk. */
struct begun {
    const struct weir_chunk *chunk;
    uint32_t used;
    uint64_t bytes;
};

/* Copies records from the tail into the chunk, behind the begun bytes: a block, or the whole first record where that is
 * longer, but at most `most` bytes, for which there is room. Returns the bytes that are there now. A copy past the
 * caches ends a block at the end of a cache line, because a line that is written in two parts goes through the
 * caches. */
static uint64_t copy_block(const struct weir_reader_ring *r, struct weir_chunk *chunk, uint64_t begun_bytes,
                           uint64_t most, bool past_caches)
{
    struct perf_event_header first = {0};
    weir_ring_copy(&r->ring, r->ring.tail, &first, weir_min_u64(sizeof(first), most));
    uint8_t *to = chunk->data + chunk->used;
    uint64_t bytes = weir_max_u64(BLOCK_BYTES, first.size);
    if (past_caches)
        bytes += -(uintptr_t)(to + bytes) % WEIR_CACHE_LINE_BYTES;
    bytes = weir_min_u64(bytes, most);
    if (bytes <= begun_bytes)
        return begun_bytes;
    if (past_caches)
        weir_ring_copy_past_caches(&r->ring, r->ring.tail + begun_bytes, to + begun_bytes, bytes - begun_bytes);
    else
        weir_ring_copy(&r->ring, r->ring.tail + begun_bytes, to + begun_bytes, bytes - begun_bytes);
    return bytes;
}

/* Where to walk a block: in the cache. */
static const uint8_t *find_in_cache(const struct weir_reader_ring *r, const uint8_t *copy, uint64_t bytes,
                                    bool past_caches)
{
    const uint8_t *source = past_caches ? weir_ring_at(&r->ring, r->ring.tail, bytes) : NULL;
    return source ? source : copy;
}

/* The lines behind a block, which its walk copies: at most as many as a block has. most: as for copy_block(). */
static struct weir_walk_copy lines_behind(const struct weir_drainer *drainer, const struct weir_reader_ring *r,
                                          struct weir_chunk *chunk, uint64_t bytes, uint64_t most)
{
    uint64_t lines = weir_align_down(weir_min_u64(most - bytes, BLOCK_BYTES), WEIR_CACHE_LINE_BYTES);
    const uint8_t *from = weir_ring_at(&r->ring, r->ring.tail + bytes, lines);
    if (!from || lines == 0 || weir_mark_maker_is_near(drainer->marks, bytes + lines))
        return (struct weir_walk_copy){0};
    struct weir_walk_copy copy = {.to = chunk->data + chunk->used + bytes, .from = from, .bytes = lines};
    weir_assert((uintptr_t)copy.to % WEIR_CACHE_LINE_BYTES == 0); /* blocks end there */
    return copy;
}

/* Counts samples whose id is of no event of ours: the kernel put them under ids of other recorders. */
static void adopt_samples(const struct weir_drainer *drainer, struct weir_reader_ring *r, uint8_t *data, uint64_t bytes)
{
    uint64_t *samples = r->counts.samples + r->place * drainer->layout->place_stride;
    if (drainer->set)
        r->counts.unknown_samples -= weir_record_adopt(drainer->set, r->place, data, bytes, samples);
}

/*
 * Moves one block of records from the ring's tail. Returns the bytes of whole records that were moved (out of the ring;
 * trimmed, they take less of the chunk); 0 when the chunk has no room for the next record; -EBADMSG when there is no
 * valid record.
 */
static int64_t move_block(struct weir_drainer *drainer, struct weir_reader_ring *r, struct weir_chunk *chunk,
                          struct begun *begun, uint64_t available)
{
    uint64_t most = weir_min_u64(available, weir_chunk_room(chunk));
    uint8_t *to = chunk->data + chunk->used;
    uint64_t bytes = begun->chunk == chunk && begun->used == chunk->used ? begun->bytes : 0;
    uint64_t lost_before = r->counts.lost_reported, side_before = r->counts.other_bytes;
    uint64_t unknown_before = r->counts.unknown_samples;
    bool past_caches = passes_caches(drainer, r);
    bytes = copy_block(r, chunk, bytes, most, past_caches);
    struct weir_walk_copy copy = {0};
    if (past_caches)
        copy = lines_behind(drainer, r, chunk, bytes, most);
    const uint8_t *walked = find_in_cache(r, to, bytes, past_caches);
    int64_t moved = weir_record_walk_copying(drainer->layout, walked, bytes, &r->counts, &copy);
    if (moved <= 0)
        return moved;

    if (r->counts.unknown_samples != unknown_before)
        adopt_samples(drainer, r, to, (uint64_t)moved);
    if (drainer->off_cpu_event > 0 && !r->sideband)
        weir_off_cpu_samples_mend(drainer->set, drainer->off_cpu_event - 1, to, (uint64_t)moved);
    if (r->sideband && drainer->layout->maps_have_no_ids)
        weir_record_mend_maps(to, (uint64_t)moved);
    if (r->sideband)
        weir_record_mend_trailers(drainer->layout, to, (uint64_t)moved);
    if (weir_reader_ring_renames(r)) /* finds the id at the end of the trailer */
        weir_record_rename(drainer->set, to, (uint64_t)moved);
    if (r->sideband && drainer->sink->tee)
        weir_side_tee_push(drainer->sink->tee, to, (size_t)moved);
    note_lost(r, r->counts.lost_reported - lost_before);
    chunk->lost_reported += r->counts.lost_reported - lost_before;
    note_times(r, chunk);
    uint64_t kept = trim(drainer, r, to, (uint64_t)moved);
    chunk->used += (uint32_t)kept;
    /* After a trim the begun bytes do not stand where the records end. */
    *begun = (struct begun){chunk, chunk->used, kept == (uint64_t)moved ? bytes - (uint64_t)moved + copy.copied : 0};
    r->drained_bytes += (uint64_t)moved;
    note_filled(drainer, r, r->counts.other_bytes - side_before);
    return moved;
}

/* With a span: whether the next record is a sample for another chunk than the open one. */
static bool begins_slice(const struct weir_drainer *drainer, const struct weir_reader_ring *r)
{
    if (!retains(drainer, r) || drainer->retention->setup.span_ns == 0 || !drainer->retention->open.chunk)
        return false;
    struct perf_event_header header;
    weir_ring_copy(&r->ring, r->ring.tail, &header, sizeof(header));
    if (header.type != PERF_RECORD_SAMPLE || header.size < drainer->layout->time_offset + (int)sizeof(uint64_t))
        return false;
    uint64_t time_ns;
    weir_ring_copy(&r->ring, r->ring.tail + (uint64_t)drainer->layout->time_offset, &time_ns, sizeof(time_ns));
    return weir_retention_begins_slice(drainer->retention, time_ns);
}

/* Skips bytes that are no sequence of records, so that records behind head can be read. */
static void discard(struct weir_reader_ring *r, uint64_t head)
{
    r->discarded_bytes += head - r->ring.tail;
    weir_ring_release(&r->ring, head);
}

/* Begins to read the records of a ring of the newest records that no snapshot has read yet. */
static void begin_newest(struct weir_reader_ring *r)
{
    uint64_t head = weir_ring_head(&r->ring), written = r->ring.tail - head;
    uint64_t kept = weir_min_u64(written, r->ring.bytes);
    r->reading_newest = true;
    r->newest_head = r->ring.tail = head;
    r->newest_end = head + kept;
    r->overwritten_bytes += written - kept;
}

bool weir_drainer_read_newest(struct weir_drainer *drainer, struct weir_reader_ring *r)
{
    if (!r->reading_newest)
        begin_newest(r);
    struct begun begun = {0};
    while (r->ring.tail != r->newest_end) {
        struct weir_chunk *chunk = chunk_to_fill(drainer, r);
        if (!chunk)
            return false;
        uint64_t left = r->newest_end - r->ring.tail, room = weir_chunk_room(chunk);
        int64_t moved = move_block(drainer, r, chunk, &begun, left);
        weir_test_point(WEIR_AT_SNAPSHOT_READ);
        if (moved > 0) {
            r->ring.tail += (uint64_t)moved;
        } else if (moved == 0 && room < weir_min_u64(left, WEIR_RECORD_MAX_BYTES)) {
            close_chunk(drainer, r);
        } else { /* the oldest record, which the newest one has partly overwritten */
            r->overwritten_bytes += left;
            break;
        }
    }
    r->reading_newest = false;
    r->ring.tail = r->newest_head;
    return true;
}

static void note_starved(struct weir_drainer *drainer, struct weir_reader_ring *r, uint64_t left)
{
    r->starved |= left >= r->ring.bytes - r->ring.bytes / 8;
    drainer->half_full |= left >= r->ring.bytes / 2;
}

/* Moves the first record of the ring. False: come again, the pool is empty. */
static bool move_record(struct weir_drainer *drainer, struct weir_reader_ring *r, uint64_t head)
{
    struct perf_event_header header = {0};
    weir_ring_copy(&r->ring, r->ring.tail, &header, sizeof(header));
    uint64_t bytes = weir_max_u64(header.size, sizeof(header));
    if (!weir_shedder_tell(drainer->shedder, r) || !weir_chunk_sink_make_room(drainer->sink, bytes))
        return false;
    struct begun none = {0};
    int64_t moved =
        bytes <= head - r->ring.tail ? move_block(drainer, r, drainer->sink->chunk, &none, bytes) : -EBADMSG;
    if (moved <= 0)
        discard(r, head);
    else
        weir_ring_release(&r->ring, r->ring.tail + (uint64_t)moved);
    return true;
}

/* Leaves a ring alone until it is more than half full; then drops samples, and moves other records, down to half. */
static void hold_back(struct weir_drainer *drainer, struct weir_reader_ring *r, uint64_t head)
{
    note_starved(drainer, r, head - r->ring.tail);
    while (head - r->ring.tail > r->ring.bytes / 2) {
        if (!weir_shedder_drop(drainer->shedder, r, head) && !move_record(drainer, r, head))
            break;
    }
}

/* Adds the records of a return, which stands at the tail. False: come again, the pool is empty. */
static bool pass_return(struct weir_drainer *drainer, struct weir_reader_ring *r, const struct weir_reader_return *next)
{
    struct weir_chunk *chunk = chunk_to_fill(drainer, r);
    if (chunk && chunk->capacity - chunk->used < next->bytes) {
        close_chunk(drainer, r);
        chunk = chunk_to_fill(drainer, r);
    }
    if (!chunk)
        return false;
    memcpy(chunk->data + chunk->used, next->records, next->bytes);
    chunk->used += (uint32_t)next->bytes;
    r->passed = next;
    note_filled(drainer, r, next->bytes);
    return true;
}

/* False: come again. */
static bool drain_to(struct weir_drainer *drainer, struct weir_reader_ring *r, uint64_t head)
{
    struct begun begun = {0};
    while (r->ring.tail != head) {
        if (begins_slice(drainer, r))
            weir_retention_end_slice(drainer->retention);
        if (holds_back(drainer, r)) {
            hold_back(drainer, r, head);
            return false;
        }
        struct weir_chunk *chunk =
            !r->untold || weir_shedder_tell(drainer->shedder, r) ? chunk_to_fill(drainer, r) : NULL;
        if (!chunk) {
            note_starved(drainer, r, head - r->ring.tail);
            return false;
        }
        int64_t moved = move_block(drainer, r, chunk, &begun, head - r->ring.tail);
        if (moved < 0 || (moved == 0 && chunk->used == 0)) {
            discard(r, head);
            break;
        }
        if (moved == 0) {
            /* A record below head is whole, so the chunk was too small for it. */
            close_chunk(drainer, r);
            continue;
        }
        weir_test_point(WEIR_AT_READER_RELEASE);
        weir_ring_release(&r->ring, r->ring.tail + (uint64_t)moved);
        weir_mark_maker_within(drainer->marks, r);
    }
    return true;
}

bool weir_drainer_drain(struct weir_drainer *drainer, struct weir_reader_ring *r)
{
    if (r->ring.newest)
        return true;
    uint64_t head = weir_ring_head(&r->ring);
    uint64_t fill_per_mille = weir_min_u64((head - r->ring.tail) * 1000 / r->ring.bytes, 1000);
    drainer->fill_per_mille = (uint32_t)weir_max_u64(drainer->fill_per_mille, fill_per_mille);
    const struct weir_reader_return *next;
    weir_probe_drain(r->place, r->sideband, head - r->ring.tail);
    while ((next = weir_reader_ring_next_return(r)) && next->at - r->ring.tail <= head - r->ring.tail) {
        if (!drain_to(drainer, r, next->at))
            return false;
        if (!pass_return(drainer, r, next)) {
            note_starved(drainer, r, head - r->ring.tail);
            return false;
        }
    }
    return drain_to(drainer, r, head);
}

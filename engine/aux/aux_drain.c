/*
 * Draining AUX areas. Reader thread, but for init(), drop_ring() and fini(). Protocol: aux_drain.h, ring.h.
 *
 * A piece is the data of one AUXTRACE record, up to the whole area. It may lie across the end of the area. With entries
 * of a fixed size (BTS: 24 bytes) the driver leaves the rest before the area's end unused, if no whole entry fits
 * there. The piece leaves these bytes out, as perf does (__auxtrace_mmap__read() in tools/perf/util/auxtrace.c, Linux
 * 6.1).
 *
 * The chunk with AUX records and the train with their bytes go into the queue as one item, so no rotation comes between
 * them. A chunk that is full while its ring is being drained takes along the bytes that its records describe by then.
 * The chunk goes alone only when the pool is empty, or when the kernel has not published the bytes yet: other rings
 * need a chunk meanwhile. (If two areas are in that state, the chunk takes along the bytes of one.) Decoders of Intel's
 * traces accept bytes in the next file.
 *
 * Decoders take the pieces of a full trace as one stream, wherever it is cut (intel_pt_get_buffer()). Only CoreSight's
 * decoder wants all bytes of an AUX record in one piece (cs_etm__queue_aux_fragment()), which is so unless the pool is
 * empty. A snapshot is always one piece, because decoders would take two pieces for two snapshots. So it waits for
 * chunks. The chunks that it holds meanwhile endanger nobody: the pool has room for the snapshots of all areas at once.
 */
#include "engine/aux/aux_drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "base/bits.h"
#include "base/clock.h"
#include "base/copy.h"
#include "engine/drain/chunk_sink.h"
#include "engine/drain/reader_ring.h"
#include "engine/kernel/test_point.h"
#include "format/aux_records.h"

/* A piece that is cut ends at a multiple of the units of all decoders: BTS entries (24), SPE records (64), CoreSight
 * frames (16); and without padding. */
#define CUT_BYTES 192u

/* An area that was filled to three quarters may have been full: drivers want some pages of room. */
#define ROOM_SHARE 4
#define ROOM_LEAST (4u * 4096)

#define FIRST_WRAP_BYTES 4096u /* as in perf's intel_pt_first_wrap() */

/* The kernel publishes aux_head a few instructions after the AUX record; later if its virtual CPU is not run. */
#define SPINS     1000
#define WAITS_MAX 1000 /* steps, a millisecond or more apart */

/* The AUX areas of one reader: the context of the hooks. */
struct aux_reader {
    struct weir_chunk_sink *sink;    /* borrowed */
    struct weir_reader_rings *rings; /* borrowed */
    int enable_fd;                   /* borrowed */
};

static int init(void **ctx, struct weir_chunk_sink *sink, struct weir_reader_rings *rings, int fd)
{
    struct aux_reader *reader = malloc(sizeof(*reader));
    *ctx = reader;
    if (!reader)
        return -ENOMEM;
    *reader = (struct aux_reader){.sink = sink, .rings = rings, .enable_fd = fd};
    for (unsigned i = 0; i < rings->count; i++) {
        rings->at[i].aux = calloc(1, sizeof(*rings->at[i].aux));
        if (!rings->at[i].aux)
            return -ENOMEM;
    }
    return 0;
}

static void drop_ring(void *ctx, struct weir_reader_ring *r)
{
    const struct aux_reader *reader = ctx;
    if (!r->aux)
        return;
    weir_pool_put_train(reader->sink->setup->pool, r->aux->train);
    weir_aux_area_unmap(&r->aux->area);
    free(r->aux);
    r->aux = NULL;
}

static void fini(void *ctx)
{
    struct aux_reader *reader = ctx;
    if (!reader)
        return;
    for (unsigned i = 0; i < reader->rings->count; i++)
        drop_ring(reader, &reader->rings->at[i]);
    free(reader);
}

static bool is_drained_as_it_fills(const struct weir_reader_ring *r)
{
    return r->aux && r->aux->area.page && !r->aux->area.newest;
}

static bool owes(const struct weir_reader_ring *r)
{
    return is_drained_as_it_fills(r) && r->aux->area.tail < r->counts.aux_end;
}

static bool any_owes(void *ctx)
{
    const struct aux_reader *reader = ctx;
    bool any = false;
    for (unsigned i = 0; i < reader->rings->count; i++)
        any |= !weir_reader_ring_is_dormant(&reader->rings->at[i]) && owes(&reader->rings->at[i]);
    return any;
}

/* ---- pieces ---- */

static uint64_t piece_bytes(const struct weir_aux_drain *aux)
{
    return aux->before_wrap + aux->behind_wrap;
}

/* Begins the piece [from, from + bytes). */
static void begin_piece(struct weir_aux_drain *aux, uint64_t from, uint64_t bytes)
{
    uint64_t to_wrap = aux->area.bytes - (from & (aux->area.bytes - 1));
    aux->from = from;
    aux->before_wrap = weir_min_u64(bytes, to_wrap);
    aux->behind_wrap = bytes - aux->before_wrap;
    aux->left_out = aux->before_wrap == to_wrap ? aux->before_wrap % aux->entry_bytes : 0;
    aux->before_wrap -= aux->left_out;
    if (aux->before_wrap == 0)
        aux->from += aux->left_out;
    aux->copied = 0;
}

static void copy_of_piece(const struct weir_aux_drain *aux, uint64_t at, uint8_t *to, uint64_t bytes)
{
    uint64_t first = at < aux->before_wrap ? weir_min_u64(bytes, aux->before_wrap - at) : 0;
    uint64_t offset = aux->from & (aux->area.bytes - 1);
    if (first > 0)
        weir_copy(to, aux->area.data + offset + at, first);
    if (bytes > first)
        weir_copy(to + first, aux->area.data + (at + first - aux->before_wrap), bytes - first);
}

/* Another chunk for the train. False: the pool is empty. */
static bool extend_train(struct aux_reader *reader, struct weir_aux_drain *aux)
{
    struct weir_chunk *chunk = weir_chunk_sink_take(reader->sink, !aux->last);
    if (!chunk)
        return false;
    chunk->opaque = true;
    if (aux->last) {
        chunk->follows = true;
        aux->last->follower = chunk;
    } else {
        chunk->used = WEIR_AUXTRACE_RECORD_BYTES;
        aux->train = chunk;
    }
    aux->last = chunk;
    return true;
}

/* Goes on copying the piece. False: the pool is empty. */
static bool fill_train(struct aux_reader *reader, struct weir_aux_drain *aux)
{
    while (aux->copied < piece_bytes(aux)) {
        if ((!aux->last || aux->last->used == aux->last->capacity) && !extend_train(reader, aux))
            return false;
        struct weir_chunk *chunk = aux->last;
        uint64_t bytes = weir_min_u64(piece_bytes(aux) - aux->copied, chunk->capacity - chunk->used);
        copy_of_piece(aux, aux->copied, chunk->data + chunk->used, bytes);
        chunk->used += (uint32_t)bytes;
        aux->copied += bytes;
    }
    return true;
}

/* Cuts the piece short: all its chunks are full. Returns the bytes of the area that it has. */
static uint64_t cut_piece(struct weir_aux_drain *aux)
{
    uint64_t cut = aux->copied % CUT_BYTES;
    aux->last->used -= (uint32_t)cut;
    aux->copied -= cut;
    aux->cut_pieces++;
    return aux->copied + (aux->copied > aux->before_wrap || aux->before_wrap == 0 ? aux->left_out : 0);
}

/* The reference of a piece, by which decoders order pieces; on x86 they compare it with the times of packets. */
static uint64_t reference(void)
{
#ifdef __x86_64__
    return __rdtsc();
#else
    return weir_clock_now_ns(&weir_clock_monotonic);
#endif
}

static void hand_over_train(struct aux_reader *reader, struct weir_aux_drain *aux)
{
    uint64_t padding = weir_align_up(aux->copied, WEIR_AUXTRACE_ALIGN) - aux->copied;
    memset(aux->last->data + aux->last->used, 0, padding); /* capacities are multiples of it, too */
    aux->last->used += (uint32_t)padding;
    const struct weir_auxtrace record = {
        .bytes = aux->copied + padding,
        .offset = aux->from,
        .reference = reference(),
        .index = aux->index,
        .task = aux->task,
        .cpu = aux->cpu,
    };
    weir_auxtrace_write(aux->train->data, &record);
    aux->pieces++;
    aux->bytes += aux->copied;
    struct weir_chunk *train = aux->train;
    aux->train = aux->last = NULL;
    weir_chunk_sink_push_train(reader->sink, train);
}

/* ---- full trace ---- */

/* Whether the area may have been full. used: its bytes before the release. */
static bool was_nearly_full(const struct weir_aux_drain *aux, uint64_t used)
{
    uint64_t room = weir_max_u64(aux->area.bytes / ROOM_SHARE, ROOM_LEAST);
    return used > 0 && used + room >= aux->area.bytes;
}

/* Asks the coordinator to enable the event, if the kernel may have disabled it. Asks also after a read of nothing,
 * because an AUX record without bytes may mean that the area had no room. */
static void ask_to_enable(struct aux_reader *reader, struct weir_reader_ring *r, uint64_t used)
{
    struct weir_aux_drain *aux = r->aux;
    if (!was_nearly_full(aux, used) && r->counts.aux_truncated == aux->truncated_seen)
        return;
    aux->truncated_seen = r->counts.aux_truncated;
    /* Release: the coordinator that takes the wish sees the room (D'). */
    atomic_store_explicit(&aux->wants_enable, true, memory_order_release);
    eventfd_write(reader->enable_fd, 1);
}

/* Whether to give up bytes of an AUX record that the kernel does not publish: no recording may hang on them. */
static bool never_comes(struct weir_reader_ring *r, uint64_t head)
{
    if (++r->aux->waits <= WAITS_MAX)
        return false;
    r->discarded_bytes += r->counts.aux_end - head;
    r->counts.aux_end = head;
    return true;
}

/* Reads aux_head, which should reach `wanted` soon. */
static uint64_t await_head(const struct weir_reader_ring *r, uint64_t wanted)
{
    uint64_t head = weir_aux_area_head(&r->aux->area);
    for (unsigned i = 0; head < wanted && i < SPINS; i++)
        head = weir_aux_area_head(&r->aux->area);
    return head;
}

/* Finds the position to drain to. published: aux_head before the ring was drained. False: come again for the rest. */
static bool find_end(struct weir_reader_ring *r, uint64_t published, bool stopping, uint64_t *end)
{
    uint64_t wanted = weir_max_u64(published, r->counts.aux_end), head = await_head(r, wanted);
    *end = stopping ? head : weir_min_u64(wanted, head);
    bool is_there = head >= wanted || never_comes(r, head);
    if (is_there)
        r->aux->waits = 0;
    return is_there;
}

/* Copies one piece, and releases its bytes. False: come again, the pool is empty. */
static bool copy_piece(struct aux_reader *reader, struct weir_reader_ring *r, uint64_t end)
{
    struct weir_aux_drain *aux = r->aux;
    begin_piece(aux, aux->area.tail, end - aux->area.tail);
    if (piece_bytes(aux) > 0) {
        bool whole = fill_train(reader, aux);
        if (!aux->train)
            return false;
        if (!whole)
            end = aux->area.tail + cut_piece(aux);
        hand_over_train(reader, aux);
    }
    weir_test_point(WEIR_AT_AUX_RELEASE);
    weir_aux_area_release(&aux->area, end);
    return true;
}

/* Copies the area up to `end`. False: come again, the pool is empty. */
static bool copy_up_to(struct aux_reader *reader, struct weir_reader_ring *r, uint64_t end)
{
    uint64_t used = r->aux->area.tail != end ? weir_aux_area_head(&r->aux->area) - r->aux->area.tail : 0;
    bool has_chunks = true;
    while (has_chunks && r->aux->area.tail != end)
        has_chunks = copy_piece(reader, r, end);
    ask_to_enable(reader, r, used);
    return has_chunks;
}

static uint64_t published_of(void *ctx, const struct weir_reader_ring *r)
{
    (void)ctx;
    uint64_t published = is_drained_as_it_fills(r) ? weir_aux_area_head(&r->aux->area) : 0;
    weir_test_point(WEIR_AT_AUX_HEAD);
    return published;
}

static bool drain(void *ctx, struct weir_reader_ring *r, uint64_t published, bool stopping)
{
    struct aux_reader *reader = ctx;
    if (!is_drained_as_it_fills(r))
        return true;
    uint64_t end;
    bool is_there = find_end(r, published, stopping, &end), any = r->aux->area.tail != end;
    bool has_chunks = copy_up_to(reader, r, end);
    const struct weir_chunk *chunk = reader->sink->chunk;
    if (any && (!chunk || chunk->used == 0)) /* the bytes that were owed may have been all that the reader held */
        weir_chunk_sink_note_holding(reader->sink);
    return is_there && has_chunks;
}

static bool push_chunk(void *ctx)
{
    struct aux_reader *reader = ctx;
    for (unsigned i = 0; reader->sink->chunk && i < reader->rings->count; i++) {
        struct weir_reader_ring *r = &reader->rings->at[i];
        uint64_t end = r->counts.aux_end;
        if (!weir_reader_ring_is_dormant(r) && owes(r) && await_head(r, end) >= end)
            copy_up_to(reader, r, end);
    }
    return !reader->sink->chunk;
}

/* ---- snapshots ---- */

/* Whether the kernel has written the area to its end at least once. Drivers give head as an offset in the area, or as a
 * free-running position. */
static bool has_been_full(const struct weir_aux_drain *aux, uint64_t head)
{
    const struct weir_aux_area *area = &aux->area;
    if (aux->was_full || head >= area->bytes)
        return true;
    uint64_t looked_at = weir_min_u64(FIRST_WRAP_BYTES, area->bytes);
    uint8_t any = 0;
    for (uint64_t i = area->bytes - looked_at; i < area->bytes; i++)
        any |= area->data[i];
    return any != 0;
}

/* Begins the piece of a snapshot: all bytes, or those since the last snapshot while the area has never been full. */
static void begin_snapshot(struct weir_aux_drain *aux)
{
    struct weir_aux_area *area = &aux->area;
    uint64_t mask = area->bytes - 1, head = weir_aux_area_head(area), offset = head & mask;
    aux->was_full = has_been_full(aux, head);
    uint64_t kept = aux->was_full ? area->bytes : (offset - (area->tail & mask)) & mask;
    uint64_t bytes = weir_min_u64(kept, aux->snapshot_bytes);
    uint64_t from = (aux->was_full ? offset + area->bytes : offset) - bytes;
    uint64_t into_entry = (from & mask) % aux->entry_bytes; /* entries stand from the beginning of the area on */
    uint64_t skipped = into_entry > 0 ? weir_min_u64(aux->entry_bytes - into_entry, bytes) : 0;
    begin_piece(aux, from + skipped, bytes - skipped);
    area->tail = head;
    aux->reading = true;
}

static bool read_newest(void *ctx, struct weir_reader_ring *r)
{
    struct aux_reader *reader = ctx;
    struct weir_aux_drain *aux = r->aux;
    if (!aux || !aux->area.newest || aux->sampled || aux->was_read)
        return true;
    if (!aux->reading)
        begin_snapshot(aux);
    if (!fill_train(reader, aux))
        return false;
    weir_test_point(WEIR_AT_SNAPSHOT_READ);
    if (aux->train) {
        hand_over_train(reader, aux);
        weir_chunk_sink_note_holding(reader->sink);
    }
    aux->reading = false;
    aux->was_read = true;
    return true;
}

static void end_newest(void *ctx)
{
    struct aux_reader *reader = ctx;
    for (unsigned i = 0; i < reader->rings->count; i++) {
        if (reader->rings->at[i].aux)
            reader->rings->at[i].aux->was_read = false;
    }
}

const struct weir_aux_hooks weir_aux_drain_hooks = {
    .init = init,
    .drop_ring = drop_ring,
    .fini = fini,
    .published = published_of,
    .drain = drain,
    .read_newest = read_newest,
    .end_newest = end_newest,
    .owes = any_owes,
    .push_chunk = push_chunk,
};

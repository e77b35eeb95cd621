/*
 * Readers: the drain path. step and wait run on the reader's own thread; wake and is_past on the coordinator. The
 * protocol and the labels of the memory order are in reader.h and ring.h.
 */
#include "engine/drain/reader_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/kernel/test_point.h"
#include "format/perf_file.h"

/* Copied and walked in one go: source and target together are half of a 32 KiB first-level cache. */
#define BLOCK_BYTES (8u * 1024)

/* A reader that waits for a chunk comes again after so long: hundreds of readers that do so each millisecond would cost
 * more than all that they have to copy. */
#define STARVED_POLL_MS     1 /* a ring is half full or more, or at first */
#define STARVED_POLL_MS_MAX 8 /* otherwise: doubled each time up to here */

static int init_rings(struct weir_reader *reader, unsigned event_count)
{
    reader->rings = calloc(reader->ring_count, sizeof(*reader->rings));
    reader->polls = calloc(reader->ring_count + 1, sizeof(*reader->polls));
    if (!reader->rings || !reader->polls)
        return -ENOMEM;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        uint64_t *samples = calloc(event_count, sizeof(*samples));
        if (!samples)
            return -ENOMEM;
        reader->rings[i].counts.samples = samples;
    }
    return 0;
}

static int init_retention(struct weir_reader *reader, const struct weir_reader_setup *setup)
{
    if (setup->retained_chunks == 0)
        return 0;
    reader->retention = calloc(1, sizeof(*reader->retention));
    if (!reader->retention)
        return -ENOMEM;
    return weir_retention_init(reader->retention, &(struct weir_retention_setup){
                                                      .pool = setup->pool,
                                                      .room = setup->retained_chunks,
                                                      .span_ns = setup->retained_span_ns,
                                                      .counters = (size_t)setup->ring_count * setup->event_count,
                                                  });
}

int weir_reader_init(struct weir_reader *reader, const struct weir_reader_setup *setup)
{
    memset(reader, 0, sizeof(*reader));
    reader->kernel = setup->kernel;
    reader->pool = setup->pool;
    reader->number = setup->number;
    reader->pool_share = setup->pool_share;
    reader->queue = setup->queue;
    reader->control = setup->control;
    reader->layout = setup->layout;
    reader->clock = setup->clock;
    reader->set = setup->set;
    reader->ring_count = setup->ring_count;
    reader->event_count = setup->event_count;
    reader->live_readers = setup->live_readers;
    reader->ended_fd = setup->ended_fd;
    reader->wake_fds[0] = reader->wake_fds[1] = -1;

    for (int i = 0; i < 2; i++) {
        reader->wake_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (reader->wake_fds[i] < 0)
            return -errno;
    }
    int result = init_rings(reader, setup->event_count);
    if (result == 0)
        result = init_retention(reader, setup);
    return result < 0 ? result : weir_reader_init_shedding(reader, setup);
}

static void free_ring(struct weir_reader_ring *r)
{
    free(r->counts.samples);
    free(r->gaps);
    weir_reader_free_returns(r);
}

void weir_reader_drop_ring(struct weir_reader *reader, struct weir_reader_ring *r)
{
    weir_assert(!r->ring.page);
    free_ring(r);
    size_t behind = (size_t)(reader->rings + reader->ring_count - (r + 1));
    memmove(r, r + 1, behind * sizeof(*r));
    reader->ring_count--;
}

void weir_reader_fini(struct weir_reader *reader)
{
    if (!reader)
        return;
    if (reader->chunk)
        weir_pool_put(reader->pool, reader->chunk);
    weir_retention_fini(reader->retention);
    free(reader->retention);
    for (unsigned i = 0; reader->rings && i < reader->ring_count; i++) {
        weir_ring_unmap(&reader->rings[i].ring);
        free_ring(&reader->rings[i]);
    }
    free(reader->rings);
    free(reader->polls);
    for (int i = 0; i < 2; i++) {
        if (reader->wake_fds[i] >= 0)
            close(reader->wake_fds[i]);
    }
    memset(reader, 0, sizeof(*reader));
    reader->wake_fds[0] = reader->wake_fds[1] = -1;
}

/* Tells how far we are. Relaxed: the numbers are read for their own sake. */
static void publish_counts(struct weir_reader *reader)
{
    uint64_t samples = 0, starved = 0;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *r = &reader->rings[i];
        for (unsigned event = 0; event < reader->event_count; event++)
            samples += r->counts.samples[event];
        starved += r->lost_while_starved;
    }
    atomic_store_explicit(&reader->handed_samples, samples, memory_order_relaxed);
    atomic_store_explicit(&reader->handed_starved, starved, memory_order_relaxed);
    atomic_store_explicit(&reader->handed_wakeups, reader->wakeups, memory_order_relaxed);
}

static void push(struct weir_reader *reader, struct weir_chunk *chunk)
{
    publish_counts(reader);
    reader->handed++;
    /* Relaxed: the coordinator only compares sums, to see whether anything has moved. */
    uint64_t bytes = atomic_load_explicit(&reader->handed_bytes, memory_order_relaxed) + chunk->used;
    atomic_store_explicit(&reader->handed_bytes, bytes, memory_order_relaxed);
    chunk->returned = &reader->returned;
    chunk->reader = reader->number + 1;
    if (reader->tee) {
        chunk->tee = reader->number + 1;
        chunk->side_bytes = weir_side_tee_pushed(reader->tee);
    }
    chunk->handed_ns = reader->clock ? weir_clock_now_ns(reader->clock) : 0;
    reader->lent_bytes += chunk->share == reader->pool_share ? 0 : chunk->used;
    weir_chunk_queue_push(reader->queue, chunk);
}

static void hand_over(struct weir_reader *reader)
{
    push(reader, reader->chunk);
    reader->chunk = NULL;
    weir_test_point(WEIR_AT_READER_HELD);
    /* (K) */
    atomic_store_explicit(&reader->holding, reader->untold_rings > 0, memory_order_release);
}

static struct weir_chunk *take_chunk(struct weir_reader *reader)
{
    weir_reader_note_pressure(reader);
    /* A reader with nothing in the pipeline may take of the reserve. */
    return weir_pool_take(reader->pool, reader->pool_share, weir_reader_chunks_outside(reader) == 0);
}

bool weir_reader_make_room(struct weir_reader *reader, uint64_t bytes)
{
    if (reader->chunk && reader->chunk->capacity - reader->chunk->used < bytes)
        hand_over(reader);
    if (!reader->chunk)
        reader->chunk = take_chunk(reader);
    return reader->chunk != NULL;
}

/* ---- what stays in memory ---- */

/* Evicts the oldest chunk and returns it, or NULL: no room in the file's chunk for what must not be evicted. */
static struct weir_chunk *evict(struct weir_reader *reader)
{
    struct weir_retention *retention = reader->retention;
    uint64_t side_bytes = weir_retention_side_bytes(retention);
    if (side_bytes > 0 && !weir_reader_make_room(reader, side_bytes))
        return NULL;
    struct weir_chunk *chunk = weir_retention_evict(retention, reader->chunk);
    if (side_bytes > 0) /* relaxed: no ring holds these records any more, so nobody takes them for drained */
        atomic_store_explicit(&reader->holding, true, memory_order_relaxed);
    return chunk;
}

static bool evict_to_pool(struct weir_reader *reader)
{
    struct weir_chunk *chunk = evict(reader);
    if (!chunk)
        return false;
    weir_pool_retain(reader->pool, -1);
    weir_pool_put(reader->pool, chunk);
    return true;
}

/* The chunk to retain samples in, or NULL. */
static struct weir_chunk *chunk_to_retain(struct weir_reader *reader)
{
    struct weir_retention *retention = reader->retention;
    if (retention->open.chunk)
        return retention->open.chunk;
    struct weir_chunk *chunk = weir_retention_has_room(retention) ? take_chunk(reader) : NULL;
    if (chunk)
        weir_pool_retain(reader->pool, 1);
    else if (retention->count > 0)
        chunk = evict(reader);
    if (chunk)
        weir_retention_open(retention, chunk);
    return chunk;
}

static void seal(struct weir_reader *reader)
{
    uint64_t *counters = weir_retention_counters(reader->retention);
    for (unsigned i = 0; i < reader->ring_count; i++)
        memcpy(counters + (size_t)i * reader->event_count, reader->rings[i].counts.samples,
               reader->event_count * sizeof(*counters));
    weir_retention_seal(reader->retention);
}

/* False: come again, there is no room for what must not be evicted. */
static bool evict_outdated(struct weir_reader *reader, uint64_t newest_ns)
{
    while (weir_retention_is_outdated(reader->retention, newest_ns)) {
        if (!evict_to_pool(reader))
            return false;
    }
    return true;
}

static void note_retained(struct weir_reader *reader, uint64_t side_bytes)
{
    if (!weir_retention_note(reader->retention, side_bytes))
        return;
    seal(reader);
    evict_outdated(reader, 0);
}

/* Whether one of the epochs after `passed`, up to `epoch`, is a snapshot. */
static bool is_snapshot(const struct weir_reader *reader, uint64_t passed, uint64_t epoch)
{
    /* Relaxed: stored before the epoch of that number was released (J). */
    uint64_t snapshot = atomic_load_explicit(&reader->control->snapshot_epoch, memory_order_relaxed);
    return snapshot > passed && snapshot <= epoch;
}

/* What no snapshot has asked for. False: come again. */
static bool empty_at_end(struct weir_reader *reader)
{
    uint64_t before = weir_retention_evicted(reader->retention);
    bool emptied = true;
    while (emptied && reader->retention->count > 0)
        emptied = evict_to_pool(reader);
    reader->left_samples += weir_retention_evicted(reader->retention) - before;
    return emptied;
}

/* Epochs after `passed`, up to `epoch`, are about to be passed. False: come again. */
static bool pass_retained(struct weir_reader *reader, uint64_t passed, uint64_t epoch)
{
    const struct weir_reader_control *control = reader->control;
    struct weir_retention *retention = reader->retention;
    bool hands_over = is_snapshot(reader, passed, epoch);
    bool stops = epoch >= atomic_load_explicit(&control->stop_epoch, memory_order_relaxed);
    if (!hands_over && !stops)
        return true;

    if (retention->open.chunk && retention->open.chunk->used > 0)
        seal(reader);
    if (!evict_outdated(reader, atomic_load_explicit(&control->newest_ns, memory_order_relaxed)))
        return false;
    /* What was copied out of evicted chunks is older than what is retained. */
    if (hands_over && reader->chunk && reader->chunk->used > 0)
        hand_over(reader);
    struct weir_chunk *chunk;
    while (hands_over && (chunk = weir_retention_take(retention))) {
        weir_pool_retain(reader->pool, -1);
        weir_test_point(WEIR_AT_SNAPSHOT_PUSH);
        push(reader, chunk);
    }
    return empty_at_end(reader);
}

uint64_t weir_reader_evicted(const struct weir_reader *reader, unsigned ring, unsigned event)
{
    return reader->retention ? reader->retention->evicted[(size_t)ring * reader->event_count + event] : 0;
}

/* ---- draining ---- */

/* A chunk with room for at least one byte, or NULL. */
static struct weir_chunk *chunk_to_fill(struct weir_reader *reader, const struct weir_reader_ring *r)
{
    if (weir_reader_retains(reader, r))
        return chunk_to_retain(reader);
    return weir_reader_make_room(reader, 0) ? reader->chunk : NULL;
}

static void close_chunk(struct weir_reader *reader, const struct weir_reader_ring *r)
{
    if (weir_reader_retains(reader, r))
        seal(reader);
    else
        hand_over(reader);
}

static void note_lost(struct weir_reader_ring *r, uint64_t lost)
{
    if (lost > 0 && r->starved) {
        r->lost_while_starved += lost;
        r->starved = false;
    }
}

/* Samples of a ring stand in order of time, newest last or, in a ring of the newest records, newest first; those of
 * other rings may be older. */
static void note_times(struct weir_chunk *chunk, const struct weir_walk_counts *counts)
{
    uint64_t oldest_ns = weir_min_u64(counts->first_sample_ns, counts->last_sample_ns);
    uint64_t newest_ns = weir_max_u64(counts->first_sample_ns, counts->last_sample_ns);
    if (oldest_ns > 0 && (chunk->first_sample_ns == 0 || oldest_ns < chunk->first_sample_ns))
        chunk->first_sample_ns = oldest_ns;
    chunk->last_sample_ns = weir_max_u64(chunk->last_sample_ns, newest_ns);
}

/* What a chunk holds behind its records: the beginning of one, of which the rest is still in the ring. It is not copied
 * again, as long as the chunk is the same and nothing was added to it. */
struct begun {
    const struct weir_chunk *chunk;
    uint32_t used;
    uint64_t bytes;
};

/* Copies at least one byte of [ring->tail, + available) behind what the chunk holds of it already, a block in all where
 * that is enough. Returns what is there now. */
static uint64_t copy_block(const struct weir_reader_ring *r, struct weir_chunk *chunk, uint64_t begun_bytes,
                           uint64_t available)
{
    uint64_t room = chunk->capacity - chunk->used;
    uint64_t most = weir_min_u64(available, room);
    uint64_t bytes = weir_min_u64(weir_max_u64(BLOCK_BYTES, begun_bytes + BLOCK_BYTES / 2), most);
    weir_ring_copy(&r->ring, r->ring.tail + begun_bytes, chunk->data + chunk->used + begun_bytes, bytes - begun_bytes);
    return bytes;
}

/*
 * Moves one block of records from the ring's tail. Returns the bytes of whole records that were moved (out of the ring;
 * trimmed, they take less of the chunk); 0 when the chunk has no room for the next record; -EBADMSG when there is no
 * valid record.
 */
static int64_t move_block(struct weir_reader *reader, struct weir_reader_ring *r, struct weir_chunk *chunk,
                          struct begun *begun, uint64_t available)
{
    uint64_t most = weir_min_u64(available, chunk->capacity - chunk->used);
    uint8_t *to = chunk->data + chunk->used;
    uint64_t bytes = begun->chunk == chunk && begun->used == chunk->used ? begun->bytes : 0;
    uint64_t lost_before = r->counts.lost_reported, side_before = r->counts.other_bytes;
    r->counts.first_sample_ns = r->counts.last_sample_ns = 0;
    int64_t moved;
    do { /* a record may be longer than a block */
        bytes = copy_block(r, chunk, bytes, available);
        moved = weir_record_walk(&reader->layout, to, bytes, &r->counts);
    } while (moved == 0 && bytes < most);
    if (moved <= 0)
        return moved;

    if (weir_reader_renames(r))
        weir_record_rename(reader->set, to, (uint64_t)moved);
    if (r->sideband && reader->layout.maps_have_no_ids)
        weir_record_mend_maps(to, (uint64_t)moved);
    if (r->sideband && reader->tee)
        weir_side_tee_push(reader->tee, to, (size_t)moved);
    note_lost(r, r->counts.lost_reported - lost_before);
    chunk->lost_reported += r->counts.lost_reported - lost_before;
    note_times(chunk, &r->counts);
    uint64_t kept = weir_reader_trims(reader) ? weir_reader_trim(reader, r, to, (uint64_t)moved) : (uint64_t)moved;
    chunk->used += (uint32_t)kept;
    /* Behind records that were trimmed it does not stand where they end now. */
    *begun = (struct begun){chunk, chunk->used, kept == (uint64_t)moved ? bytes - (uint64_t)moved : 0};
    r->drained_bytes += (uint64_t)moved;
    if (weir_reader_retains(reader, r))
        note_retained(reader, r->counts.other_bytes - side_before);
    else /* relaxed: ordered before the release of the tail that follows (D) */
        atomic_store_explicit(&reader->holding, true, memory_order_relaxed);
    return moved;
}

/* With a span: whether what comes next is a sample for another chunk than the open one. */
static bool begins_slice(const struct weir_reader *reader, const struct weir_reader_ring *r)
{
    if (!weir_reader_retains(reader, r) || reader->retention->span_ns == 0 || !reader->retention->open.chunk)
        return false;
    struct perf_event_header header;
    weir_ring_copy(&r->ring, r->ring.tail, &header, sizeof(header));
    if (header.type != PERF_RECORD_SAMPLE || header.size < reader->layout.time_offset + (int)sizeof(uint64_t))
        return false;
    uint64_t time_ns;
    weir_ring_copy(&r->ring, r->ring.tail + (uint64_t)reader->layout.time_offset, &time_ns, sizeof(time_ns));
    return weir_retention_begins_slice(reader->retention, time_ns);
}

/* What lies below head is no sequence of records: skips it, so that what follows may be read again. */
static void discard(struct weir_reader_ring *r, uint64_t head)
{
    r->discarded_bytes += head - r->ring.tail;
    weir_ring_release(&r->ring, head);
}

/* Finds out what a ring of the newest records holds that was not read before. */
static void begin_newest(struct weir_reader_ring *r)
{
    uint64_t head = weir_ring_head(&r->ring), written = r->ring.tail - head;
    uint64_t kept = weir_min_u64(written, r->ring.bytes);
    r->reading_newest = true;
    r->newest_head = r->ring.tail = head;
    r->newest_end = head + kept;
    r->overwritten_bytes += written - kept;
}

/* Reads it, newest first. False: come again, the pool is empty. The kernel does not write to it meanwhile. */
static bool read_newest(struct weir_reader *reader, struct weir_reader_ring *r)
{
    if (!r->reading_newest)
        begin_newest(r);
    struct begun begun = {0};
    while (r->ring.tail != r->newest_end) {
        struct weir_chunk *chunk = chunk_to_fill(reader, r);
        if (!chunk)
            return false;
        uint64_t left = r->newest_end - r->ring.tail, room = chunk->capacity - chunk->used;
        int64_t moved = move_block(reader, r, chunk, &begun, left);
        weir_test_point(WEIR_AT_SNAPSHOT_READ);
        if (moved > 0) {
            r->ring.tail += (uint64_t)moved;
        } else if (moved == 0 && room < weir_min_u64(left, WEIR_RECORD_MAX_BYTES)) {
            close_chunk(reader, r);
        } else { /* the oldest record, of which the newest has taken a part */
            r->overwritten_bytes += left;
            break;
        }
    }
    r->reading_newest = false;
    r->ring.tail = r->newest_head;
    return true;
}

static void note_starved(struct weir_reader *reader, struct weir_reader_ring *r, uint64_t left)
{
    r->starved |= left >= r->ring.bytes - r->ring.bytes / 8;
    reader->half_full |= left >= r->ring.bytes / 2;
}

/* Moves the one record that stands first. False: come again, the pool is empty. */
static bool move_record(struct weir_reader *reader, struct weir_reader_ring *r, uint64_t head)
{
    struct perf_event_header header = {0};
    weir_ring_copy(&r->ring, r->ring.tail, &header, sizeof(header));
    uint64_t bytes = weir_max_u64(header.size, sizeof(header));
    if (!weir_reader_tell(reader, r) || !weir_reader_make_room(reader, bytes))
        return false;
    struct begun none = {0};
    int64_t moved = bytes <= head - r->ring.tail ? move_block(reader, r, reader->chunk, &none, bytes) : -EBADMSG;
    if (moved <= 0)
        discard(r, head);
    else
        weir_ring_release(&r->ring, r->ring.tail + (uint64_t)moved);
    return true;
}

/* Leaves a ring alone while it is half empty at least; makes it so. */
static enum weir_reader_state hold_back(struct weir_reader *reader, struct weir_reader_ring *r, uint64_t head)
{
    note_starved(reader, r, head - r->ring.tail);
    while (head - r->ring.tail > r->ring.bytes / 2) {
        if (!weir_reader_drop(reader, r, head) && !move_record(reader, r, head))
            break;
    }
    return WEIR_READER_STARVED;
}

/* Puts what says so where the tail stands. False: come again, the pool is empty. */
static bool pass_return(struct weir_reader *reader, struct weir_reader_ring *r, const struct weir_reader_return *next)
{
    struct weir_chunk *chunk = chunk_to_fill(reader, r);
    if (chunk && chunk->capacity - chunk->used < next->bytes) {
        close_chunk(reader, r);
        chunk = chunk_to_fill(reader, r);
    }
    if (!chunk)
        return false;
    memcpy(chunk->data + chunk->used, next->records, next->bytes);
    chunk->used += (uint32_t)next->bytes;
    r->passed = next;
    if (weir_reader_retains(reader, r))
        note_retained(reader, next->bytes);
    else /* relaxed: these records are no older than a round, whichever it is */
        atomic_store_explicit(&reader->holding, true, memory_order_relaxed);
    return true;
}

static enum weir_reader_state drain_to(struct weir_reader *reader, struct weir_reader_ring *r, uint64_t head)
{
    struct begun begun = {0};
    while (r->ring.tail != head) {
        if (begins_slice(reader, r)) {
            seal(reader);
            evict_outdated(reader, 0);
        }
        if (weir_reader_holds_back(reader, r))
            return hold_back(reader, r, head);
        struct weir_chunk *chunk = !r->untold || weir_reader_tell(reader, r) ? chunk_to_fill(reader, r) : NULL;
        if (!chunk) {
            note_starved(reader, r, head - r->ring.tail);
            return WEIR_READER_STARVED;
        }
        int64_t moved = move_block(reader, r, chunk, &begun, head - r->ring.tail);
        if (moved < 0 || (moved == 0 && chunk->used == 0)) {
            discard(r, head);
            break;
        }
        if (moved == 0) {
            /* A record below head is whole, so it was the chunk that was too small for it. */
            close_chunk(reader, r);
            continue;
        }
        weir_test_point(WEIR_AT_READER_RELEASE);
        weir_ring_release(&r->ring, r->ring.tail + (uint64_t)moved);
    }
    return WEIR_READER_DRAINED;
}

/* Drains one ring up to the head that it has on entry. */
static enum weir_reader_state drain(struct weir_reader *reader, struct weir_reader_ring *r)
{
    if (r->ring.newest)
        return WEIR_READER_DRAINED;
    uint64_t head = weir_ring_head(&r->ring);
    uint64_t fill_per_mille = weir_min_u64((head - r->ring.tail) * 1000 / r->ring.bytes, 1000);
    reader->fill_per_mille = (uint32_t)weir_max_u64(reader->fill_per_mille, fill_per_mille);
    const struct weir_reader_return *next;
    while ((next = weir_reader_next_return(r)) && next->at - r->ring.tail <= head - r->ring.tail) {
        if (drain_to(reader, r, next->at) == WEIR_READER_STARVED)
            return WEIR_READER_STARVED;
        if (!pass_return(reader, r, next)) {
            note_starved(reader, r, head - r->ring.tail);
            return WEIR_READER_STARVED;
        }
    }
    return drain_to(reader, r, head);
}

/* (N) acquire: who sees the ring awake sees it mapped. Sequentially consistent, as (M) is: the coordinator ends the
 * dormancy and then looks whether a wake was taken; a reader takes it and then looks here. */
static bool is_dormant(const struct weir_reader_ring *r)
{
    return atomic_load_explicit(&r->dormant, memory_order_seq_cst);
}

static bool read_all_newest(struct weir_reader *reader)
{
    bool all = true;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        if (!is_dormant(&reader->rings[i]) && reader->rings[i].ring.newest)
            all &= read_newest(reader, &reader->rings[i]);
    }
    return all;
}

static enum weir_reader_state starved(struct weir_reader *reader)
{
    reader->starved_steps++;
    reader->starved_wait_ms = reader->half_full || reader->starved_wait_ms == 0
                                  ? STARVED_POLL_MS
                                  : (unsigned)weir_min_u64(2ull * reader->starved_wait_ms, STARVED_POLL_MS_MAX);
    return WEIR_READER_STARVED;
}

static void note_look(struct weir_reader *reader, uint64_t began_ns, bool leaves_behind)
{
    if (began_ns == 0)
        return;
    weir_drain_watch_look(&reader->drain_watch,
                          &(struct weir_drain_look){
                              .at_ns = began_ns,
                              .switches = &reader->control->switches,
                              .due = reader->wakeups != reader->looked_wakeups || reader->starved_wait_ms > 0,
                              .leaves_behind = leaves_behind,
                              .fill_per_mille = reader->fill_per_mille,
                          });
    reader->looked_wakeups = reader->wakeups;
}

enum weir_reader_state weir_reader_step(struct weir_reader *reader)
{
    uint64_t began_ns = reader->clock ? weir_clock_now_ns(reader->clock) : 0;
    uint64_t epoch = atomic_load_explicit(&reader->control->epoch, memory_order_seq_cst); /* (J), (M) */
    uint64_t passed = atomic_load_explicit(&reader->passed_epoch, memory_order_relaxed);  /* our own word */
    weir_test_point(WEIR_AT_READER_EPOCH);

    /* Relaxed: published by the release of that epoch (J). */
    reader->stopping = epoch >= atomic_load_explicit(&reader->control->stop_epoch, memory_order_relaxed);
    if (weir_reader_pressure(reader) > WEIR_PRESSURE_NONE)
        weir_reader_note_pressure(reader);

    /* All rings, also behind one that has to wait: each is to know that what it loses now is the pool's fault. */
    bool has_to_wait = false;
    reader->half_full = false;
    reader->fill_per_mille = 0;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        if (!is_dormant(&reader->rings[i]))
            has_to_wait |= drain(reader, &reader->rings[i]) == WEIR_READER_STARVED;
    }
    note_look(reader, began_ns, has_to_wait);
    if (has_to_wait)
        return starved(reader);
    reader->starved_wait_ms = 0;
    if (reader->retention) /* relaxed: a hint, for the span of other readers */
        atomic_store_explicit(&reader->newest_ns, reader->retention->newest_ns, memory_order_relaxed);

    if (epoch != passed) {
        if (reader->untold_rings > 0 && !weir_reader_tell_all(reader))
            return starved(reader);
        if (reader->retention && !pass_retained(reader, passed, epoch))
            return starved(reader);
        if (is_snapshot(reader, passed, epoch) && !read_all_newest(reader))
            return starved(reader);
        if (reader->chunk && reader->chunk->used > 0)
            hand_over(reader);
        weir_test_point(WEIR_AT_READER_PASS);
        atomic_store_explicit(&reader->passed_epoch, epoch, memory_order_release); /* (L) */
    }
    /* Relaxed: stop_epoch is set before the epoch of that number is released (J). */
    if (epoch >= atomic_load_explicit(&reader->control->stop_epoch, memory_order_relaxed))
        return WEIR_READER_STOPPED;
    return WEIR_READER_DRAINED;
}

void weir_reader_set_poll_fds(struct weir_reader_ring *r, const int *fds, unsigned count)
{
    r->poll_fds = fds;
    r->poll_fd_count = count;
    r->poll_fd = 0;
    while (r->poll_fd < count && fds[r->poll_fd] < 0)
        r->poll_fd++;
}

/* A dormant ring is of a CPU that has another ring, and its tasks are that one's. */
static bool all_ended(const struct weir_reader *reader)
{
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *r = &reader->rings[i];
        if (!is_dormant(r) && r->poll_fd < r->poll_fd_count)
            return false;
    }
    return true;
}

/* The descriptor in use has hung up: its task is gone. Takes the next one; after the last one of the last ring of the
 * last reader the coordinator is told. */
static void next_poll_fd(struct weir_reader *reader, struct weir_reader_ring *r)
{
    do {
        r->poll_fd++;
    } while (r->poll_fd < r->poll_fd_count && r->poll_fds[r->poll_fd] < 0);
    if (reader->ended || reader->ended_fd < 0 || !all_ended(reader))
        return;
    reader->ended = true;
    /* Relaxed: nothing but the number itself is told. */
    if (atomic_fetch_sub_explicit(reader->live_readers, 1, memory_order_relaxed) == 1)
        eventfd_write(reader->ended_fd, 1);
}

void weir_reader_wait(struct weir_reader *reader, enum weir_reader_state state)
{
    uint64_t taken = atomic_load_explicit(&reader->wakes_taken, memory_order_relaxed); /* our own word */
    reader->polls[0] = (struct pollfd){.fd = reader->wake_fds[taken % 2], .events = POLLIN};
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *r = &reader->rings[i];
        bool dormant = is_dormant(r); /* then the coordinator may be mapping it: nothing of it is looked at */
        /* A negative descriptor is passed over by poll(2). */
        int fd = !dormant && r->poll_fd < r->poll_fd_count ? r->poll_fds[r->poll_fd] : -1;
        /* A ring of the newest records is read on demand: of its descriptors only the end matters. */
        reader->polls[i + 1] = (struct pollfd){.fd = fd, .events = !dormant && !r->ring.newest ? POLLIN : 0};
    }

    int timeout_ms = state == WEIR_READER_STARVED ? (int)reader->starved_wait_ms : -1;
    weir_test_point(WEIR_AT_READER_SLEEP);
    int ready = reader->kernel->ops->poll(reader->kernel->ctx, reader->polls, reader->ring_count + 1, timeout_ms);
    if (ready <= 0)
        return;

    bool data = false;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        short events = reader->polls[i + 1].revents;
        data |= (events & POLLIN) != 0;
        if (events & (POLLHUP | POLLERR | POLLNVAL))
            next_poll_fd(reader, &reader->rings[i]);
    }
    reader->wakeups += data;
    if (reader->polls[0].revents & POLLIN) {
        weir_test_point(WEIR_AT_READER_WOKEN);
        /* (M); and release: the coordinator's next use of this descriptor comes after our poll of it. */
        atomic_store_explicit(&reader->wakes_taken, taken + 1, memory_order_seq_cst);
    }
}

void weir_reader_run(struct weir_reader *reader)
{
    for (;;) {
        enum weir_reader_state state = weir_reader_step(reader);
        if (state == WEIR_READER_STOPPED)
            return;
        weir_reader_wait(reader, state);
    }
}

void weir_reader_wake(struct weir_reader *reader)
{
    /* (M); and acquire pairs with the release in wait(): the reader polls the other descriptor by now. */
    if (reader->wakes_sent != atomic_load_explicit(&reader->wakes_taken, memory_order_seq_cst))
        return;
    if (reader->wakes_sent > 0) {
        eventfd_t used;
        eventfd_read(reader->wake_fds[(reader->wakes_sent - 1) % 2], &used);
    }
    eventfd_write(reader->wake_fds[reader->wakes_sent % 2], 1);
    reader->wakes_sent++;
}

void weir_reader_end_dormancy(struct weir_reader *reader, struct weir_reader_ring *r)
{
    weir_assert(r->ring.page && r->poll_fd_count > 0);
    atomic_store_explicit(&r->dormant, false, memory_order_seq_cst); /* (N) */
    weir_test_point(WEIR_AT_RING_BEGUN);
    weir_reader_wake(reader);
}

unsigned weir_reader_mapped_rings(const struct weir_reader *reader)
{
    unsigned count = 0;
    for (unsigned i = 0; i < reader->ring_count; i++)
        count += reader->rings[i].ring.page != NULL;
    return count;
}

bool weir_reader_has_passed(const struct weir_reader *reader, uint64_t epoch)
{
    return atomic_load_explicit(&reader->passed_epoch, memory_order_acquire) >= epoch; /* (L) */
}

bool weir_reader_is_past(const struct weir_reader *reader, uint64_t epoch)
{
    if (weir_reader_has_passed(reader, epoch))
        return true;
    /* The rings first: a drained ring (E) shows us the holding flag that was set before its tail was released. */
    for (unsigned i = 0; i < reader->ring_count; i++) {
        if (!is_dormant(&reader->rings[i]) && !weir_ring_is_drained(&reader->rings[i].ring))
            return false;
    }
    return !atomic_load_explicit(&reader->holding, memory_order_acquire); /* (K) */
}

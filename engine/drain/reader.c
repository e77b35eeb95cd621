/*
 * A reader: made, taken apart, its steps, and the chunks that it hands over. step() and run() are called on the
 * reader's own thread; drop_ring(), mapped_rings(), has_passed(), is_past() and wakes_soon() on the coordinator. The
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

int weir_reader_init(struct weir_reader *reader, const struct weir_reader_setup *setup)
{
    memset(reader, 0, sizeof(*reader));
    reader->kernel = setup->kernel;
    reader->pool = setup->pool;
    reader->grower = setup->grower;
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
    reader->aux_fd = -1;

    for (int i = 0; i < 2; i++) {
        reader->wake_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (reader->wake_fds[i] < 0)
            return -errno;
    }
    int result = init_rings(reader, setup->event_count);
    if (result == 0)
        result = weir_reader_init_aux(reader, setup);
    if (result == 0)
        result = weir_reader_init_retention(reader, setup);
    return result < 0 ? result : weir_reader_init_shedding(reader, setup);
}

static void free_ring(struct weir_reader *reader, struct weir_reader_ring *r)
{
    weir_reader_free_aux(reader, r);
    weir_ring_unmap(&r->ring);
    free(r->counts.samples);
    free(r->gaps);
    weir_reader_free_returns(r);
}

void weir_reader_drop_ring(struct weir_reader *reader, struct weir_reader_ring *r)
{
    weir_assert(!r->ring.page);
    free_ring(reader, r);
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
    for (unsigned i = 0; reader->rings && i < reader->ring_count; i++)
        free_ring(reader, &reader->rings[i]);
    free(reader->rings);
    free(reader->polls);
    for (int i = 0; i < 2; i++) {
        if (reader->wake_fds[i] >= 0)
            close(reader->wake_fds[i]);
    }
    memset(reader, 0, sizeof(*reader));
    reader->wake_fds[0] = reader->wake_fds[1] = -1;
}

/* Samples that it has seen pass. */
static uint64_t sum_samples(const struct weir_reader *reader)
{
    uint64_t samples = 0;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        for (unsigned event = 0; event < reader->event_count; event++)
            samples += reader->rings[i].counts.samples[event];
    }
    return samples;
}

/* Tells how far we are. Relaxed: the numbers are read for their own sake. */
static void publish_counts(struct weir_reader *reader)
{
    uint64_t starved = 0;
    for (unsigned i = 0; i < reader->ring_count; i++)
        starved += reader->rings[i].lost_while_starved;
    atomic_store_explicit(&reader->handed_samples, sum_samples(reader), memory_order_relaxed);
    atomic_store_explicit(&reader->handed_starved, starved, memory_order_relaxed);
    atomic_store_explicit(&reader->handed_wakeups, reader->wakeups, memory_order_relaxed);
}

/* The chunk and those that follow it, as the writer is to see them. */
static void make_ready(struct weir_reader *reader, struct weir_chunk *chunk)
{
    weir_reader_settle(reader);
    /* Relaxed: the coordinator only compares sums, to see whether anything has moved. */
    uint64_t bytes = atomic_load_explicit(&reader->handed_bytes, memory_order_relaxed) + weir_chunk_train_bytes(chunk);
    atomic_store_explicit(&reader->handed_bytes, bytes, memory_order_relaxed);
    if (reader->tee && !chunk->opaque) {
        chunk->tee = reader->number + 1;
        chunk->side_bytes = weir_side_tee_pushed(reader->tee);
    }
    uint64_t now_ns = reader->clock ? weir_clock_now_ns(reader->clock) : 0;
    for (; chunk; chunk = chunk->follower) {
        chunk->returned = &reader->returned;
        chunk->reader = reader->number + 1;
        chunk->handed_ns = now_ns;
        reader->handed++;
        reader->lent_bytes += chunk->share == reader->pool_share ? 0 : chunk->used;
    }
}

void weir_reader_push(struct weir_reader *reader, struct weir_chunk *chunk)
{
    publish_counts(reader);
    make_ready(reader, chunk);
    weir_chunk_queue_push(reader->queue, chunk);
}

void weir_reader_push_train(struct weir_reader *reader, struct weir_chunk *train)
{
    struct weir_chunk *chunk = reader->chunk;
    if (!chunk || chunk->used == 0) {
        weir_reader_push(reader, train);
        return;
    }
    publish_counts(reader);
    make_ready(reader, chunk);
    make_ready(reader, train);
    reader->chunk = NULL;
    weir_chunk_queue_push_pair(reader->queue, chunk, train);
}

void weir_reader_note_holding(struct weir_reader *reader)
{
    bool holds = reader->untold_rings > 0 || weir_reader_owes_aux(reader);
    atomic_store_explicit(&reader->holding, holds, memory_order_release); /* (K) */
}

void weir_reader_hand_over(struct weir_reader *reader)
{
    if (!weir_reader_push_with_aux(reader))
        weir_reader_push(reader, reader->chunk);
    reader->chunk = NULL;
    weir_test_point(WEIR_AT_READER_HELD);
    weir_reader_note_holding(reader);
}

struct weir_chunk *weir_reader_take_chunk(struct weir_reader *reader, bool is_first)
{
    weir_reader_note_pressure(reader);
    /* A reader with nothing in the pipeline may take of the reserve. */
    bool use_reserve = is_first && weir_reader_chunks_outside(reader) == 0;
    struct weir_chunk *chunk = weir_pool_take(reader->pool, reader->pool_share, use_reserve);
    if (reader->grower)
        weir_pool_grower_tell(reader->grower);
    return chunk;
}

bool weir_reader_change_chunk(struct weir_reader *reader)
{
    if (reader->chunk)
        weir_reader_hand_over(reader);
    reader->chunk = weir_reader_take_chunk(reader, true);
    return reader->chunk != NULL;
}

/* Whether one of the epochs after `passed`, up to `epoch`, is a snapshot. */
static bool is_snapshot(const struct weir_reader *reader, uint64_t passed, uint64_t epoch)
{
    /* Relaxed: stored before the epoch of that number was released (J). */
    uint64_t snapshot = atomic_load_explicit(&reader->control->snapshot_epoch, memory_order_relaxed);
    return snapshot > passed && snapshot <= epoch;
}

static bool read_all_newest(struct weir_reader *reader)
{
    bool all = true;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        struct weir_reader_ring *r = &reader->rings[i];
        if (weir_reader_is_dormant(r))
            continue;
        if (r->ring.newest)
            all &= weir_reader_read_newest(reader, r);
        all &= weir_reader_read_newest_aux(reader, r);
    }
    for (unsigned i = 0; all && i < reader->ring_count; i++)
        weir_reader_end_newest_aux(&reader->rings[i]);
    return all;
}

/* All that was asked for has been handed over, and nothing is retained. Relaxed: published by passed_epoch (L). */
static void note_snapshot(struct weir_reader *reader)
{
    uint64_t evicted = reader->retention ? weir_retention_evicted(reader->retention) : 0;
    atomic_store_explicit(&reader->snapshot_samples, sum_samples(reader) - evicted, memory_order_relaxed);
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
                              .rotations = &reader->control->rotations,
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
        if (!weir_reader_is_dormant(&reader->rings[i]))
            has_to_wait |= !weir_reader_drain_with_aux(reader, &reader->rings[i]);
    }
    note_look(reader, began_ns, has_to_wait);
    if (has_to_wait)
        return starved(reader);
    reader->starved_wait_ms = 0;
    if (reader->retention) /* relaxed: a hint, for the span of other readers */
        atomic_store_explicit(&reader->newest_ns, reader->retention->newest_ns, memory_order_relaxed);

    weir_reader_mark_drained(reader, began_ns);
    if (epoch != passed) {
        if (reader->untold_rings > 0 && !weir_reader_tell_all(reader))
            return starved(reader);
        bool snapshot = is_snapshot(reader, passed, epoch);
        if (reader->retention && !weir_reader_pass_retained(reader, epoch, snapshot))
            return starved(reader);
        if (snapshot && !read_all_newest(reader))
            return starved(reader);
        if (reader->chunk && reader->chunk->used > 0)
            weir_reader_hand_over(reader);
        if (snapshot)
            note_snapshot(reader);
        weir_test_point(WEIR_AT_READER_PASS);
        atomic_store_explicit(&reader->passed_ns, began_ns, memory_order_relaxed); /* a hint, for who wakes it */
        atomic_store_explicit(&reader->passed_epoch, epoch, memory_order_release); /* (L) */
    }
    /* Relaxed: stop_epoch is set before the epoch of that number is released (J). */
    if (epoch >= atomic_load_explicit(&reader->control->stop_epoch, memory_order_relaxed))
        return WEIR_READER_STOPPED;
    return WEIR_READER_DRAINED;
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
    return weir_reader_has_passed(reader, epoch) || weir_reader_is_idle(reader);
}

bool weir_reader_is_idle(const struct weir_reader *reader)
{
    /* The rings first: a drained ring (E) shows us the holding flag that was set before its tail was released. */
    for (unsigned i = 0; i < reader->ring_count; i++) {
        if (!weir_reader_is_dormant(&reader->rings[i]) && !weir_ring_is_drained(&reader->rings[i].ring))
            return false;
    }
    return !atomic_load_explicit(&reader->holding, memory_order_acquire); /* (K) */
}

bool weir_reader_wakes_soon(const struct weir_reader *reader)
{
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *r = &reader->rings[i];
        if (!weir_reader_is_dormant(r) && weir_ring_fill(&r->ring) >= r->ring.bytes / WEIR_RING_WATERMARK_SHARE / 2)
            return true;
    }
    return false;
}

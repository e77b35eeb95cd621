/* Epochs and round markers. Coordinator thread. The proof that an epoch is a barrier: rounds.h. */
#include "engine/drain/rounds.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "engine/drain/shed.h"
#include "engine/kernel/test_point.h"
#include "format/perf_file.h"

#define SNAPSHOT_PASS_NS (WEIR_NS_PER_MS / 2)  /* between two looks at readers that pass a snapshot */
#define SNAPSHOT_LOOK_NS (10 * WEIR_NS_PER_MS) /* between two looks at a snapshot that is being written */
#define PATIENT_LOOKS    8                     /* at readers that may still pass by themselves */

const struct perf_event_header weir_finished_round = {
    .type = WEIR_RECORD_FINISHED_ROUND,
    .size = sizeof(struct perf_event_header),
};

void weir_rounds_init(struct weir_rounds *rounds, struct weir_reader_control *control,
                      struct weir_reader *const *readers, unsigned reader_count, struct weir_chunk_queue *queue,
                      uint64_t now_ns)
{
    memset(rounds, 0, sizeof(*rounds));
    rounds->control = control;
    rounds->readers = readers;
    rounds->reader_count = reader_count;
    rounds->queue = queue;
    rounds->period_ns = WEIR_ROUND_PERIOD_NS;
    rounds->next_ns = now_ns + WEIR_ROUND_PERIOD_NS;
    for (unsigned i = 0; i < WEIR_ROUND_MARKERS; i++) {
        struct weir_chunk *marker = &rounds->markers[i];
        marker->kind = WEIR_CHUNK_ROUND;
        marker->buffer_index = -1;
        marker->data = (uint8_t *)(uintptr_t)&weir_finished_round; /* never written to: buffer_index is -1 */
        marker->used = sizeof(weir_finished_round);
    }
}

static uint64_t handed_bytes(const struct weir_rounds *rounds)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < rounds->reader_count; i++)
        bytes += atomic_load_explicit(&rounds->readers[i]->sink.handed_bytes, memory_order_relaxed);
    return bytes;
}

static bool push_marker(struct weir_rounds *rounds, bool awaited)
{
    struct weir_chunk *marker = &rounds->markers[rounds->pushed % WEIR_ROUND_MARKERS];
    /* Acquire: its link fields are ours again once the writer has set it free. */
    if (atomic_load_explicit(&marker->state, memory_order_acquire) != WEIR_CHUNK_FREE)
        return false;
    weir_chunk_advance(marker, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
    marker->awaited = awaited;
    marker->handed_ns = rounds->opened_ns;
    weir_chunk_queue_push(rounds->queue, marker);
    rounds->pushed++;
    return true;
}

static uint64_t current_epoch(const struct weir_rounds *rounds)
{
    return atomic_load_explicit(&rounds->control->epoch, memory_order_relaxed); /* our own word */
}

/* Stores the words that readers need for a snapshot, before they see its epoch. */
static void announce_snapshot(struct weir_rounds *rounds)
{
    uint64_t newest_ns = 0;
    for (unsigned i = 0; i < rounds->reader_count; i++)
        newest_ns = weir_max_u64(
            newest_ns, atomic_load_explicit(&rounds->readers[i]->newest_ns, memory_order_relaxed)); /* a hint */
    /* Relaxed: published by the release of the epoch that follows. */
    atomic_store_explicit(&rounds->control->newest_ns, newest_ns, memory_order_relaxed);
    atomic_store_explicit(&rounds->control->snapshot_epoch, current_epoch(rounds) + 1, memory_order_relaxed);
}

static void open_epoch(struct weir_rounds *rounds, uint64_t now_ns, bool snapshot)
{
    if (snapshot)
        announce_snapshot(rounds);
    rounds->snapshot_open = snapshot;
    rounds->snapshot_wanted &= !snapshot;
    weir_test_point(WEIR_AT_ROUND_OPEN);
    /* (epoch-open) and (reader-wake) in reader.h */
    atomic_store_explicit(&rounds->control->epoch, current_epoch(rounds) + 1, memory_order_seq_cst);
    rounds->open = true;
    rounds->wanted = false;
    rounds->woken = false;
    rounds->first_pending = 0;
    rounds->opened_ns = now_ns;
}

static bool is_past(const struct weir_rounds *rounds, const struct weir_reader *reader)
{
    uint64_t epoch = current_epoch(rounds);
    return rounds->snapshot_open ? weir_reader_has_passed(reader, epoch) : weir_reader_is_past(reader, epoch);
}

/* True when every reader is past the open epoch. Readers found past need not be asked again. */
static bool all_past(struct weir_rounds *rounds)
{
    while (rounds->first_pending < rounds->reader_count && is_past(rounds, rounds->readers[rounds->first_pending]))
        rounds->first_pending++;
    return rounds->first_pending == rounds->reader_count;
}

/* Somebody waits for the next epoch. */
static bool is_awaited(const struct weir_rounds *rounds)
{
    return rounds->snapshot_wanted || rounds->cut == WEIR_ROUNDS_CUT_WANTED;
}

/* Somebody waits for the open epoch, or for the next one. */
static bool is_pressing(const struct weir_rounds *rounds)
{
    return rounds->hasty || rounds->snapshot_open || rounds->cut == WEIR_ROUNDS_CUT_OPEN || is_awaited(rounds);
}

/* Time since its last epoch before a sleeping reader is woken. */
static uint64_t patience_ns(const struct weir_rounds *rounds)
{
    return weir_min_u64(rounds->reader_count * WEIR_ROUND_PATIENCE_NS, WEIR_ROUND_PATIENCE_MAX_NS);
}

/* Twice the patience if the reader is about to wake by itself: it needs about as long again. */
static bool is_left_to_itself(const struct weir_rounds *rounds, const struct weir_reader *reader, uint64_t now_ns)
{
    /* Relaxed: a hint. */
    uint64_t passed_ns = atomic_load_explicit(&reader->passed_ns, memory_order_relaxed);
    uint64_t patience = patience_ns(rounds);
    return now_ns < passed_ns + patience || (now_ns < passed_ns + 2 * patience && weir_reader_wakes_soon(reader));
}

/* Wakes the readers whose patience is over; each once in an epoch. */
static void wake_stragglers(struct weir_rounds *rounds, uint64_t now_ns)
{
    bool pressing = is_pressing(rounds), all = true;
    for (unsigned i = rounds->first_pending; i < rounds->reader_count; i++) {
        struct weir_reader *reader = rounds->readers[i];
        if (reader->woken_epoch == current_epoch(rounds) || is_past(rounds, reader))
            continue;
        if (!pressing && is_left_to_itself(rounds, reader, now_ns)) {
            all = false;
            continue;
        }
        weir_reader_wake(reader);
        reader->woken_epoch = current_epoch(rounds);
    }
    rounds->woken = all;
}

/* False also when the epoch waits for a reader that was idle when the others were woken. */
static bool has_woken_all(const struct weir_rounds *rounds)
{
    return rounds->woken && rounds->readers[rounds->first_pending]->woken_epoch == current_epoch(rounds);
}

/* Pushes a marker, unless nothing has come since the last one. False: none is free, the writer is far behind. */
static bool mark(struct weir_rounds *rounds)
{
    uint64_t bytes = handed_bytes(rounds);
    if (bytes == rounds->bytes_at_marker)
        return true;
    if (!push_marker(rounds, false))
        return false;
    rounds->bytes_at_marker = bytes;
    return true;
}

/* Pushes the marker of a snapshot, and resumes the rings. False: try again, no marker is free. */
static bool close_snapshot(struct weir_rounds *rounds)
{
    const struct weir_chunk *marker = &rounds->markers[rounds->pushed % WEIR_ROUND_MARKERS];
    uint64_t bytes = handed_bytes(rounds);
    if (!push_marker(rounds, true))
        return false;
    rounds->bytes_at_marker = bytes;
    rounds->snapshot_marker = marker;
    rounds->snapshot_open = false;
    rounds->snapshots++;
    if (rounds->pause)
        rounds->pause(rounds->pause_ctx, false);
    return true;
}

/* Time from one epoch to the next one without a call of want(). */
static uint64_t period_ns(struct weir_rounds *rounds)
{
    if (!rounds->stretching)
        return rounds->period_ns;
    rounds->pressure = weir_pool_pressure(rounds->stretching, rounds->pressure);
    return rounds->period_ns * (rounds->pressure >= WEIR_PRESSURE_SOME ? WEIR_SHED_ROUND_FACTOR : 1);
}

/* Closes the open epoch. False: try again. */
static bool close_epoch(struct weir_rounds *rounds, uint64_t now_ns)
{
    weir_test_point(WEIR_AT_ROUND_MARK);
    if (rounds->snapshot_open) {
        if (!close_snapshot(rounds))
            return false;
    } else if (!rounds->keep_to_snapshots) {
        /* Without a free marker the next epoch closes the round; but a cut needs its own marker. */
        if (!mark(rounds) && rounds->cut == WEIR_ROUNDS_CUT_OPEN)
            return false;
    }
    rounds->open = rounds->hasty = false;
    rounds->earliest_ns = now_ns + WEIR_ROUND_GRACE_NS;
    rounds->next_ns = weir_max_u64(rounds->earliest_ns, rounds->opened_ns + period_ns(rounds));
    if (rounds->cut == WEIR_ROUNDS_CUT_OPEN) {
        rounds->cut = WEIR_ROUNDS_CUT;
        rounds->on_cut(rounds->on_cut_ctx);
    }
    return true;
}

static uint64_t due_ns(const struct weir_rounds *rounds)
{
    if (is_awaited(rounds))
        return rounds->earliest_ns;
    return rounds->wanted ? rounds->earliest_ns + (WEIR_ROUND_KICK_NS - WEIR_ROUND_GRACE_NS) : rounds->next_ns;
}

static void open_due(struct weir_rounds *rounds, uint64_t now_ns)
{
    bool cuts = rounds->cut == WEIR_ROUNDS_CUT_WANTED;
    bool snapshot = rounds->snapshot_wanted || (cuts && rounds->cut_with_snapshot);
    if (snapshot && rounds->drain_first && !rounds->drained_first) {
        /* After that epoch all readers have published their newest sample, which says which chunks are outdated. */
        rounds->drained_first = true;
        open_epoch(rounds, now_ns, false);
        wake_stragglers(rounds, now_ns);
        return;
    }
    rounds->drained_first = false;
    if (snapshot && rounds->pause)
        rounds->pause(rounds->pause_ctx, true);
    if (snapshot)
        weir_test_point(WEIR_AT_SNAPSHOT_PAUSED);
    open_epoch(rounds, now_ns, snapshot);
    if (cuts)
        rounds->cut = WEIR_ROUNDS_CUT_OPEN;
    if (snapshot)
        wake_stragglers(rounds, now_ns);
}

/* While an epoch is open: when to look again. */
static uint64_t open_until_ns(const struct weir_rounds *rounds, uint64_t now_ns)
{
    if (rounds->snapshot_open)
        return now_ns + SNAPSHOT_PASS_NS;
    uint64_t first_ns = rounds->opened_ns + WEIR_ROUND_GRACE_NS;
    if (now_ns < first_ns)
        return first_ns;
    if (is_pressing(rounds) || has_woken_all(rounds))
        return now_ns + WEIR_ROUND_GRACE_NS;
    return now_ns + weir_max_u64(WEIR_ROUND_GRACE_NS, patience_ns(rounds) / PATIENT_LOOKS);
}

static void look_after_snapshot(struct weir_rounds *rounds)
{
    bool writing = rounds->snapshot_marker != NULL;
    if (writing && weir_rounds_snapshot_progress(rounds) != WEIR_SNAPSHOT_WRITING && rounds->snapshot_written)
        rounds->snapshot_written(rounds->snapshot_ctx);
}

/* While no epoch is open: when to look again. */
static uint64_t idle_until_ns(const struct weir_rounds *rounds, uint64_t now_ns)
{
    if (rounds->cut == WEIR_ROUNDS_CUT)
        return UINT64_MAX;
    return rounds->snapshot_marker ? weir_min_u64(due_ns(rounds), now_ns + SNAPSHOT_LOOK_NS) : due_ns(rounds);
}

void weir_rounds_want(struct weir_rounds *rounds, bool hasty)
{
    if (rounds->cut == WEIR_ROUNDS_CUT)
        return; /* the wish was for the old output */
    rounds->wanted |= !rounds->open;
    rounds->hasty |= hasty;
}

uint64_t weir_rounds_advance(struct weir_rounds *rounds, uint64_t now_ns)
{
    look_after_snapshot(rounds);
    if (rounds->cut == WEIR_ROUNDS_CUT)
        return UINT64_MAX;
    if (!rounds->open) {
        if (now_ns < due_ns(rounds))
            return idle_until_ns(rounds, now_ns);
        open_due(rounds, now_ns);
    }
    if (all_past(rounds))
        return close_epoch(rounds, now_ns) ? idle_until_ns(rounds, now_ns) : now_ns + WEIR_ROUND_GRACE_NS;
    if (now_ns >= rounds->opened_ns + WEIR_ROUND_GRACE_NS && !has_woken_all(rounds))
        wake_stragglers(rounds, now_ns);
    return open_until_ns(rounds, now_ns);
}

void weir_rounds_cut(struct weir_rounds *rounds, void (*on_cut)(void *ctx), void *ctx)
{
    weir_assert(rounds->cut == WEIR_ROUNDS_UNCUT);
    rounds->cut = WEIR_ROUNDS_CUT_WANTED;
    rounds->on_cut = on_cut;
    rounds->on_cut_ctx = ctx;
}

void weir_rounds_resume(struct weir_rounds *rounds, uint64_t now_ns)
{
    rounds->cut = WEIR_ROUNDS_UNCUT;
    rounds->next_ns = now_ns + rounds->period_ns;
}

int weir_rounds_snapshot(struct weir_rounds *rounds)
{
    if (weir_rounds_snapshot_progress(rounds) != WEIR_SNAPSHOT_NONE)
        return -EBUSY;
    rounds->snapshot_wanted = true;
    return 0;
}

enum weir_snapshot_progress weir_rounds_snapshot_progress(struct weir_rounds *rounds)
{
    if (rounds->snapshot_wanted || rounds->snapshot_open)
        return WEIR_SNAPSHOT_TAKING;
    /* Acquire: as in push_marker(). */
    if (rounds->snapshot_marker &&
        atomic_load_explicit(&rounds->snapshot_marker->state, memory_order_acquire) == WEIR_CHUNK_FREE)
        rounds->snapshot_marker = NULL;
    return rounds->snapshot_marker ? WEIR_SNAPSHOT_WRITING : WEIR_SNAPSHOT_NONE;
}

void weir_rounds_stop(struct weir_rounds *rounds, bool snapshot)
{
    /* Relaxed: published by the release of the epoch that follows. */
    atomic_store_explicit(&rounds->control->stop_epoch, current_epoch(rounds) + 1, memory_order_relaxed);
    /* If some readers have passed a snapshot already, the others end with it, too. */
    open_epoch(rounds, 0, snapshot || rounds->snapshot_wanted || rounds->snapshot_open);
    for (unsigned i = 0; i < rounds->reader_count; i++)
        weir_reader_wake(rounds->readers[i]);
}

void weir_rounds_close(struct weir_rounds *rounds)
{
    rounds->open = false;
    rounds->snapshots += rounds->snapshot_open;
    rounds->snapshot_open = false;
    push_marker(rounds, false);
}

/* Epochs and round markers. Coordinator thread. The argument why this is a barrier is in rounds.h. */
#include "engine/rounds.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "format/perf_file.h"

/* The record that a marker becomes: a header alone. */
static const struct perf_event_header finished_round = {
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
    rounds->next_ns = now_ns + WEIR_ROUND_PERIOD_NS;
    for (unsigned i = 0; i < WEIR_ROUND_MARKERS; i++) {
        struct weir_chunk *marker = &rounds->markers[i];
        marker->kind = WEIR_CHUNK_ROUND;
        marker->buffer_index = -1;
        marker->data = (uint8_t *)(uintptr_t)&finished_round; /* never written to: buffer_index is -1 */
        marker->used = sizeof(finished_round);
    }
}

static uint64_t handed_bytes(const struct weir_rounds *rounds)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < rounds->reader_count; i++)
        bytes += atomic_load_explicit(&rounds->readers[i]->handed_bytes, memory_order_relaxed);
    return bytes;
}

static bool push_marker(struct weir_rounds *rounds)
{
    struct weir_chunk *marker = &rounds->markers[rounds->pushed % WEIR_ROUND_MARKERS];
    /* Acquire: its link fields are ours again once the writer has set it free. */
    if (atomic_load_explicit(&marker->state, memory_order_acquire) != WEIR_CHUNK_FREE)
        return false;
    weir_chunk_advance(marker, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
    weir_chunk_queue_push(rounds->queue, marker);
    rounds->pushed++;
    return true;
}

static uint64_t current_epoch(const struct weir_rounds *rounds)
{
    return atomic_load_explicit(&rounds->control->epoch, memory_order_relaxed); /* our own word */
}

static void open_epoch(struct weir_rounds *rounds, uint64_t now_ns)
{
    /* (J) and (M) in reader.h */
    atomic_store_explicit(&rounds->control->epoch, current_epoch(rounds) + 1, memory_order_seq_cst);
    rounds->open = true;
    rounds->wanted = false;
    rounds->woken = false;
    rounds->first_pending = 0;
    rounds->opened_ns = now_ns;
}

/* True when every reader is past the open epoch. Readers found past need not be asked again. */
static bool all_past(struct weir_rounds *rounds)
{
    uint64_t epoch = current_epoch(rounds);
    while (rounds->first_pending < rounds->reader_count &&
           weir_reader_is_past(rounds->readers[rounds->first_pending], epoch))
        rounds->first_pending++;
    return rounds->first_pending == rounds->reader_count;
}

static void wake_stragglers(struct weir_rounds *rounds)
{
    uint64_t epoch = current_epoch(rounds);
    for (unsigned i = rounds->first_pending; i < rounds->reader_count; i++) {
        if (!weir_reader_is_past(rounds->readers[i], epoch))
            weir_reader_wake(rounds->readers[i]);
    }
    rounds->woken = true;
}

/* A marker, unless nothing has come since the last one. False when none is free: the writer is far behind. */
static bool mark(struct weir_rounds *rounds)
{
    uint64_t bytes = handed_bytes(rounds);
    if (bytes == rounds->bytes_at_marker)
        return true;
    if (!push_marker(rounds))
        return false;
    rounds->bytes_at_marker = bytes;
    return true;
}

/* Closes the open epoch. False: it is to be tried again. */
static bool close_epoch(struct weir_rounds *rounds, uint64_t now_ns)
{
    /* With no marker free the next epoch will do; but for a cut, which is where its marker is. */
    if (!mark(rounds) && rounds->cut == WEIR_ROUNDS_CUT_OPEN)
        return false;
    rounds->open = false;
    rounds->earliest_ns = now_ns + WEIR_ROUND_GRACE_NS;
    rounds->next_ns = now_ns + WEIR_ROUND_PERIOD_NS;
    if (rounds->cut == WEIR_ROUNDS_CUT_OPEN) {
        rounds->cut = WEIR_ROUNDS_CUT;
        rounds->on_cut(rounds->on_cut_ctx);
    }
    return true;
}

uint64_t weir_rounds_advance(struct weir_rounds *rounds, uint64_t now_ns, bool kicked)
{
    if (rounds->cut == WEIR_ROUNDS_CUT)
        return UINT64_MAX;
    if (!rounds->open) {
        rounds->wanted |= kicked || rounds->cut == WEIR_ROUNDS_CUT_WANTED;
        uint64_t due_ns = rounds->wanted ? rounds->earliest_ns : rounds->next_ns;
        if (now_ns < due_ns)
            return due_ns;
        open_epoch(rounds, now_ns);
        if (rounds->cut == WEIR_ROUNDS_CUT_WANTED)
            rounds->cut = WEIR_ROUNDS_CUT_OPEN;
    }
    if (all_past(rounds)) {
        if (!close_epoch(rounds, now_ns))
            return now_ns + WEIR_ROUND_GRACE_NS;
        if (rounds->cut == WEIR_ROUNDS_CUT)
            return UINT64_MAX;
        return rounds->cut == WEIR_ROUNDS_CUT_WANTED ? rounds->earliest_ns : rounds->next_ns;
    }
    if (!rounds->woken && now_ns >= rounds->opened_ns + WEIR_ROUND_GRACE_NS)
        wake_stragglers(rounds);
    return now_ns + WEIR_ROUND_GRACE_NS;
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
    rounds->next_ns = now_ns + WEIR_ROUND_PERIOD_NS;
}

void weir_rounds_stop(struct weir_rounds *rounds)
{
    /* Relaxed: published by the release of the epoch that follows. */
    atomic_store_explicit(&rounds->control->stop_epoch, current_epoch(rounds) + 1, memory_order_relaxed);
    open_epoch(rounds, 0);
    for (unsigned i = 0; i < rounds->reader_count; i++)
        weir_reader_wake(rounds->readers[i]);
}

void weir_rounds_close(struct weir_rounds *rounds)
{
    rounds->open = false;
    push_marker(rounds);
}

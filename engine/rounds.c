/* Epochs and round markers. Coordinator thread. The argument why this is a barrier is in rounds.h. */
#include "engine/rounds.h"

#include <string.h>

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

/* Closes the open epoch: a marker, unless nothing has come since the last one. */
static void close_epoch(struct weir_rounds *rounds, uint64_t now_ns)
{
    uint64_t bytes = handed_bytes(rounds);
    /* With no marker free the writer is far behind: the next epoch will do. */
    if (bytes != rounds->bytes_at_marker && push_marker(rounds))
        rounds->bytes_at_marker = bytes;
    rounds->open = false;
    rounds->earliest_ns = now_ns + WEIR_ROUND_GRACE_NS;
    rounds->next_ns = now_ns + WEIR_ROUND_PERIOD_NS;
}

uint64_t weir_rounds_advance(struct weir_rounds *rounds, uint64_t now_ns, bool kicked)
{
    if (!rounds->open) {
        rounds->wanted |= kicked;
        uint64_t due_ns = rounds->wanted ? rounds->earliest_ns : rounds->next_ns;
        if (now_ns < due_ns)
            return due_ns;
        open_epoch(rounds, now_ns);
    }
    if (all_past(rounds)) {
        close_epoch(rounds, now_ns);
        return rounds->next_ns;
    }
    if (!rounds->woken && now_ns >= rounds->opened_ns + WEIR_ROUND_GRACE_NS)
        wake_stragglers(rounds);
    return now_ns + WEIR_ROUND_GRACE_NS;
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

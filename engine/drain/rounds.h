/*
 * Rounds: the true barriers that make one time-orderable file out of parallel readers.
 *
 * What readers of the file rely on (docs/format.md): every record older than the newest one before FINISHED_ROUND n
 * stands before FINISHED_ROUND n + 1. So:
 *
 *     open epoch e     (all readers see control.epoch == e from here on, at a moment T)
 *     wait             until every reader is past e: all that its rings held at T stands in the queue
 *     push the marker  behind all of that
 *
 * Proof. Let M be the newest time before marker n. All of it was pushed before marker n, which was pushed before epoch
 * n + 1 was opened at T': M < T'. A record older than M was thus begun before T'. If it was also published before T' it
 * lies below the head that its ring had at T', and marker n + 1 stands behind it. Between taking a record's time and
 * publishing it the kernel spends about a microsecond with interrupts or preemption off; so T' is kept at least
 * WEIR_ROUND_GRACE_NS behind the closing of epoch n. (Only a virtual CPU that its host stops for longer than that
 * inside this very microsecond could still be late; perf record has the same window without the grace.)
 *
 * An epoch is opened when somebody wants one (want(): the writer, when so many bytes have passed since the last
 * marker), but WEIR_ROUND_KICK_NS behind the one before at the earliest (at high rates rounds grow, not their number),
 * else once a second. Readers with something to do pass by themselves; those that sleep on records below their
 * watermark are woken when some time has passed since they passed an epoch last; those whose rings are empty are never
 * woken: weir_reader_is_past() sees that from outside. The time is WEIR_ROUND_PATIENCE_NS for each reader that there
 * is, two seconds at most, and twice that for a reader with a ring that is then half way to its watermark: waking
 * hundreds of threads for a few records each costs more than what they then do, and most have something to do by
 * themselves meanwhile. It is cut short by who is in haste (the writer, when the round has become too long for those
 * who read the file), and by whoever waits for an epoch: a cut, a snapshot. So what is in a ring or in the chunk of a
 * reader goes to the writer a second later with up to 100 readers; with more of them after two and a quarter (the
 * coordinator looks eight times in those two seconds), and after four and a quarter at most: there may be a ring, that
 * or another one, that is then half way to its watermark, and holds the epoch up. Later only while the pool is short
 * (shed.h).
 *
 * While one reader is the only one with something to do there are rounds between those of epochs: round_mark.h.
 *
 * A cut is where an output ends: the marker of an epoch that was opened after cut() was called, and none behind it
 * until resume(). So all that the rings held at the call stands before the cut; and as long as it lasts no reader is
 * asked for anything, and who reads epochs (sideband.h) takes in nothing that came after it as proven.
 *
 * Snapshots (of memory rings, engine/drain/retention.h, and of rings that the kernel overwrites) are epochs with a
 * flag: all readers are woken and must pass them, and hand over all that they keep before they do; the marker stands
 * behind all of that. With keep_to_snapshots other epochs get no marker: what is retained is older than what they
 * close. They are opened all the same, because the sideband thread goes by them. With cut_with_snapshot a cut is a
 * snapshot: each output ends with what was in memory. A snapshot is busy until its marker is on file.
 *
 * Coordinator only; no function here blocks.
 */
#ifndef WEIR_ENGINE_DRAIN_ROUNDS_H
#define WEIR_ENGINE_DRAIN_ROUNDS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/pressure.h"
#include "engine/drain/reader.h"

/* The record that a marker becomes: a header alone. */
extern const struct perf_event_header weir_finished_round;

#define WEIR_ROUND_MARKERS 4 /* under way to the file at most */

enum weir_rounds_cut {
    WEIR_ROUNDS_UNCUT,
    WEIR_ROUNDS_CUT_WANTED, /* by the next epoch that is opened */
    WEIR_ROUNDS_CUT_OPEN,   /* that epoch is being passed */
    WEIR_ROUNDS_CUT,        /* its marker stands in the queue; no epoch is opened */
};

enum weir_snapshot_progress {
    WEIR_SNAPSHOT_NONE,    /* none, or the last one is on file */
    WEIR_SNAPSHOT_TAKING,  /* asked for, or being passed */
    WEIR_SNAPSHOT_WRITING, /* handed over by all readers */
};

struct weir_rounds {
    struct weir_reader_control *control; /* borrowed; this is its only writer */
    struct weir_reader *const *readers;  /* borrowed */
    unsigned reader_count;
    struct weir_chunk_queue *queue; /* borrowed */

    bool open;              /* an epoch is being passed */
    bool wanted;            /* open the next one as soon as the grace allows */
    bool hasty;             /* stragglers of the open one, or else of the next, are given no time */
    bool woken;             /* all were woken that were stragglers then */
    unsigned first_pending; /* readers before this one are past the open epoch */
    uint64_t opened_ns;
    uint64_t earliest_ns;     /* the next one not before this */
    uint64_t next_ns;         /* when to open the next one without a kick */
    uint64_t bytes_at_marker; /* sum of handed_bytes when the last marker was pushed */
    uint64_t pushed;          /* markers */
    enum weir_rounds_cut cut;
    void (*on_cut)(void *ctx); /* called by advance() when the cut is there; may call resume() */
    void *on_cut_ctx;          /* borrowed */

    bool keep_to_snapshots;                   /* constant; set by the caller after init() */
    bool cut_with_snapshot;                   /* constant, as above: a cut is one */
    const struct weir_pool *stretching;       /* constant: rounds are further apart while it is pressed; NULL: never */
    enum weir_pressure pressure;              /* of it, when the last epoch was closed */
    bool drain_first;                         /* constant: before a snapshot all rings are drained, by an epoch */
    bool drained_first;                       /* that has been done, or is being done */
    bool snapshot_wanted;                     /* the next epoch is to be one */
    bool snapshot_open;                       /* the open epoch is one */
    const struct weir_chunk *snapshot_marker; /* of the last one; NULL: none, or known to be on file */
    uint64_t snapshots;                       /* whose marker was pushed */
    /* Stops and restarts the kernel's writing to rings that it overwrites, around a snapshot. NULL: there are none. */
    void (*pause)(void *ctx, bool paused);
    void *pause_ctx; /* borrowed */
    /* The snapshot that was asked for is on file, or has failed with it. NULL: nobody wants to know. */
    void (*snapshot_written)(void *ctx);
    void *snapshot_ctx; /* borrowed */

    struct weir_chunk markers[WEIR_ROUND_MARKERS];
};

#define WEIR_ROUND_PERIOD_NS (1000 * WEIR_NS_PER_MS)
#define WEIR_ROUND_KICK_NS   (5 * WEIR_NS_PER_MS) /* from the end of an epoch to one that is kicked for */
/* How long a reader is left to itself from one epoch that it passes to the next, for each reader that there is, and in
 * all. */
#define WEIR_ROUND_PATIENCE_NS     (4 * WEIR_NS_PER_MS)
#define WEIR_ROUND_PATIENCE_MAX_NS (2 * WEIR_ROUND_PERIOD_NS)

void weir_rounds_init(struct weir_rounds *rounds, struct weir_reader_control *control,
                      struct weir_reader *const *readers, unsigned reader_count, struct weir_chunk_queue *queue,
                      uint64_t now_ns);

/* Moves on as far as possible. Returns the time of the next call wanted. */
uint64_t weir_rounds_advance(struct weir_rounds *rounds, uint64_t now_ns);

/* Wants an epoch soon; the one that is open will do, and at a cut none is wanted. hasty: who holds it up is woken at
 * once. */
void weir_rounds_want(struct weir_rounds *rounds, bool hasty);

/* Wants a cut. It must not be under way. on_cut is called once, by advance(). */
void weir_rounds_cut(struct weir_rounds *rounds, void (*on_cut)(void *ctx), void *ctx);

/* Goes on behind a cut, or takes back one that is not there yet: on_cut will not be called. */
void weir_rounds_resume(struct weir_rounds *rounds, uint64_t now_ns);

/* Asks for a snapshot, which advance() then opens. 0, or -EBUSY: there is one on its way to the file. */
int weir_rounds_snapshot(struct weir_rounds *rounds);

enum weir_snapshot_progress weir_rounds_snapshot_progress(struct weir_rounds *rounds);

/* Opens the last epoch: every reader is woken, drains, hands over and stops. Join them, then call close(). snapshot:
 * that epoch is one; what readers retain is evicted otherwise. */
void weir_rounds_stop(struct weir_rounds *rounds, bool snapshot);

/* The marker behind everything. All readers have stopped. */
void weir_rounds_close(struct weir_rounds *rounds);

#endif

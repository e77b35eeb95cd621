/*
 * Rounds: the barriers that make one time-orderable file out of parallel readers.
 *
 * Consumers of the file rely on one rule (docs/format.md): every record older than the newest record before
 * FINISHED_ROUND n stands before FINISHED_ROUND n + 1. The coordinator keeps the rule by epochs:
 *
 *     open epoch e     at a moment T; from then on every reader can see control.epoch == e
 *     wait             until every reader is past e. Everything that its rings held at T then stands in the queue
 *     push the marker  behind these records
 *
 * Proof. Let M be the time of the newest record before marker n. All records before marker n were pushed before marker
 * n, and marker n was pushed before epoch n + 1 was opened at T': so M < T'. A record older than M was begun before T'.
 * If the kernel also published that record before T', the record lies below the head that its ring had at T'. Then
 * marker n + 1 stands behind the record. The kernel takes a record's time about a microsecond before it publishes the
 * record, with interrupts or preemption off. So T' is at least WEIR_ROUND_GRACE_NS behind the closing of epoch n. (A
 * record could be late only if a host stopped the virtual CPU for longer than the grace inside that microsecond. perf
 * record has the same window without a grace.)
 *
 * When an epoch is opened. want() asks for an epoch, for instance when the writer has appended enough bytes since the
 * last marker. advance() opens the epoch, but not earlier than WEIR_ROUND_KICK_NS behind the previous one. So at high
 * rates rounds grow in size, not in number. Without a call of want(), the coordinator opens an epoch once a second, or
 * as seldom as the recording asks for (period_ns).
 *
 * How readers pass it:
 *   - A reader with something to do passes by itself.
 *   - A reader with empty rings is never woken: weir_reader_is_past() sees from outside that it is past.
 *   - A reader asleep below its watermark is woken for an epoch only after min(4 ms x readers, 2 s) since its last one
 *     (WEIR_ROUND_PATIENCE_NS, _MAX_NS). If one of its rings is half way to its watermark, it is woken after twice that
 *     time. Waking hundreds of threads for a few records each costs more than their draining, and most wake by
 *     themselves meanwhile.
 *   - Haste ends the wait: of the writer, when the round has become too long for consumers, or of a cut or a snapshot.
 *
 * So records in a ring or in a reader's chunk reach the writer within a second with up to 100 readers. With more
 * readers they take up to two and a quarter seconds (the coordinator looks eight times in two seconds). If a ring that
 * is then half way to its watermark holds the epoch up, they take four and a quarter seconds at most. Only a pool that
 * is short of chunks delays them further (shed.h).
 *
 * While only one reader has something to do, marks make further rounds between those of epochs: round_mark.h.
 *
 * Cut. An output ends at a cut: the marker of an epoch that was opened after cut() was called. No epoch is opened
 * behind the cut until resume(). So everything that the rings held at the call stands before the cut. Until resume() no
 * reader has to pass an epoch, and a thread that counts epochs (sideband.h) takes no later record for proven.
 *
 * Snapshot. A snapshot (of retained samples, retention.h, and of rings that the kernel overwrites) is an epoch with a
 * flag. Every reader is woken, must pass the epoch itself, and hands over all that it keeps before it passes; the
 * marker stands behind all of that. With keep_to_snapshots other epochs get no marker, because retained samples are
 * older than the round that such a marker would close. The coordinator opens these epochs all the same, because the
 * sideband thread counts them. With cut_with_snapshot a cut is a snapshot: each output ends with the samples from
 * memory. A snapshot is busy until its marker is on file.
 *
 * Coordinator only; no function blocks.
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

#define WEIR_ROUND_MARKERS 4 /* on their way to the file, at most */

enum weir_rounds_cut {
    WEIR_ROUNDS_UNCUT,
    WEIR_ROUNDS_CUT_WANTED, /* by the next epoch that is opened */
    WEIR_ROUNDS_CUT_OPEN,   /* that epoch is being passed */
    WEIR_ROUNDS_CUT,        /* its marker stands in the queue; no epoch is opened */
};

enum weir_snapshot_progress {
    WEIR_SNAPSHOT_NONE,    /* no snapshot, or the last one is on file */
    WEIR_SNAPSHOT_TAKING,  /* asked for, or its epoch is open */
    WEIR_SNAPSHOT_WRITING, /* handed over by all readers */
};

struct weir_rounds {
    struct weir_reader_control *control; /* borrowed; this is its only writer */
    struct weir_reader *const *readers;  /* borrowed */
    unsigned reader_count;
    struct weir_chunk_queue *queue; /* borrowed */

    bool open;              /* an epoch is being passed */
    bool wanted;            /* open the next one as soon as the grace allows */
    bool hasty;             /* wake stragglers of the open epoch, or else of the next one, at once */
    bool woken;             /* every reader that was a straggler at the last look was woken */
    unsigned first_pending; /* readers before this one are past the open epoch */
    uint64_t opened_ns;
    uint64_t earliest_ns;     /* the next one not before this */
    uint64_t next_ns;         /* when to open the next one without a kick */
    uint64_t bytes_at_marker; /* sum of handed_bytes when the last marker was pushed */
    uint64_t pushed;          /* markers */
    enum weir_rounds_cut cut;
    void (*on_cut)(void *ctx); /* advance() calls it when the cut is reached; may call resume() */
    void *on_cut_ctx;          /* borrowed */

    uint64_t period_ns;                 /* constant; likewise: from one epoch to the next that nobody wants */
    bool keep_to_snapshots;             /* constant; set by the caller after init() */
    bool cut_with_snapshot;             /* constant; likewise: a cut is a snapshot */
    const struct weir_pool *stretching; /* constant: rounds are further apart while this pool is short; NULL: never */
    enum weir_pressure pressure;        /* of that pool, when the last epoch was closed */
    bool drain_first;                   /* constant: an epoch drains all rings before a snapshot */
    bool drained_first;                 /* that epoch was passed, or is open */
    bool snapshot_wanted;               /* the next epoch is to be a snapshot */
    bool snapshot_open;                 /* the open epoch is a snapshot */
    const struct weir_chunk *snapshot_marker; /* of the last snapshot; NULL: none, or known to be on file */
    uint64_t snapshots;                       /* snapshots whose marker was pushed */
    /* Pauses and resumes the rings that the kernel overwrites, around a snapshot. NULL: there are none. */
    void (*pause)(void *ctx, bool paused);
    void *pause_ctx; /* borrowed */
    /* Called when a snapshot is on file, or has failed with the file. NULL: nobody wants to know. */
    void (*snapshot_written)(void *ctx);
    void *snapshot_ctx; /* borrowed */

    struct weir_chunk markers[WEIR_ROUND_MARKERS];
};

#define WEIR_ROUND_PERIOD_NS (1000 * WEIR_NS_PER_MS)
#define WEIR_ROUND_KICK_NS   (5 * WEIR_NS_PER_MS) /* from the end of an epoch to the next wanted one, at least */
/* Time since its last epoch before a sleeping reader is woken: per reader of the recording, and at most. */
#define WEIR_ROUND_PATIENCE_NS     (4 * WEIR_NS_PER_MS)
#define WEIR_ROUND_PATIENCE_MAX_NS (2 * WEIR_ROUND_PERIOD_NS)

void weir_rounds_init(struct weir_rounds *rounds, struct weir_reader_control *control,
                      struct weir_reader *const *readers, unsigned reader_count, struct weir_chunk_queue *queue,
                      uint64_t now_ns);

/* Moves on as far as possible. Returns the time at which to call it again. */
uint64_t weir_rounds_advance(struct weir_rounds *rounds, uint64_t now_ns);

/* Asks for an epoch soon. The open epoch will do; at a cut the wish is dropped. hasty: wakes stragglers at once. */
void weir_rounds_want(struct weir_rounds *rounds, bool hasty);

/* Asks for a cut; none may be under way. advance() calls on_cut once. */
void weir_rounds_cut(struct weir_rounds *rounds, void (*on_cut)(void *ctx), void *ctx);

/* Goes on behind a cut, or takes back a cut that is not reached yet: on_cut is then not called. */
void weir_rounds_resume(struct weir_rounds *rounds, uint64_t now_ns);

/* Asks for a snapshot, which advance() then opens. 0, or -EBUSY: another one is on its way to the file. */
int weir_rounds_snapshot(struct weir_rounds *rounds);

enum weir_snapshot_progress weir_rounds_snapshot_progress(struct weir_rounds *rounds);

/* Opens the last epoch: every reader is woken, drains, hands over and stops. The caller joins them, then calls close().
 * snapshot: that epoch is a snapshot; otherwise readers evict what they retain. */
void weir_rounds_stop(struct weir_rounds *rounds, bool snapshot);

/* Pushes the marker behind everything. All readers have stopped. */
void weir_rounds_close(struct weir_rounds *rounds);

#endif

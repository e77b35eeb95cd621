/*
 * Snapshots of what is kept in memory, and what may be asked for when.
 *
 *     -M          the live contents are the chunks that readers retain; the spare is as much memory again, which
 *                 weir_snapshot_alloc() makes. A snapshot hands the live chunks to the writer and readers go on in what
 *                 is free: the spare, or without one what the pool has for chunks in flight, until the writer gives
 *                 chunks back. So the two change places with each snapshot, and nothing is copied.
 *     --overwrite the live contents are the kernel's rings; the spare is the pool, which is as large as they are.
 *
 * On file dumps follow one another. A snapshot of the pair (swap() and alloc()) replaces the one before, as ftrace's
 * does: it ends the file (end_file), which is a switch of the output, and the file of the one before is removed once
 * that is whole (kept_files.h). ftrace replaces at once, because its second buffer is all the room that there is. With
 * --snapshot-keep dumps end their file, too; where a file cannot be ended, the pair's snapshots follow one another, too
 * (weir_modes_pair_ends_files()).
 *
 * One snapshot at a time: until the last one is on file another is refused. Coordinator only; nothing blocks but
 * weir_snapshot_alloc(), and end_file() on opening and naming files.
 */
#ifndef WEIR_ENGINE_SESSION_SNAPSHOT_H
#define WEIR_ENGINE_SESSION_SNAPSHOT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/aux/aux_keeper.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/session/trigger.h"

struct weir_snapshots {
    struct weir_pipeline *pipeline; /* borrowed */
    struct weir_event_set *events;  /* borrowed */
    struct weir_aux_keeper *aux;    /* borrowed; NULL: no AUX areas */
    const struct weir_notice_sink *notices;
    struct weir_triggers *triggers; /* borrowed; set by begin() */
    /* Begins to end the file with a snapshot: 0 or -errno with err; weir_snapshots_complete() follows. NULL: snapshots
     * follow one another in the file. */
    int (*end_file)(void *ctx, struct weir_error *err);
    void *end_file_ctx;   /* borrowed */
    bool dumps_end_files; /* with end_file: not only snapshots of the pair do */
    bool ends_file;       /* the last one that was begun does */
    bool permanent;       /* recording has stopped for want of a spare; what memory holds goes to the file at the end */
};

/* Whether anything is kept in memory at all. */
bool weir_snapshots_are_possible(const struct weir_snapshots *snapshots);

/* Registers dump, snapshot and snapshot-alloc, and dump for SIGUSR2. Each is over when the snapshot is on file. Once
 * the pipeline runs. */
void weir_snapshots_begin(struct weir_snapshots *snapshots, struct weir_triggers *triggers);

/* Whether what memory holds at the end of the recording goes to the file. asked: somebody wants it (--snapshot-on-exit
 * and its kin), or a rotation that was a snapshot was taken back. */
bool weir_snapshots_keep_end(const struct weir_snapshots *snapshots, bool asked);

/* The one under way is on file. */
void weir_snapshots_complete(struct weir_snapshots *snapshots);

/* The writer has ended: completes the one that was under way. */
void weir_snapshots_end(struct weir_snapshots *snapshots);

/*
 * Takes a snapshot with the memory that there is; recording goes on in any case. What SIGUSR2 and other triggers do.
 * 0: begun; -EBUSY: the last one is still being written; -EOPNOTSUPP: nothing is kept in memory; -EALREADY: recording
 * has stopped, see below. err says so in one line.
 */
int weir_snapshot_dump(struct weir_snapshots *snapshots, struct weir_error *err);

/*
 * The same in the sense of the kernel's tracing_snapshot(): changes live and spare, never allocates. Without a spare
 * recording stops, with a warning, and the live contents are kept (a permanent snapshot): -ENOSPC.
 */
int weir_snapshot_swap(struct weir_snapshots *snapshots, struct weir_error *err);

/* In the sense of tracing_snapshot_alloc(): makes the spare if there is none, then swaps. When it cannot be made,
 * recording goes on, with a warning: -ENOMEM. Blocks while the kernel zeroes memory. */
int weir_snapshot_alloc(struct weir_snapshots *snapshots, struct weir_error *err);

#endif

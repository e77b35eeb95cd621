/*
 * Snapshots of the samples and AUX data that a recording keeps in memory.
 *
 *     -M           live: the chunks that readers retain. Spare: as much memory again, from weir_snapshot_alloc(). A
 *                  snapshot hands the live chunks to the writer. The readers go on in the spare. Without a spare,
 *                  they use the pool's chunks for data in flight until the writer gives chunks back. So live and spare
 *                  change places with each snapshot, and nothing is copied.
 *     --overwrite  live: the rings of the kernel. Spare: the pool, which is as large as all rings.
 *
 * Dumps follow one another in the file. A snapshot of the pair (swap() and alloc()) replaces the former snapshot, as in
 * ftrace. It ends its file by a rotation (end_file). Once that file is whole, weir removes the file of the former
 * snapshot (kept_files.h). ftrace replaces a snapshot at once, because its second buffer is the only room.
 *
 * With --snapshot-keep, dumps end their file, too. Where a file cannot be ended, snapshots of the pair also follow one
 * another in it (weir_modes_pair_ends_files()).
 *
 * One snapshot at a time: weir refuses another until the last one is on file. Coordinator only. Only
 * weir_snapshot_alloc() blocks, and end_file() while it opens and names files.
 */
#ifndef WEIR_ENGINE_SESSION_SNAPSHOT_H
#define WEIR_ENGINE_SESSION_SNAPSHOT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/aux/aux_keeper.h"
#include "engine/control/trigger.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"

struct weir_snapshots {
    struct weir_pipeline *pipeline; /* borrowed */
    struct weir_event_set *events;  /* borrowed */
    struct weir_aux_keeper *aux;    /* borrowed; NULL: no AUX areas */
    const struct weir_notice_sink *notices;
    struct weir_triggers *triggers; /* borrowed; set by begin() */
    /* Begins to end the file with a snapshot. Returns 0 or -errno with err; weir_snapshots_complete() follows later.
     * NULL: snapshots follow one another in the file. */
    int (*end_file)(void *ctx, struct weir_error *err);
    void *end_file_ctx;    /* borrowed */
    bool dumps_end_files;  /* with end_file: dumps end the file as well as snapshots of the pair */
    bool ends_file;        /* the last snapshot that began ends its file */
    uint64_t told_samples; /* of the snapshots before */
    bool permanent;        /* recording has stopped for want of a spare; the live contents go to the file at the end */
};

/* Whether the recording keeps anything in memory that a snapshot can write. */
bool weir_snapshots_are_possible(const struct weir_snapshots *snapshots);

/* Registers the triggers dump, snapshot and snapshot-alloc, and makes SIGUSR2 ask for a dump. Each of these actions is
 * over when its snapshot is on file. Call once the pipeline runs. */
void weir_snapshots_begin(struct weir_snapshots *snapshots, struct weir_triggers *triggers);

/* Whether the contents of memory at the end of the recording go to the file. asked: an option wants the contents there
 * (such as --snapshot-on-exit), or a rotation with a snapshot was taken back. */
bool weir_snapshots_keep_end(const struct weir_snapshots *snapshots, bool asked);

/* Completes the trigger of the present snapshot, which is on file. */
void weir_snapshots_complete(struct weir_snapshots *snapshots);

/* Completes a snapshot that is still under way once the writer has ended. */
void weir_snapshots_end(struct weir_snapshots *snapshots);

/*
 * Takes a snapshot with the memory that exists; recording goes on in any case. SIGUSR2 and the trigger dump call this
 * function. Returns 0 when the snapshot has begun. Otherwise err says why in one line. -EBUSY: the last snapshot is
 * still being written. -EOPNOTSUPP: nothing is kept in memory. -EALREADY: recording has stopped (weir_snapshot_swap()).
 */
int weir_snapshot_dump(struct weir_snapshots *snapshots, struct weir_error *err);

/*
 * Takes a snapshot like the kernel's tracing_snapshot(): live and spare change places, and nothing is allocated.
 * Returns as weir_snapshot_dump(). Without a spare, recording stops with a warning, the live contents stay (a permanent
 * snapshot), and the result is -ENOSPC.
 */
int weir_snapshot_swap(struct weir_snapshots *snapshots, struct weir_error *err);

/* Takes a snapshot like tracing_snapshot_alloc(): makes the spare if there is none, then swaps. When memory for the
 * spare is lacking, warns, lets the recording go on, and returns -ENOMEM. Blocks while the kernel zeroes memory. */
int weir_snapshot_alloc(struct weir_snapshots *snapshots, struct weir_error *err);

#endif

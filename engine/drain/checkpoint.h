/*
 * Checkpoints: the writer updates data.size in the head of a file that still grows (docs/format.md). So the file opens
 * up to there if its recorder is killed.
 *
 *     at first data, then once a second when there is more data
 *         write data.size = stable bytes; look whether another process has removed or cut the file
 *     with --sync, so that the file opens up to there also when the machine goes down
 *         fdatasync(2) of the data ──► write data.size ──► fdatasync(2) of the head
 *
 * The output's queue syncs while data flows on (weir_output_begin_sync()), so the writer waits for no disk. The writer
 * takes the size before the first fdatasync(2), and writes the size afterwards. So data.size never covers bytes that
 * are not on disk, whenever the kernel writes parts of the head by itself. One pass of the writer begins a step, and a
 * later pass sees the step end. So the writer must come back while a step is under way.
 *
 * Why fdatasync(2) and not O_DSYNC or RWF_DSYNC: with O_DSYNC or RWF_DSYNC each write waits for a flush of the disk's
 * cache. A checkpoint needs two flushes a second, however much is written. fdatasync(2) covers the file's size and its
 * extents, too.
 *
 * Writer thread only; readable by others after it was joined.
 */
#ifndef WEIR_ENGINE_DRAIN_CHECKPOINT_H
#define WEIR_ENGINE_DRAIN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/output.h"

#define WEIR_CHECKPOINT_NS WEIR_NS_PER_S

enum weir_checkpoint_step {
    WEIR_CHECKPOINT_REST,
    WEIR_CHECKPOINT_SYNC_DATA, /* with sync only, and then from here on */
    WEIR_CHECKPOINT_SYNC_SIZE,
};

struct weir_checkpoint {
    const struct weir_clock *clock; /* borrowed */
    bool syncs;

    enum weir_checkpoint_step step;
    bool syncing;           /* the call of this step is under way */
    uint64_t stable_bytes;  /* the next value of data.size */
    uint64_t covered_bytes; /* stable bytes when the last checkpoint was begun */
    uint64_t begun_ns;      /* when that was; at first, when the writer was made */
    int error;              /* the first failure to write data.size, or to sync */
    int taken;              /* result of weir_output_look(); the writer clears it */
};

/* clock: borrowed. syncs: --sync. */
void weir_checkpoint_init(struct weir_checkpoint *checkpoint, const struct weir_clock *clock, bool syncs);

/* Turns to another output. A step under way for the old output is left to that output's finish(). */
void weir_checkpoint_change_output(struct weir_checkpoint *checkpoint);

/* Nanoseconds until run() has something to do; UINT64_MAX when data.size covers all. */
uint64_t weir_checkpoint_due_in_ns(const struct weir_checkpoint *checkpoint, const struct weir_output *output);

/* Does the steps that need no wait; a queue on plain writes waits for the disk. */
void weir_checkpoint_run(struct weir_checkpoint *checkpoint, struct weir_output *output);

#endif

/*
 * Checkpoints: what data.size in the head of a file says while the file is still being written (docs/format.md), so
 * that it opens up to there when its recorder is killed.
 *
 *     at first data, then once a second when there is more:  write data.size = stable bytes, and look whether somebody
 *                       has removed or cut the file
 *     with sync (--sync), so that it opens up to there when the machine goes down, too:
 *                       fdatasync(2) of the data ──► write data.size ──► fdatasync(2) of the head
 *
 * The output's queue syncs while data flows on (weir_output_begin_sync()), so that the writer waits for no disk. The
 * size is taken before the first of these calls, and written after it: whatever part of the head reaches the disk by
 * itself, and when, data.size never covers what is not there. Each step is begun and seen to end in passes of the
 * writer, which must come back while one is under way.
 *
 * Why fdatasync(2) and not O_DSYNC or RWF_DSYNC: those make each write wait for the disk's cache to be flushed, and
 * this takes two flushes a second whatever is written. It takes along the file's size and the state of its extents.
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
    bool syncing;           /* what the step asks for is under way */
    uint64_t stable_bytes;  /* what data.size is going to say */
    uint64_t covered_bytes; /* of the file, when the last one was begun */
    uint64_t begun_ns;      /* when; at first, when the writer was made */
    int error;              /* the first failure to write data.size, or to sync */
    int taken;              /* what weir_output_look() has found; the writer clears it */
};

/* clock: borrowed. syncs: --sync. */
void weir_checkpoint_init(struct weir_checkpoint *checkpoint, const struct weir_clock *clock, bool syncs);

/* From now on it is about another output: what was under way for the last one is left to its finish(). */
void weir_checkpoint_change_output(struct weir_checkpoint *checkpoint);

/* Nanoseconds until run() has something to do; UINT64_MAX when the file says all there is to say. */
uint64_t weir_checkpoint_due_in_ns(const struct weir_checkpoint *checkpoint, const struct weir_output *output);

/* Does what can be done now without waiting; but for queues on plain writes, where it waits for the disk. */
void weir_checkpoint_run(struct weir_checkpoint *checkpoint, struct weir_output *output);

#endif

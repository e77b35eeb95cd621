/*
 * The loss ledger: for every CPU and event, what the kernel produced equals what was written plus what was shed or
 * lost, by cause. Put together once, after the readers have ended; coordinator only.
 */
#ifndef WEIR_ENGINE_SESSION_LEDGER_H
#define WEIR_ENGINE_SESSION_LEDGER_H

#include "base/buf.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/session/record_result.h"

/* The losses that outputs were told of: what is lost later goes to the next one. */
struct weir_told_losses {
    struct weir_told_loss {
        uint64_t id; /* of the descriptor; 0: none */
        uint64_t lost;
    } * all;                     /* owned; at the place of the descriptor in the event set's table */
    size_t count;                /* 0: no table yet */
    struct weir_told_loss *gone; /* owned; of the set's retired descriptors, in their order */
    size_t gone_count;
    uint64_t sum; /* of what hold_back() has let through */
};

void weir_told_losses_fini(struct weir_told_losses *told);

/*
 * Appends to `lost` a LOST_SAMPLES record for every descriptor that has lost any since the last call with the same
 * `told`, which begins as all zeros. One read(2) for each descriptor. 0, or -ENOMEM and then nothing is told: all of it
 * is left for the next call. Coordinator.
 */
int weir_ledger_tell_losses(const struct weir_event_set *set, struct weir_told_losses *told, struct weir_buf *lost);

/*
 * The kernel counts a loss at once, and writes the LOST record of it when there is room again, which may be in the next
 * output. So that LOST_SAMPLES and LOST of each output agree, this takes from `lost`, the records that tell_losses()
 * has just made with an empty buffer, what is beyond lost_reported, the sum of all LOST records up to their place; it
 * is to be told later. Whoever has `told`.
 */
void weir_ledger_hold_back(struct weir_told_losses *told, uint64_t lost_reported, struct weir_buf *lost);

/*
 * Allocates what the ledger of the set will take, and `told` (NULL-safe), so that the end of a recording cannot fail
 * for want of memory. Optional: collect() does it when it was not done. 0, or -ENOMEM and nothing is held.
 */
int weir_ledger_reserve(const struct weir_event_set *set, struct weir_told_losses *told,
                        struct weir_record_result *result);

/*
 * Reads the kernel's counts of every event and fills result->ledger, event_names and event_count. Appends to `lost` a
 * LOST_SAMPLES record for every descriptor that lost any (id and CPU in its trailer) of which `told` does not know.
 * told: NULL when there was one output only. Readers must have ended. 0 or -ENOMEM: what was lost is not in `lost`
 * then, but it is in the ledger, if that has rows (weir_ledger_reserve()).
 */
int weir_ledger_collect(const struct weir_event_set *set, struct weir_pipeline *pipeline,
                        struct weir_record_result *result, struct weir_told_losses *told, struct weir_buf *lost);

/*
 * Appends to `lost` a LOST_SAMPLES record for each CPU and event of which failed writes took samples from one output,
 * for a file that has room for that: its end knows then of all that it lacks. What a limit of its size left out is not
 * told: nothing was lost there. account: the writer's of that output, which it has left or ended with. *samples: their
 * sum. 0, or -ENOMEM and then nothing is told.
 */
int weir_ledger_tell_unwritten(const struct weir_event_set *set, const struct weir_pipeline *pipeline,
                               const struct weir_writer_account *account, struct weir_buf *lost, uint64_t *samples);

/* Moves what failed writes took from written to lost_write_failed, and fills the totals of result (samples, losses,
 * wake-ups, throttled). The writer must have ended. */
void weir_ledger_settle(const struct weir_pipeline *pipeline, struct weir_record_result *result);

#endif

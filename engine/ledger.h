/*
 * The loss ledger: for every CPU and event, what the kernel produced equals what was written plus what was lost, by
 * cause. Put together once, after the readers have ended; coordinator only.
 */
#ifndef WEIR_ENGINE_LEDGER_H
#define WEIR_ENGINE_LEDGER_H

#include "base/buf.h"
#include "engine/event_set.h"
#include "engine/pipeline.h"
#include "engine/record.h"

/*
 * Reads the kernel's counts of every event and fills result->ledger, event_names and event_count. Appends to `lost` a
 * LOST_SAMPLES record for every descriptor that lost any (id and CPU in its trailer). Readers must have ended. 0 or
 * -ENOMEM.
 */
int weir_ledger_collect(const struct weir_event_set *set, struct weir_pipeline *pipeline,
                        struct weir_record_result *result, struct weir_buf *lost);

/* Moves what failed writes took from written to lost_write_failed, and fills the totals of result (samples, losses,
 * wake-ups, throttled). The writer must have ended. */
void weir_ledger_settle(const struct weir_pipeline *pipeline, struct weir_record_result *result);

/* Frees ledger and names. */
void weir_ledger_release(struct weir_record_result *result);

#endif

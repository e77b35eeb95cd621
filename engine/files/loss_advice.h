/*
 * Divides the lost samples of a recording by cause, and names for each cause the options that would have prevented it.
 *
 * Loss in a kernel ring means that its reader did not run within the time in which the ring fills. A larger ring or a
 * real-time reader helps. None helps when weir itself did not run. Measured: with 4 MiB a storm of system calls on each
 * CPU loses nothing in any mode, so no smaller ring is advised. Loss while the reader waited for a chunk means that the
 * disk was slower than the events for longer than the pool lasts: a larger pool helps. For a failed output there is no
 * option to name.
 *
 * Pure; any thread.
 */
#ifndef WEIR_ENGINE_FILES_LOSS_ADVICE_H
#define WEIR_ENGINE_FILES_LOSS_ADVICE_H

#include "engine/kernel/kernel_limits.h"
#include "engine/plan/record_result.h"

/* Fills result->losses, after weir_ledger_fill_totals(). realtime_priority: of the readers; 0: none. */
void weir_loss_advise(struct weir_record_result *result, const struct weir_kernel_limits *limits,
                      unsigned realtime_priority);

#endif

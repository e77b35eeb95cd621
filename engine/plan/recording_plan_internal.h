/* Functions between the files of the recording plan. Coordinator thread. */
#ifndef WEIR_ENGINE_PLAN_RECORDING_PLAN_INTERNAL_H
#define WEIR_ENGINE_PLAN_RECORDING_PLAN_INTERNAL_H

#include "engine/plan/recording_plan.h"

/* Chooses the sizes of rings, pool and memory for samples. CPUs, readers, AUX plan and overwrite mode are known before.
 * Returns 0; or -EINVAL with err when the machine cannot spare the requested memory. */
int weir_recording_plan_choose_sizes(struct weir_recording_plan *plan, struct weir_error *err);

/* Returns the number of descriptors of events; targets as for weir_recording_plan_fds_needed(). */
uint64_t weir_recording_plan_descriptors(const struct weir_recording_plan *plan, const struct weir_targets *targets);

#endif

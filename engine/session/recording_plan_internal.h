/* Between the files of the recording plan. Coordinator thread. */
#ifndef WEIR_ENGINE_SESSION_RECORDING_PLAN_INTERNAL_H
#define WEIR_ENGINE_SESSION_RECORDING_PLAN_INTERNAL_H

#include "engine/session/recording_plan.h"

/* Chooses the sizes of rings, pool and memory for samples, once CPUs, readers, AUX plan and overwrite are known. 0, or
 * -EINVAL with err: the machine cannot spare as much as was asked for. */
int weir_recording_plan_choose_sizes(struct weir_recording_plan *plan, struct weir_error *err);

#endif

/*
 * The config of an AUX event behind its terms (engine/events/aux_terms.h): completes the config, and checks that the
 * PMU can do it. Main thread, set-up; reads sysfs. Does not allocate.
 *
 * Source: Linux 6.1, tools/perf/arch/x86/util/intel-pt.c (intel_pt_validate_config(),
 * intel_pt_config_sample_mode(), intel_pt_psb_period(), intel_pt_exclude_guest()), arch/arm64/util/arm-spe.c
 * (arm_spe_set_timestamp()), arch/arm/util/cs-etm.c (cs_etm_set_option()).
 */
#ifndef WEIR_ENGINE_AUX_AUX_CONFIG_H
#define WEIR_ENGINE_AUX_AUX_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/aux/aux_plan.h"
#include "engine/events/pmu.h"

/* Bits of the config of cs_etm (include/linux/coresight-pmu.h, Linux 6.1). */
enum weir_etm_option {
    WEIR_ETM_BRANCH_BROADCAST = 8,
    WEIR_ETM_CYCLES = 12,
    WEIR_ETM_CONTEXT_ID = 14,
    WEIR_ETM_CONTEXT_ID_2 = 15,
    WEIR_ETM_TIMESTAMPS = 28,
    WEIR_ETM_RETURN_STACK = 29,
};

/*
 * Completes the config and the aux_attr of the AUX event for the mode of the plan, and checks that the PMU can do them.
 * pmu: the event's own, described. 0, or -EINVAL with err.
 */
int weir_aux_config_complete(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu,
                             const struct weir_aux_plan *plan, const struct weir_aux_setting *setting,
                             struct weir_error *err);

/* Largest distance, in bytes, between two PSB packets of intel_pt, at which a decoder can begin. */
uint64_t weir_aux_config_psb_bytes(const struct weir_event *event, const struct weir_pmu_list *pmus,
                                   const struct weir_pmu *pmu);

/* Reads PMU/cpuN/FILE, a hexadecimal number that CoreSight has for each CPU. False: as weir_pmu_number(). */
bool weir_aux_config_of_cpu(const struct weir_pmu_list *pmus, const struct weir_pmu *pmu, unsigned cpu,
                            const char *file, uint64_t *value);

#endif

/*
 * The part of the grammar of events that concerns PMUs with an AUX area. Tells which kind of trace a PMU makes, and
 * makes the config of a new event, of which terms then replace bits. Main thread, set-up; reads sysfs. Does not
 * allocate.
 *
 * Source: Linux 6.1, tools/perf/arch/x86/util/intel-pt.c (intel_pt_default_config()), arch/arm64/util/arm-spe.c
 * (arm_spe_pmu_default_config()).
 */
#ifndef WEIR_ENGINE_EVENTS_AUX_TERMS_H
#define WEIR_ENGINE_EVENTS_AUX_TERMS_H

#include <stdbool.h>

#include "engine/events/event_list.h"
#include "engine/events/pmu.h"

/* The kind of the events of the PMU of that name; NONE: they have no AUX area. */
enum weir_aux_kind weir_aux_terms_kind(const char *pmu_name);

/* Gives a new event of that PMU (described, of that list) its kind and its default config. An event of a PMU without
 * AUX areas stays as it is. True: terms replace the bits that they stand for. */
bool weir_aux_terms_begin(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu);

#endif

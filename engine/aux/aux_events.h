/*
 * Events whose trace goes to an AUX area beside their ring: Intel PT and BTS, Arm SPE, CoreSight. Finds the AUX event,
 * chooses the size of its area, and completes its attr. Main thread, set-up; reads sysfs and may allocate.
 *
 * Follows auxtrace_parse_sample_options() and auxtrace_regroup_aux_output() of tools/perf/util/auxtrace.c, and
 * *_recording_options() and *_info_fill() of tools/perf/arch/x86/util/intel-pt.c and intel-bts.c,
 * arch/arm64/util/arm-spe.c and arch/arm/util/cs-etm.c, Linux 6.1, line by line. No machine of the project has such a
 * PMU. With emulated Intel PMUs (scripts/guest) weir's attrs and AUXTRACE_INFO were compared with perf's
 * (tests/parity/cases/aux); with Arm's nothing was. docs/compatibility.md lists the differences.
 */
#ifndef WEIR_ENGINE_AUX_AUX_EVENTS_H
#define WEIR_ENGINE_AUX_AUX_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/aux/aux_plan.h"
#include "engine/events/event_config.h"
#include "engine/events/event_list.h"

/* Checks options and terms before anything is opened or read. 0, or -EINVAL with err: they need an AUX event and there
 * is none, or there are two. Allocates nothing. */
int weir_aux_events_check(const struct weir_event_list *list, const struct weir_aux_options *options,
                          struct weir_error *err);

/*
 * Finds the AUX event and prepares the list to record it. Moves the event and its group to the front, and puts events
 * that use its area (aux-sample-size, aux-output) into its group. Completes its config, and sets the fields that
 * weir_event_list_configure() copies to the attrs. Before side events are added. Without an AUX event the plan's mode
 * is NONE, and the list stays as it is.
 *
 * 0; -EINVAL with err: options or terms need an AUX event, or this event cannot do them, or there are two AUX events;
 * -ENODEV: its PMU has gone since the list was parsed; -ENOMEM.
 */
int weir_aux_events_prepare(struct weir_event_list *list, const struct weir_aux_options *options,
                            const struct weir_aux_setting *setting, struct weir_aux_plan *plan, struct weir_error *err);

/* Asks in the config for the side records that the plan needs. After weir_aux_events_prepare(), before the side events
 * are added. If config->text_pokes or config->all_switches is set then, and not all tasks are recorded, the caller
 * calls weir_event_list_add_text_pokes() after weir_event_list_add_sideband(). */
void weir_aux_plan_apply(const struct weir_aux_plan *plan, struct weir_event_config *config);

/* The list's first AUX event; NULL: there is none. Borrowed until the list changes. */
const struct weir_event *weir_aux_events_find(const struct weir_event_list *list);

#endif

/*
 * Events whose trace goes to an AUX area beside their ring: Intel PT and BTS, Arm SPE, CoreSight. Which event that is,
 * how large its area, and what its attr asks for. Main thread, set-up; reads sysfs and may allocate.
 *
 * Follows auxtrace_parse_sample_options() and auxtrace_regroup_aux_output() of tools/perf/util/auxtrace.c, and
 * *_recording_options() and *_info_fill() of tools/perf/arch/x86/util/intel-pt.c and intel-bts.c,
 * arch/arm64/util/arm-spe.c and arch/arm/util/cs-etm.c, Linux 6.1, line by line. No machine of ours has such a PMU:
 * where Intel's are played (scripts/guest), what perf opens and tells decoders was compared (tests/parity/cases/aux);
 * of Arm's nothing was. What differs: docs/compatibility.md.
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

/* What can be told before anything is opened or read: 0, or -EINVAL with err where options or terms need an AUX event
 * and there is none, or where there are two. Allocates nothing. */
int weir_aux_events_check(const struct weir_event_list *list, const struct weir_aux_options *options,
                          struct weir_error *err);

/*
 * Finds the AUX event and makes the list one that records it: moves it and its group to the front, puts events that
 * want something of its area (aux-sample-size, aux-output) into its group, completes its config, and fills in what
 * weir_event_list_configure() gives the attrs. Before side events are added. Without an AUX event the plan says so, and
 * the list stays as it is.
 *
 * 0; -EINVAL with err: options or terms that need an AUX event, or that this one cannot do; two AUX events; -ENODEV:
 * its PMU has gone since the list was parsed; -ENOMEM.
 */
int weir_aux_events_prepare(struct weir_event_list *list, const struct weir_aux_options *options,
                            const struct weir_aux_setting *setting, struct weir_aux_plan *plan, struct weir_error *err);

/* Adds to the config what the plan needs of side records. After weir_aux_events_prepare(), before the side events are
 * added: where config->text_pokes or config->all_switches is set then, and not all tasks are recorded,
 * weir_event_list_add_text_pokes() is to follow weir_event_list_add_sideband(). */
void weir_aux_plan_apply(const struct weir_aux_plan *plan, struct weir_event_config *config);

/* The list's first AUX event; NULL: there is none. Borrowed until the list changes. */
const struct weir_event *weir_aux_events_find(const struct weir_event_list *list);

#endif

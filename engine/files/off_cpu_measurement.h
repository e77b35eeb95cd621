/*
 * Off-CPU time of a recording: `--off-cpu` (engine/bpf/off_cpu.h). The programs need more privileges and more of the
 * kernel than the events. So weir loads the programs before it opens the events, and reports a lack at once. At the
 * end, when the rings are empty, the sums of short stretches become samples of the last file. Coordinator.
 */
#ifndef WEIR_ENGINE_FILES_OFF_CPU_MEASUREMENT_H
#define WEIR_ENGINE_FILES_OFF_CPU_MEASUREMENT_H

#include "engine/bpf/off_cpu.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/plan/record_result.h"
#include "engine/plan/recording_plan.h"

/* Loads the programs for the targets of the plan. command: its process, where a command is recorded. 0 or -errno with
 * err and hint. *made is the caller's (weir_off_cpu_free()). */
int weir_off_cpu_measurement_open(struct weir_off_cpu **made, const struct weir_recording_plan *plan,
                                  const struct weir_targets *targets, pid_t command, struct weir_error *err);

/* Names the tasks of -p and -t, once the programs are attached: they follow the tasks that these make from then on.
 * Returns 0 or -errno with err. */
int weir_off_cpu_measurement_find_tasks(const struct weir_off_cpu *off_cpu, const struct weir_recording_plan *plan,
                                        struct weir_error *err);

/* Writes the sums as samples, and fills result->off_cpu_sums and .off_cpu_unsummed; warns of stretches that are in no
 * sum. After the readers have ended. 0 or -errno with err. */
int weir_off_cpu_measurement_finish(const struct weir_off_cpu *off_cpu, const struct weir_event_set *events,
                                    struct weir_pipeline *pipeline, struct weir_record_result *result,
                                    const struct weir_notice_sink *notices, struct weir_error *err);

#endif

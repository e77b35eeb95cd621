/*
 * One recording, from options to a finished file. `weir record` runs it, and any other front end can.
 *
 * The caller fills struct weir_record_options and gets a result to print. All that the options point to is borrowed
 * until weir_record_run() returns. Nothing here prints, and nothing ends the process.
 *
 * weir_record_run() blocks for the whole recording. Its calling thread becomes the coordinator
 * (engine/session/coordinator.h), and must be the main thread of its process. The process leaves SIGINT, SIGTERM,
 * SIGHUP, SIGQUIT, SIGCHLD and SIGUSR2 to weir_record_run(), which blocks these signals and reads them from a signalfd.
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_H
#define WEIR_ENGINE_SESSION_RECORD_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/plan/record_options.h"
#include "engine/plan/record_result.h"

/*
 * Runs the recording. Returns 0 when a file was finished (result says why the recording ended), or when dry_run
 * described the plan. Returns -errno with err on failure; cli/exit_status.h derives the exit status. The caller gives
 * result to weir_record_result_fini() in any case.
 *
 * When the workload could not be executed, returns -ENOENT, -EACCES, ... and sets *workload_failed.
 */
int weir_record_run(const struct weir_record_options *options, struct weir_record_result *result, bool *workload_failed,
                    struct weir_error *err);

#endif

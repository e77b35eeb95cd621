/*
 * One recording, from plain options to a finished file: what `weir record` runs, and any other front end could.
 *
 * The caller fills struct weir_record_options (everything in it is borrowed until weir_record_run() returns), and gets
 * a result to print. Nothing here prints or exits. weir_record_run() blocks for the whole recording; the calling thread
 * becomes the coordinator (engine/session/coordinator.h), so it must be the main thread of a process that leaves
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD and SIGUSR2 to it (they are blocked and read from a signalfd meanwhile).
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_H
#define WEIR_ENGINE_SESSION_RECORD_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/session/record_options.h"
#include "engine/session/record_result.h"

/*
 * Runs the recording. Returns 0 when a file was finished (result says why it ended), or when dry_run described the
 * plan; -errno with err when it failed. err->code and exit statuses: docs/exit-status in cli/. result is to be given to
 * weir_record_result_fini() in any case.
 *
 * A workload that could not be executed: returns -ENOENT, -EACCES, ... with *workload_failed true.
 */
int weir_record_run(const struct weir_record_options *options, struct weir_record_result *result, bool *workload_failed,
                    struct weir_error *err);

#endif

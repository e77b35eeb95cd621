/*
 * The exit statuses of weir, as docs/man/weir-record.1 lists them.
 *
 * A recording that went well exits as its workload did, so that `weir record make` can stand where `make` stood. The
 * statuses of weir itself are those of env(1), nohup(1) and timeout(1); 129 for usage is perf's. Where a status of
 * weir's equals one that the workload may have, the line on stderr tells them apart. Pure functions, any thread.
 */
#ifndef WEIR_CLI_EXIT_STATUS_H
#define WEIR_CLI_EXIT_STATUS_H

#include <stdbool.h>

#include "cli/command.h"
#include "engine/session/record.h"

enum weir_exit_status {
    WEIR_EXIT_OK = 0,
    WEIR_EXIT_BAD_INPUT = 1,        /* of the reading commands: the recording is damaged, or fails a check */
    WEIR_EXIT_LIMITED = 1,          /* of weir doctor: something here limits recordings */
    WEIR_EXIT_LOSS = 3,             /* more samples were lost than --max-loss allows */
    WEIR_EXIT_FAILURE = 125,        /* weir itself failed */
    WEIR_EXIT_NOT_EXECUTABLE = 126, /* the workload was found but could not be executed */
    WEIR_EXIT_NOT_FOUND = 127,      /* the workload was not found */
    WEIR_EXIT_SIGNAL_BASE = 128,    /* + n: the workload was killed by signal n */
    WEIR_EXIT_USAGE = 129,          /* an option or argument was wrong; nothing was touched */
};

/* For the man pages, each ended by a NULL status: of commands without a workload, of a benchmark, of those that read,
 * and of a recording. */
extern const struct weir_exit_meaning weir_exit_meanings[];
extern const struct weir_exit_meaning weir_exit_meanings_of_bench[];
extern const struct weir_exit_meaning weir_exit_meanings_of_reading[];
extern const struct weir_exit_meaning weir_exit_meanings_of_recording[];

/* The status of a workload that ended with wait_status (waitpid(2)): its own, or 128 + the signal that killed it. */
int weir_exit_status_of_wait(int wait_status);

/* The status for arguments that were refused with code: usage, unless the machine failed (no memory, no access). */
int weir_exit_status_of_refusal(int code);

/* The status for a recording that was read: code is 0, or -errno of reading it (format/perf_input.h) or of planning its
 * recovery (format/recovery.h). */
int weir_exit_status_of_reading(int code);

/* The status for a run that failed with code (-errno); workload_failed: it was the workload that could not be run. */
int weir_exit_status_of_failure(int code, bool workload_failed);

/* Whether more than max_ppm millionths of all samples of a recording were lost. */
bool weir_exit_status_is_loss(const struct weir_record_result *result, uint64_t max_ppm);

/* The status for a finished recording. For WEIR_RECORD_END_SIGNAL it is what a shell would show for that signal: the
 * caller re-raises the signal and needs this only when the signal does not end it. */
int weir_exit_status_of_result(const struct weir_record_result *result);

#endif

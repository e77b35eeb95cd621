/*
 * The exit statuses of weir, as docs/man/weir-record.1 lists them.
 *
 * A recording that ends well exits with its workload's status. So `weir record make` can replace `make`. weir's own
 * statuses are those of env(1), nohup(1) and timeout(1). 129 for usage is perf's. Where the workload can have one of
 * these statuses, the line on stderr tells the two apart. Pure functions, any thread.
 */
#ifndef WEIR_CLI_EXIT_STATUS_H
#define WEIR_CLI_EXIT_STATUS_H

#include <stdbool.h>

#include "cli/command.h"
#include "engine/session/record.h"

enum weir_exit_status {
    WEIR_EXIT_OK = 0,
    WEIR_EXIT_BAD_INPUT = 1,        /* of commands that read: the recording is damaged, or fails a check */
    WEIR_EXIT_LIMITED = 1,          /* of weir doctor: this system limits recordings */
    WEIR_EXIT_LOSS = 3,             /* more samples were lost than --max-loss allows */
    WEIR_EXIT_BELOW = 3,            /* of benchmarks: a figure is below --fail-below */
    WEIR_EXIT_FAILURE = 125,        /* weir itself failed */
    WEIR_EXIT_NOT_EXECUTABLE = 126, /* the workload was found but could not be executed */
    WEIR_EXIT_NOT_FOUND = 127,      /* the workload was not found */
    WEIR_EXIT_SIGNAL_BASE = 128,    /* + n: the workload was killed by signal n */
    WEIR_EXIT_USAGE = 129,          /* an option or argument was wrong; nothing was touched */
};

/* The statuses in the man pages, each list ended by a NULL status: of commands without a workload, of a benchmark, of
 * commands that read, and of a recording. */
extern const struct weir_exit_meaning weir_exit_meanings[];
extern const struct weir_exit_meaning weir_exit_meanings_of_bench[];
extern const struct weir_exit_meaning weir_exit_meanings_of_reading[];
extern const struct weir_exit_meaning weir_exit_meanings_of_recording[];

/* Returns the status of a workload that ended with wait_status (waitpid(2)): its own, or 128 + the signal that killed
 * it. */
int weir_exit_status_of_wait(int wait_status);

/* Returns the status for arguments that were refused with code: usage, unless the machine failed (no memory, no
 * access). */
int weir_exit_status_of_refusal(int code);

/* Returns the status for a recording that was read. code: 0, or -errno of reading it (format/perf_input.h) or of
 * planning its recovery (format/recovery.h). */
int weir_exit_status_of_reading(int code);

/* Returns the status for a run that failed with code (-errno). workload_failed: the workload could not be started. */
int weir_exit_status_of_failure(int code, bool workload_failed);

/* Returns whether more than max_ppm millionths of all samples of a recording were lost. */
bool weir_exit_status_is_loss(const struct weir_record_result *result, uint64_t max_ppm);

/* Returns the status for a finished recording. For WEIR_RECORD_END_SIGNAL it is the status that a shell shows for that
 * signal. The caller re-raises the signal, and needs the status only if the signal does not end the process. */
int weir_exit_status_of_result(const struct weir_record_result *result);

#endif

/*
 * --report: the outcome of a recording as JSON in a file (docs/json.md), also of a recording that failed. Main thread.
 */
#ifndef WEIR_CLI_RECORD_OUTCOME_H
#define WEIR_CLI_RECORD_OUTCOME_H

#include "base/buf.h"
#include "base/error.h"
#include "cli/record_arguments.h"

struct weir_record_outcome {                 /* all borrowed */
    const struct weir_record_result *result; /* NULL: nothing was recorded */
    const struct weir_error *err;            /* code 0: none */
    int exit_status;                         /* of weir; with a signal, what a shell shows */
};

/* Checks that --report can be written, before anything else begins. 0 or -errno with err. */
int weir_record_outcome_check(const struct weir_record_arguments *arguments, struct weir_error *err);

/* Writes the file of --report, in one step. Does nothing without the option and in a dry run. 0 or -errno with err. */
int weir_record_outcome_write(const struct weir_record_arguments *arguments, const struct weir_record_outcome *outcome,
                              struct weir_error *err);

#endif

/* The options of `weir status` and `weir top`: the option tables and the structs that they fill. Main thread. */
#ifndef WEIR_CLI_STATUS_OPTIONS_H
#define WEIR_CLI_STATUS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/command.h"

#define WEIR_TOP_PERIOD_MS_DEFAULT 1000u

struct weir_status_arguments {
    bool json;
    pid_t *pids; /* owned; of recorders */
    size_t pid_count;
};

struct weir_top_command_arguments {
    uint64_t period_ms;
    pid_t pid; /* of the recorder; 0: the first one that is found */
};

extern const struct weir_command weir_status_command;
extern const struct weir_command weir_top_command;

/* Parse argv (the words behind the command). Return as weir_options_parse(). The caller gives arguments to fini() in
 * any case. */
int weir_status_arguments_parse(struct weir_status_arguments *arguments, char *const *argv, struct weir_error *err);
int weir_top_command_arguments_parse(struct weir_top_command_arguments *arguments, char *const *argv,
                                     struct weir_error *err);

void weir_status_arguments_fini(struct weir_status_arguments *arguments);

#endif

/* The options of `weir info` and `weir verify`: their tables and what they fill. Touches no files. Main thread. */
#ifndef WEIR_CLI_INSPECT_OPTIONS_H
#define WEIR_CLI_INSPECT_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

struct weir_inspect_arguments {
    const char *input_path; /* borrowed from argv */
    bool json;
    bool timeline; /* of weir info */
    bool quiet;    /* of weir verify */
};

extern const struct weir_command weir_info_command;
extern const struct weir_command weir_verify_command;

/* Parses argv (the words behind the command, one of the two above): options, and at most one recording. As
 * weir_options_parse(). */
int weir_inspect_arguments_parse(const struct weir_command *command, struct weir_inspect_arguments *arguments,
                                 char *const *argv, struct weir_error *err);

#endif

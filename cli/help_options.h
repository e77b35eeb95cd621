/* The options of `weir help`, and those before any command. Constant data. */
#ifndef WEIR_CLI_HELP_OPTIONS_H
#define WEIR_CLI_HELP_OPTIONS_H

#include <stdbool.h>

#include "cli/command.h"

struct weir_help_arguments {
    bool man;
    const char *completion; /* borrowed: the name of a shell that weir_completion_knows(); NULL: not given */
};

extern const struct weir_command weir_help_command;

struct weir_top_arguments {
    bool version;
    const char *buildid_dir; /* borrowed; NULL: not given */
};

extern const struct weir_option_table weir_top_options;

#endif

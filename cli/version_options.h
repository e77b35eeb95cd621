/* The options of `weir version`. Constant data. */
#ifndef WEIR_CLI_VERSION_OPTIONS_H
#define WEIR_CLI_VERSION_OPTIONS_H

#include <stdbool.h>

#include "cli/command.h"

struct weir_version_arguments {
    bool build_options;
    bool json;
};

extern const struct weir_command weir_version_command;

#endif

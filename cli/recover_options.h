/* The options of `weir recover`: the option table and the struct that it fills. Touches neither kernel nor files. Main
 * thread. */
#ifndef WEIR_CLI_RECOVER_OPTIONS_H
#define WEIR_CLI_RECOVER_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

struct weir_recover_arguments {
    const char *input_path;  /* borrowed from argv, as all here */
    const char *output_path; /* NULL: not given */
    bool in_place;
    bool assume_this_kernel;
    bool quiet;
};

extern const struct weir_command weir_recover_command;

/* Parses argv (the words behind `weir recover`): options, and at most one file. As weir_options_parse(). */
int weir_recover_arguments_parse(struct weir_recover_arguments *arguments, char *const *argv, struct weir_error *err);

#endif

/* The options of `weir unwind`: the option table and the struct that it fills. Touches neither kernel nor files. Main
 * thread. */
#ifndef WEIR_CLI_UNWIND_OPTIONS_H
#define WEIR_CLI_UNWIND_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

struct weir_unwind_arguments {
    const char *input_path;  /* borrowed from argv, as all here */
    const char *output_path; /* NULL: not given */
    const char *symfs;       /* NULL: not given */
    bool quiet;
};

extern const struct weir_command weir_unwind_command;

/* Parses argv (the words behind `weir unwind`): options, and at most one file. As weir_options_parse(). */
int weir_unwind_arguments_parse(struct weir_unwind_arguments *arguments, char *const *argv, struct weir_error *err);

#endif

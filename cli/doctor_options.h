/* The options of `weir doctor`: the option table and the struct that it fills. Touches neither kernel nor files. Main
 * thread. */
#ifndef WEIR_CLI_DOCTOR_OPTIONS_H
#define WEIR_CLI_DOCTOR_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

struct weir_doctor_arguments {
    const char *folder; /* borrowed from argv; "." when none is named */
    bool json;
    bool all;
};

extern const struct weir_command weir_doctor_command;

/* Parses argv (the words behind `weir doctor`): options, and at most one folder. As weir_options_parse(). */
int weir_doctor_arguments_parse(struct weir_doctor_arguments *arguments, char *const *argv, struct weir_error *err);

#endif

/* The options of `weir list`. Main thread. */
#ifndef WEIR_CLI_LIST_OPTIONS_H
#define WEIR_CLI_LIST_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

struct weir_list_arguments {
    char *const *words; /* borrowed from argv, NULL-terminated: sections and patterns */
    bool json;
    bool raw_dump;
    bool details;
};

extern const struct weir_command weir_list_command;

/* Parses argv (the words behind `weir list`). As weir_options_parse(). */
int weir_list_arguments_parse(struct weir_list_arguments *arguments, char *const *argv, struct weir_error *err);

#endif

/* The options of `weir dump`: the option table and the struct that it fills. Touches neither kernel nor files. Main
 * thread. */
#ifndef WEIR_CLI_DUMP_OPTIONS_H
#define WEIR_CLI_DUMP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "cli/command.h"
#include "format/dump_filter.h"

struct weir_dump_arguments {
    const char *input_path; /* borrowed from argv, here and below */
    struct weir_text_list types;
    struct weir_text_list events;
    struct weir_cpuset cpus;
    const char *pids_text;
    const char *time_text;
    uint64_t limit; /* 0: not given */
    bool json;
    bool quiet;

    struct weir_dump_filter filter; /* by weir_dump_arguments_resolve(); borrows from the fields above */
    int *pids;                      /* owned; likewise */
};

extern const struct weir_command weir_dump_command;

void weir_dump_arguments_init(struct weir_dump_arguments *arguments);
void weir_dump_arguments_fini(struct weir_dump_arguments *arguments);

/* Parses argv (the words behind `weir dump`): options, and at most one file. As weir_options_parse(). */
int weir_dump_arguments_parse(struct weir_dump_arguments *arguments, char *const *argv, struct weir_error *err);

/* Turns lists and times into the filter. 0, -EINVAL or -ENOMEM with err. */
int weir_dump_arguments_resolve(struct weir_dump_arguments *arguments, struct weir_error *err);

#endif

/*
 * A command of weir as its user sees it: name, texts and option table. Help and man page are made from this alone;
 * cli/cli.c binds the command to its function. Constant data, and the call of a command.
 */
#ifndef WEIR_CLI_COMMAND_H
#define WEIR_CLI_COMMAND_H

#include <signal.h>
#include <stddef.h>

#include "cli/option.h"

struct weir_example {
    const char *line;   /* "weir record -a sleep 10"; NULL ends a list */
    const char *effect; /* one sentence */
};

struct weir_exit_meaning {
    const char *status; /* "125"; NULL ends a list */
    const char *meaning;
};

/* A file or an environment variable that a command minds. */
struct weir_surrounding {
    const char *name; /* "perf.data"; NULL ends a list */
    const char *meaning;
};

struct weir_command {
    const char *name;                           /* "record", "bench drain" */
    const char *summary;                        /* one phrase without capital letter and full stop */
    const char *const *usages;                  /* forms of the arguments behind the name; NULL-terminated */
    const char *const *description;             /* paragraphs; NULL-terminated */
    const struct weir_exit_meaning *exits;      /* ends with a NULL status */
    const struct weir_example *examples;        /* ends with a NULL line */
    const struct weir_surrounding *files;       /* ends with a NULL name; NULL: none */
    const struct weir_surrounding *environment; /* beside weir_environment_of_all; as files */
    struct weir_option_table options;
};

/* The call of a command. All pointers are borrowed from main(). */
struct weir_invocation {
    char *const *argv; /* the whole command line, NULL-terminated, for the file's CMDLINE */
    size_t argc;
    char *const *arguments;  /* the words behind the command's name; NULL-terminated */
    const char *buildid_dir; /* borrowed: weir --buildid-dir DIR; NULL: not given */
    sigset_t ignored;        /* the signals that were ignored at the start; programs that weir starts inherit them */
};

#endif

/* The program: finds the command that the user asks for, and runs it. Main thread of the process. */
#ifndef WEIR_CLI_CLI_H
#define WEIR_CLI_CLI_H

#include <stddef.h>

#include "cli/command.h"

/* Returns the command with this index, in the order of `weir help`; NULL behind the last. */
const struct weir_command *weir_cli_command(size_t index);

/* Runs the command that argv names. Returns the exit status of the process (cli/exit_status.h). */
int weir_cli_main(int argc, char **argv);

#endif

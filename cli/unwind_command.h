/* `weir unwind`. Main thread of the process. */
#ifndef WEIR_CLI_UNWIND_COMMAND_H
#define WEIR_CLI_UNWIND_COMMAND_H

#include "cli/command.h"

/* Returns the exit status of the process. */
int weir_unwind_main(const struct weir_invocation *invocation);

#endif

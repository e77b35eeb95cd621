/* `weir info` and `weir verify`. Main thread of the process. */
#ifndef WEIR_CLI_INSPECT_COMMAND_H
#define WEIR_CLI_INSPECT_COMMAND_H

#include "cli/command.h"

/* Each returns the exit status of the process. */
int weir_info_main(const struct weir_invocation *invocation);
int weir_verify_main(const struct weir_invocation *invocation);

#endif

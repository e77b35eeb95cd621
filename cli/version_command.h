/* `weir version`. Main thread of the process. */
#ifndef WEIR_CLI_VERSION_COMMAND_H
#define WEIR_CLI_VERSION_COMMAND_H

#include "base/buf.h"
#include "cli/command.h"

/* Returns the exit status of the process. */
int weir_version_main(const struct weir_invocation *invocation);

/* Appends the line of `weir version`, which `weir --version` prints, too. */
void weir_version_append(struct weir_buf *text);

#endif

/* `weir report`. Main thread. */
#ifndef WEIR_CLI_REPORT_COMMAND_H
#define WEIR_CLI_REPORT_COMMAND_H

#include "cli/command.h"

/* Makes a report. Returns the exit status. */
int weir_report_main(const struct weir_invocation *invocation);

#endif

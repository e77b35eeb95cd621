/* `weir bench storm`: recorders side by side on the present machine. Main thread. */
#ifndef WEIR_CLI_BENCH_STORM_H
#define WEIR_CLI_BENCH_STORM_H

#include "cli/command.h"

extern const struct weir_command weir_bench_storm_command;

/* Runs the command. The exit status. */
int weir_bench_storm_main(const struct weir_invocation *invocation);

#endif

/*
 * The program: which command was asked for, and what all commands have in common. Main thread of the process.
 */
#ifndef WEIR_CLI_CLI_H
#define WEIR_CLI_CLI_H

#include <signal.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/print.h"

/* How a command was called. All borrowed from main(). */
struct weir_invocation {
    char *const *argv; /* whole, NULL-terminated: what goes into the file's CMDLINE */
    size_t argc;
    char *const *arguments; /* the words behind the command's name; NULL-terminated */
    sigset_t ignored;       /* the signals that were ignored then: programs that weir starts are to inherit that */
};

/* The command with this index, in the order of `weir help`; NULL behind the last. */
const struct weir_command *weir_cli_command(size_t index);

/* Runs what argv asks for; the exit status of the process (cli/exit_status.h). */
int weir_cli_main(int argc, char **argv);

/* The commands; each returns an exit status. */
int weir_record_main(const struct weir_invocation *invocation);
int weir_doctor_main(const struct weir_invocation *invocation);
int weir_list_main(const struct weir_invocation *invocation);
int weir_bench_drain_main(const struct weir_invocation *invocation);
int weir_dump_main(const struct weir_invocation *invocation);
int weir_info_main(const struct weir_invocation *invocation);
int weir_verify_main(const struct weir_invocation *invocation);
int weir_recover_main(const struct weir_invocation *invocation);

/* Prints err; the exit status for arguments that were refused with code (-errno). */
int weir_cli_refuse(const struct weir_print *print, int code, const struct weir_error *err);

/* Prints text to stdout and frees it; the exit status. */
int weir_cli_show(const struct weir_print *print, struct weir_buf *text);

/* Prints the command's help to stdout; the exit status. */
int weir_cli_show_help(const struct weir_print *print, const struct weir_command *command);

/* Ends the process as the signal would have, but without a core file: nothing of ours is wrong. Returns only when the
 * signal does not end processes. */
void weir_cli_die_by_signal(int number);

#endif

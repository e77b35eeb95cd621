/* The ways in which a command answers: an error, a text, its help, or a signal. Main thread of the process. */
#ifndef WEIR_CLI_ANSWER_H
#define WEIR_CLI_ANSWER_H

#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/print.h"

/* Prints err. Returns the exit status for arguments that were refused with code (-errno). */
int weir_answer_refusal(const struct weir_print *print, int code, const struct weir_error *err);

/* Prints text to stdout and frees it. Returns the exit status. */
int weir_answer_text(const struct weir_print *print, struct weir_buf *text);

/* Shows the command's help, through the user's pager if stdout is a terminal (pager.h). arguments: of the command; with
 * words behind -h, only the options that they name. NULL: none. Returns the exit status. */
int weir_answer_help(const struct weir_print *print, const struct weir_command *command, char *const *arguments);

/* Ends the process as the signal would have, but without a core file, which would suggest a bug in weir. Returns only
 * if the signal does not end processes. */
void weir_answer_by_signal(int number);

#endif

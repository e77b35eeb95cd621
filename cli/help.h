/* `--help` of a command and the overview of all, from the command's own data. Pure; appends to text. Any thread. */
#ifndef WEIR_CLI_HELP_H
#define WEIR_CLI_HELP_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"

#define WEIR_HELP_COLUMNS 80u /* no line is longer, but for a single word that is */

/*
 * words: those behind -h, up to a NULL. With words only the options are listed that perf would list for them
 * (option__in_argv() of subcmd/parse-options.c, Linux 6.12): an option is named by a letter, by -X and --NAME; or its
 * sentence contains the word, in any case. Unlike in perf, so may its long name.
 */
void weir_help_text(struct weir_buf *text, const struct weir_command *command, const char *const *words);
void weir_help_overview(struct weir_buf *text, const struct weir_command *const *commands, size_t count);

/* Appends the overview of the commands of a group ("bench"): those whose names begin with its word. */
void weir_help_group(struct weir_buf *text, const char *group, const struct weir_command *const *commands,
                     size_t count);

/*
 * Appends words, breaking lines between them. column: where the text stands now; indent: where the next lines begin.
 * Ends without a newline.
 */
void weir_help_wrap(struct weir_buf *text, const char *words, unsigned column, unsigned indent);

#endif

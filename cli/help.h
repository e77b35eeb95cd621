/* `--help` of a command and the overview of all, from the command's own data. Pure; appends to text. Any thread. */
#ifndef WEIR_CLI_HELP_H
#define WEIR_CLI_HELP_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"

#define WEIR_HELP_COLUMNS 80u /* no line is longer, but for a single word that is */

void weir_help_text(struct weir_buf *text, const struct weir_command *command);
void weir_help_overview(struct weir_buf *text, const struct weir_command *const *commands, size_t count);

/*
 * Appends words, breaking lines between them. column: where the text stands now; indent: where the next lines begin.
 * Ends without a newline.
 */
void weir_help_wrap(struct weir_buf *text, const char *words, unsigned column, unsigned indent);

#endif

/*
 * Man pages in roff (groff_man(7)), from the data of `--help`. docs/man/ holds the output of these functions, made with
 * `weir help --man COMMAND`; a test compares them. Pure; appends to text. Any thread.
 */
#ifndef WEIR_CLI_MAN_H
#define WEIR_CLI_MAN_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"

void weir_man_text(struct weir_buf *text, const struct weir_command *command);
void weir_man_overview(struct weir_buf *text, const struct weir_command *const *commands, size_t count);

#endif

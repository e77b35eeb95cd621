/*
 * Completion scripts for bash, zsh and fish, from the same data as `--help`: commands, their options and what those
 * take. They are made when weir is built (`weir help --completion SHELL`) and installed where each shell looks.
 * Pure; appends to text. Any thread.
 */
#ifndef WEIR_CLI_COMPLETION_H
#define WEIR_CLI_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"

/* Appends the script for shell: "bash", "zsh" or "fish". False: it is none of them, nothing was appended. top: the
 * options before any command. */
bool weir_completion_text(struct weir_buf *text, const char *shell, const struct weir_option_table *top,
                          const struct weir_command *const *commands, size_t count);

/* Whether there is a script for a shell of this name. */
bool weir_completion_knows(const char *shell);

#endif

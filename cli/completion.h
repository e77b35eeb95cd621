/*
 * Completion scripts for bash, zsh and fish, from the data of `--help`: commands, options and their arguments. The
 * build of weir makes them (`weir help --completion SHELL`) and installs each where its shell looks. Pure; appends to
 * text. Any thread.
 */
#ifndef WEIR_CLI_COMPLETION_H
#define WEIR_CLI_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"

/* Appends the script for shell: "bash", "zsh" or "fish". False: another shell, and nothing is appended. top: the
 * options before any command. */
bool weir_completion_text(struct weir_buf *text, const char *shell, const struct weir_option_table *top,
                          const struct weir_command *const *commands, size_t count);

/* Returns whether there is a script for that shell. */
bool weir_completion_knows(const char *shell);

#endif

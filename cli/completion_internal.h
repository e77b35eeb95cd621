/* The data from which the scripts of all shells are made. Pure; any thread. */
#ifndef WEIR_CLI_COMPLETION_INTERNAL_H
#define WEIR_CLI_COMPLETION_INTERNAL_H

#include "cli/completion.h"
#include "cli/option.h"

struct weir_completion {
    const struct weir_option_table *top;
    const struct weir_command *const *commands;
    size_t count;
};

/* Returns whether a command of the user may follow the command. */
bool weir_completion_has_workload(const struct weir_command *command);

/* Return whether the command's arguments besides options name files, folders, or commands of weir. */
bool weir_completion_has_files(const struct weir_command *command);
bool weir_completion_has_folders(const struct weir_command *command);
bool weir_completion_has_commands(const struct weir_command *command);

/* Return whether the option's argument is the name of a file, or a process. */
bool weir_completion_takes_file(const struct weir_option *option);
bool weir_completion_takes_process(const struct weir_option *option);

/* Returns whether the option's argument is a list of events; `weir list --raw-dump` lists their names. */
bool weir_completion_takes_events(const struct weir_option *option);

/* Returns whether the option's argument is the name of a user. */
bool weir_completion_takes_user(const struct weir_option *option);

/* Returns which cgroups the option's argument lists: "cgroup", "unit" or "container"; NULL: the argument is something
 * else. */
const char *weir_completion_cgroups(const struct weir_option *option);

/* Lines of sh(1) that print the cgroups of this machine as $1 says, one a line. */
extern const char weir_completion_cgroup_script[];

/* Appends the possible values of an argument, taken from its name in help: "bash zsh fish" from "bash|zsh|fish", "max"
 * from "HZ|max", and nothing from "FILE". The names of presets come from "PRESET", and likewise those of clocks, call
 * graphs and branch filters. */
void weir_completion_append_values(struct weir_buf *text, const struct weir_option *option);

/* Appends text within single quotes of a shell; special: further characters to put a backslash before. */
void weir_completion_append_quoted(struct weir_buf *text, const char *words, const char *quote, const char *special);

void weir_completion_bash(struct weir_buf *text, const struct weir_completion *completion);
void weir_completion_zsh(struct weir_buf *text, const struct weir_completion *completion);
void weir_completion_fish(struct weir_buf *text, const struct weir_completion *completion);

#endif

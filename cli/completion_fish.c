/* Completion for fish (complete(1) of fish). Pure; any thread. */
#include <stdio.h>
#include <string.h>

#include "cli/completion_internal.h"

#define FISH_QUOTE "\\'"

static const char head[] = "# Whether the command line has these words behind weir, and no other command.\n"
                           "function __weir_in\n"
                           "    set -l words (commandline -opc)\n"
                           "    test (count $words) -gt (count $argv); or return 1\n"
                           "    set -l last (math (count $argv) + 1)\n"
                           "    test \"$words[2..$last]\" = \"$argv\"\n"
                           "end\n"
                           "function __weir_at\n"
                           "    set -l words (commandline -opc)\n"
                           "    test \"$words[2..]\" = \"$argv\"\n"
                           "end\n"
                           "function __weir_words\n"
                           "    printf '%s\\n' $argv\n"
                           "end\n"
                           "complete -c weir -f\n";

static void append_help(struct weir_buf *text, const char *words)
{
    weir_buf_printf(text, " -d '");
    weir_completion_append_quoted(text, words, FISH_QUOTE, "\\");
    weir_buf_printf(text, "'\n");
}

static void append_argument(struct weir_buf *text, const struct weir_option *option)
{
    struct weir_buf values = WEIR_BUF_INIT;
    weir_completion_append_values(&values, option);
    if (weir_completion_takes_file(option))
        weir_buf_printf(text, " -r -F");
    else if (weir_completion_takes_process(option))
        weir_buf_printf(text, " -x -a '(__fish_complete_pids)'");
    else if (weir_completion_takes_events(option))
        weir_buf_printf(text, " -x -a '(__fish_complete_list , \"weir list --raw-dump 2>/dev/null\")'");
    else if (weir_completion_takes_user(option))
        weir_buf_printf(text, " -x -a '(__fish_complete_users)'");
    else if (weir_completion_cgroups(option))
        weir_buf_printf(text, " -x -a '(__fish_complete_list , \"__weir_cgroups %s\")'",
                        weir_completion_cgroups(option));
    else if (values.used > 0 && strstr(option->argument, "..."))
        weir_buf_printf(text, " -x -a '(__fish_complete_list , \"__weir_words %s\")'", weir_buf_str(&values));
    else if (option->argument && !option->argument_optional)
        weir_buf_printf(text, " -x");
    if (values.used > 0 && !strstr(option->argument, "..."))
        weir_buf_printf(text, " -a '%s'", weir_buf_str(&values));
    weir_buf_fini(&values);
}

static void append_option(struct weir_buf *text, const char *condition, const struct weir_option *option)
{
    weir_buf_printf(text, "complete -c weir -n '%s'", condition);
    if (option->short_name)
        weir_buf_printf(text, " -s %c", option->short_name);
    if (option->long_name)
        weir_buf_printf(text, " -l %s", option->long_name);
    append_argument(text, option);
    append_help(text, option->help);

    char spelling[WEIR_OPTION_TEXT_BYTES];
    for (enum weir_option_spelling s = WEIR_OPTION_SPELLING_NAME + 1; s < WEIR_OPTION_SPELLING_COUNT; s++) {
        if (!weir_option_format_spelling(option, s, spelling))
            continue;
        weir_buf_printf(text, "complete -c weir -n '%s' -l %s", condition, spelling);
        append_help(text, option->help);
    }
}

static void append_table(struct weir_buf *text, const char *condition, const struct weir_option_table *table)
{
    for (size_t i = 0; weir_option_at(table, i); i++)
        append_option(text, condition, weir_option_at(table, i));
}

/* The words of the command's name, each where the ones before it stand; condition: where the first does. */
static void append_name(struct weir_buf *text, const char *condition, const struct weir_command *command)
{
    const char *blank = strchr(command->name, ' ');
    weir_buf_printf(text, "complete -c weir -n '%s' -a %.*s", condition, (int)strcspn(command->name, " "),
                    command->name);
    append_help(text, blank ? "commands of this name" : command->summary);
    if (!blank)
        return;
    weir_buf_printf(text, "complete -c weir -n '%s %.*s' -a %s", condition, (int)(blank - command->name), command->name,
                    blank + 1);
    append_help(text, command->summary);
}

void weir_completion_fish(struct weir_buf *text, const struct weir_completion *completion)
{
    weir_buf_printf(text, "%sfunction __weir_cgroups\n    sh -c '", head);
    weir_completion_append_quoted(text, weir_completion_cgroup_script, FISH_QUOTE, "\\");
    weir_buf_printf(text, "' sh $argv\nend\n");
    append_table(text, "__weir_at", completion->top);
    for (size_t i = 0; i < completion->count; i++) {
        const struct weir_command *command = completion->commands[i];
        char condition[WEIR_OPTION_TEXT_BYTES], at[WEIR_OPTION_TEXT_BYTES];
        snprintf(condition, sizeof(condition), "__weir_in %s", command->name);
        snprintf(at, sizeof(at), "__weir_at %s", command->name);
        append_name(text, "__weir_at", command);
        append_table(text, condition, &command->options);
        if (weir_completion_has_workload(command))
            weir_buf_printf(text, "complete -c weir -n '%s' -a '(__fish_complete_subcommand --fcs-skip=2)'\n",
                            condition);
        else if (weir_completion_has_files(command))
            weir_buf_printf(text, "complete -c weir -n '%s' -F\n", condition);
        else if (weir_completion_has_folders(command))
            weir_buf_printf(text, "complete -c weir -n '%s' -a '(__fish_complete_directories)'\n", condition);
        for (size_t j = 0; weir_completion_has_commands(command) && j < completion->count; j++)
            append_name(text, at, completion->commands[j]);
    }
}

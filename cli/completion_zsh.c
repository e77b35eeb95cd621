/* Completion for zsh (zshcompsys(1), _arguments). Pure; any thread. */
#include <stdio.h>
#include <string.h>

#include "cli/completion_internal.h"

#define ZSH_QUOTE "'\\''"

/* Text within '...' that _arguments reads: brackets and colons are its own. */
static void append_words(struct weir_buf *text, const char *words)
{
    weir_completion_append_quoted(text, words, ZSH_QUOTE, "[]:\\");
}

/* ":HZ|max:(max)", "::SPEC:", ":FILE:_files"; "" when none is taken. */
static void append_argument(struct weir_buf *text, const struct weir_option *option)
{
    if (!option->argument)
        return;
    weir_buf_printf(text, option->argument_optional ? "::" : ":");
    append_words(text, option->argument);
    struct weir_buf values = WEIR_BUF_INIT;
    weir_completion_append_values(&values, option);
    if (weir_completion_takes_file(option))
        weir_buf_printf(text, ":_files");
    else if (weir_completion_takes_process(option))
        weir_buf_printf(text, ":_pids");
    else if (weir_completion_takes_events(option))
        weir_buf_printf(text, ":_weir_events");
    else if (weir_completion_takes_user(option))
        weir_buf_printf(text, ":_users");
    else if (weir_completion_cgroups(option))
        weir_buf_printf(text, ": _weir_words $(_weir_cgroups %s)", weir_completion_cgroups(option));
    else if (values.used > 0 && strstr(option->argument, "..."))
        weir_buf_printf(text, ": _weir_words %s", weir_buf_str(&values));
    else if (values.used > 0)
        weir_buf_printf(text, ":(%s)", weir_buf_str(&values));
    else
        weir_buf_printf(text, ":");
    weir_buf_fini(&values);
}

/* One spelling: '(-F --freq)--freq=[help]:HZ|max:(max)'. */
static void append_spec(struct weir_buf *text, const struct weir_option *option, const char *spelling, bool takes)
{
    weir_buf_printf(text, "        '");
    if (option->repeatable) {
        weir_buf_printf(text, "*");
    } else if (option->short_name && option->long_name) {
        weir_buf_printf(text, "(-%c --%s)", option->short_name, option->long_name);
    }
    weir_buf_printf(text, "%s", spelling);
    bool is_long = spelling[1] == '-';
    if (takes && option->argument)
        weir_buf_printf(text, option->argument_optional ? (is_long ? "=-" : "-") : (is_long ? "=" : "+"));
    weir_buf_printf(text, "[");
    append_words(text, option->help);
    weir_buf_printf(text, "]");
    if (takes)
        append_argument(text, option);
    weir_buf_printf(text, "'\n");
}

static void append_option(struct weir_buf *text, const struct weir_option *option)
{
    const char letter[] = {'-', option->short_name, '\0'};
    if (option->short_name)
        append_spec(text, option, letter, true);
    char spelling[WEIR_OPTION_TEXT_BYTES], dashed[WEIR_OPTION_TEXT_BYTES + 2];
    for (enum weir_option_spelling s = 0; s < WEIR_OPTION_SPELLING_COUNT; s++) {
        if (!weir_option_format_spelling(option, s, spelling))
            continue;
        snprintf(dashed, sizeof(dashed), "--%s", spelling);
        append_spec(text, option, dashed, s == WEIR_OPTION_SPELLING_NAME);
    }
}

static void append_table(struct weir_buf *text, const struct weir_option_table *table)
{
    weir_buf_printf(text, "    specs=(\n");
    for (size_t i = 0; weir_option_at(table, i); i++)
        append_option(text, weir_option_at(table, i));
    weir_buf_printf(text, "    )\n");
}

static void append_command(struct weir_buf *text, const struct weir_command *command)
{
    const char *blank = strchr(command->name, ' ');
    const char *rest = "";
    if (weir_completion_has_workload(command))
        rest = " '*::: :_normal'";
    else if (weir_completion_has_files(command))
        rest = " '*:file:_files'";
    else if (weir_completion_has_folders(command))
        rest = " '*:folder:_files -/'";
    else if (weir_completion_has_commands(command))
        rest = " '*:command:_weir_commands'";
    weir_buf_printf(text, "  (\"%s%s\"%s)\n", command->name, blank ? "" : " ", blank ? "" : "*");
    append_table(text, &command->options);
    weir_buf_printf(text, "    shift %d words; (( CURRENT -= %d ))\n    _arguments -s -S : $specs%s\n    ;;\n",
                    blank ? 2 : 1, blank ? 2 : 1, rest);
}

static void append_descriptions(struct weir_buf *text, const struct weir_completion *completion)
{
    weir_buf_printf(text, "_weir_commands() {\n  local -a commands\n  commands=(\n");
    for (size_t i = 0; i < completion->count; i++) {
        weir_buf_printf(text, "    '%s:", completion->commands[i]->name);
        append_words(text, completion->commands[i]->summary);
        weir_buf_printf(text, "'\n");
    }
    weir_buf_printf(text, "  )\n  _describe -t commands command commands -Q\n}\n");
}

void weir_completion_zsh(struct weir_buf *text, const struct weir_completion *completion)
{
    append_descriptions(text, completion);
    weir_buf_printf(text, "_weir_events() {\n  local -a events\n"
                          "  events=(${(f)\"$(weir list --raw-dump 2>/dev/null)\"})\n"
                          "  compset -P '*[,{]'\n  compadd -a events\n}\n");
    weir_buf_printf(text, "_weir_words() {\n  compset -P '*,'\n  compadd -- \"$@\"\n}\n_weir_cgroups() {\n%s}\n",
                    weir_completion_cgroup_script);
    weir_buf_printf(text, "_weir() {\n  local -a specs\n  case \"$words[2] $words[3]\" in\n");
    for (size_t i = 0; i < completion->count; i++)
        append_command(text, completion->commands[i]);
    weir_buf_printf(text, "  (*)\n");
    append_table(text, completion->top);
    weir_buf_printf(text, "    _arguments -s -S : $specs '*:command:_weir_commands'\n    ;;\n  esac\n}\n"
                          "if [ \"$funcstack[1]\" = _weir ]; then _weir \"$@\"; else compdef _weir weir; fi\n");
}

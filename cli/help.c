/*
 * `--help`: usage lines, then one entry per row of the option table, under its section's heading.
 *
 *   -F, --freq HZ|max          sentence of the row, wrapped
 *                              [range; default]
 *
 * Pure; any thread.
 */
#include "cli/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/option.h"

#define HELP_INDENT   29u /* column of the sentences */
#define NAME_GAP      2u
#define SUMMARY_WIDTH 14 /* column of the command names in the overview */

static void append_spaces(struct weir_buf *text, unsigned count)
{
    weir_buf_printf(text, "%*s", (int)count, "");
}

void weir_help_wrap(struct weir_buf *text, const char *words, unsigned column, unsigned indent)
{
    bool line_is_empty = true;
    while (*words) {
        size_t length = strcspn(words, " ");
        size_t needed = length + (line_is_empty ? 0 : 1);
        if (!line_is_empty && column + needed > WEIR_HELP_COLUMNS) {
            weir_buf_printf(text, "\n");
            append_spaces(text, indent);
            column = indent;
            line_is_empty = true;
            needed = length;
        }
        weir_buf_printf(text, "%s%.*s", line_is_empty ? "" : " ", (int)length, words);
        column += (unsigned)needed;
        line_is_empty = false;
        words += length + strspn(words + length, " ");
    }
}

static void append_option(struct weir_buf *text, const struct weir_option *option)
{
    char usage[WEIR_OPTION_TEXT_BYTES], facts[WEIR_OPTION_TEXT_BYTES], words[3 * WEIR_OPTION_TEXT_BYTES];
    weir_option_format_usage(option, usage);
    weir_buf_printf(text, "  %s", usage);
    unsigned column = 2 + (unsigned)strlen(usage);
    if (column + NAME_GAP > HELP_INDENT) {
        weir_buf_printf(text, "\n");
        column = 0;
    }
    append_spaces(text, HELP_INDENT - column);

    bool has_facts = weir_option_format_facts(option, facts);
    snprintf(words, sizeof(words), has_facts ? "%s [%s]" : "%s", option->help, facts);
    weir_help_wrap(text, words, HELP_INDENT, HELP_INDENT);
    weir_buf_printf(text, "\n");
}

/* ---- words behind -h ---- */

static bool is_named_by(const struct weir_option *option, const char *word)
{
    const char *name = option->long_name;
    if (word[0] == '-')
        return (word[1] && word[1] == option->short_name && !word[2]) ||
               (word[1] == '-' && name && strcmp(word + 2, name) == 0);
    if (word[0] && !word[1])
        return word[0] == option->short_name;
    return (name && strcasestr(name, word)) || strcasestr(option->help, word);
}

static bool is_listed(const struct weir_option *option, const char *const *words)
{
    bool is_listed = !*words;
    for (; *words && !is_listed; words++)
        is_listed = is_named_by(option, *words);
    return is_listed;
}

static void append_summary(struct weir_buf *text, const struct weir_command *command)
{
    char words[WEIR_OPTION_TEXT_BYTES];
    snprintf(words, sizeof(words), "%c%s.", toupper((unsigned char)command->summary[0]), command->summary + 1);
    weir_buf_printf(text, "\n");
    weir_help_wrap(text, words, 0, 0);
    weir_buf_printf(text, "\n");
}

void weir_help_text(struct weir_buf *text, const struct weir_command *command, const char *const *words)
{
    for (size_t i = 0; command->usages[i]; i++)
        weir_buf_printf(text, "%s weir %s %s\n", i == 0 ? "Usage:" : "   or:", command->name, command->usages[i]);
    if (!*words)
        append_summary(text, command);

    bool any_is_negatable = false, any = false;
    const char *section = "";
    for (size_t i = 0; weir_option_at(&command->options, i); i++) {
        const struct weir_option *option = weir_option_at(&command->options, i);
        if (!is_listed(option, words))
            continue;
        if (strcmp(section, weir_option_section(&command->options, i)) != 0) {
            section = weir_option_section(&command->options, i);
            weir_buf_printf(text, "\n%s:\n", section);
        }
        append_option(text, option);
        any = true;
        any_is_negatable = any_is_negatable || option->negatable;
    }
    if (!any)
        weir_buf_printf(text, "\nNo option matches: 'weir %s -h' lists all.\n", command->name);
    if (any_is_negatable)
        weir_buf_printf(text, "\n--no-NAME undoes a flag NAME.\n");
}

static void append_commands(struct weir_buf *text, const struct weir_command *const *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        weir_buf_printf(text, "  %-*s", SUMMARY_WIDTH, commands[i]->name);
        weir_help_wrap(text, commands[i]->summary, SUMMARY_WIDTH + 2, SUMMARY_WIDTH + 2);
        weir_buf_printf(text, "\n");
    }
    weir_buf_printf(text, "\n'weir help COMMAND' describes one of them.\n");
}

void weir_help_overview(struct weir_buf *text, const struct weir_command *const *commands, size_t count)
{
    weir_buf_printf(text, "Usage: weir COMMAND [ARGUMENT...]\n"
                          "   or: weir --version | --help\n\n"
                          "Records Linux perf events system-wide, without losing any.\n\n"
                          "Commands:\n");
    append_commands(text, commands, count);
}

void weir_help_group(struct weir_buf *text, const char *group, const struct weir_command *const *commands, size_t count)
{
    weir_buf_printf(text, "Usage: weir %s COMMAND [ARGUMENT...]\n\nCommands:\n", group);
    append_commands(text, commands, count);
}

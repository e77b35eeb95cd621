/*
 * Man pages. Texts are escaped for roff here: '-' is written \-, and '\' is \e. A line never begins with a control
 * character, because every text stands behind a macro or \&. Pure; any thread.
 */
#include "cli/man.h"

#include <ctype.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/option.h"
#include "cli/surroundings.h"

/* Appends words as running text on its own line(s). */
static void append_escaped(struct weir_buf *text, const char *words)
{
    if (*words == '.' || *words == '\'')
        weir_buf_printf(text, "\\&");
    for (; *words; words++) {
        if (*words == '\\')
            weir_buf_printf(text, "\\e");
        else if (*words == '-')
            weir_buf_printf(text, "\\-");
        else
            weir_buf_append_u8(text, (uint8_t)*words);
    }
}

/* One phrase as a sentence: capital first, full stop last. */
static void append_sentence(struct weir_buf *text, const char *phrase)
{
    char first[2] = {(char)toupper((unsigned char)phrase[0]), '\0'};
    append_escaped(text, first);
    append_escaped(text, phrase + 1);
    weir_buf_printf(text, ".\n");
}

static void append_line(struct weir_buf *text, const char *words)
{
    append_escaped(text, words);
    weir_buf_printf(text, "\n");
}

/* "bench drain" to "weir-bench-drain". */
static void append_page_name(struct weir_buf *text, const char *command, bool upper)
{
    weir_buf_printf(text, upper ? "WEIR" : "weir");
    if (command)
        weir_buf_printf(text, "\\-");
    for (; command && *command; command++) {
        unsigned char letter = (unsigned char)*command;
        if (letter == ' ')
            weir_buf_printf(text, "\\-");
        else
            weir_buf_append_u8(text, (uint8_t)(upper ? toupper(letter) : letter));
    }
}

static void append_head(struct weir_buf *text, const char *command, const char *summary)
{
    weir_buf_printf(text, ".\\\" Made by `weir help --man%s%s`: change the command's table in cli/, not this file.\n",
                    command ? " " : "", command ? command : "");
    weir_buf_printf(text, ".TH ");
    append_page_name(text, command, true);
    weir_buf_printf(text, " 1 " WEIR_RELEASE_DATE " \"weir " WEIR_VERSION "\" \"weir manual\"\n.SH NAME\n");
    append_page_name(text, command, false);
    weir_buf_printf(text, " \\- ");
    append_line(text, summary);
}

static void append_option(struct weir_buf *text, const struct weir_option *option)
{
    char usage[WEIR_OPTION_TEXT_BYTES], facts[WEIR_OPTION_TEXT_BYTES], spelling[WEIR_OPTION_TEXT_BYTES];
    weir_option_format_usage(option, usage);
    weir_buf_printf(text, ".TP\n.B ");
    append_line(text, usage);
    append_sentence(text, option->help);
    if (option->details)
        append_line(text, option->details);
    if (weir_option_format_facts(option, facts)) {
        weir_buf_printf(text, "[");
        append_escaped(text, facts);
        weir_buf_printf(text, "]\n");
    }
    if (weir_option_format_spelling(option, WEIR_OPTION_SPELLING_POSITIVE, spelling) ||
        weir_option_format_spelling(option, WEIR_OPTION_SPELLING_NEGATED, spelling)) {
        weir_buf_printf(text, "Undone by \\-\\-");
        append_escaped(text, spelling);
        weir_buf_printf(text, ".\n");
    }
}

static void append_options(struct weir_buf *text, const struct weir_option_table *table)
{
    weir_buf_printf(text, ".SH OPTIONS\n");
    const char *section = "";
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (strcmp(section, weir_option_section(table, i)) != 0) {
            section = weir_option_section(table, i);
            weir_buf_printf(text, ".SS ");
            append_line(text, section);
        }
        append_option(text, option);
    }
}

/* An entry of a list: a name and its sentence. */
static void append_entry(struct weir_buf *text, const char *name, const char *meaning)
{
    weir_buf_printf(text, ".TP\n.B ");
    append_line(text, name);
    append_line(text, meaning);
}

static void append_exit_status(struct weir_buf *text, const struct weir_exit_meaning *exits)
{
    weir_buf_printf(text, ".SH EXIT STATUS\n");
    for (; exits->status; exits++)
        append_entry(text, exits->status, exits->meaning);
}

static void append_surroundings(struct weir_buf *text, const struct weir_surrounding *surroundings)
{
    for (; surroundings && surroundings->name; surroundings++)
        append_entry(text, surroundings->name, surroundings->meaning);
}

static void append_environment(struct weir_buf *text, const struct weir_surrounding *of_command)
{
    weir_buf_printf(text, ".SH ENVIRONMENT\n");
    append_surroundings(text, of_command);
    append_surroundings(text, weir_environment_of_all);
}

static void append_files(struct weir_buf *text, const struct weir_surrounding *files)
{
    weir_buf_printf(text, ".SH FILES\n");
    append_surroundings(text, files);
}

static void append_examples(struct weir_buf *text, const struct weir_example *examples)
{
    weir_buf_printf(text, ".SH EXAMPLES\n");
    for (; examples->line; examples++)
        append_entry(text, examples->line, examples->effect);
}

void weir_man_text(struct weir_buf *text, const struct weir_command *command)
{
    append_head(text, command->name, command->summary);
    weir_buf_printf(text, ".SH SYNOPSIS\n.nf\n");
    for (size_t i = 0; command->usages[i]; i++) {
        weir_buf_printf(text, "\\fBweir %s\\fR ", command->name);
        append_line(text, command->usages[i]);
    }
    weir_buf_printf(text, ".fi\n.SH DESCRIPTION\n");
    for (size_t i = 0; command->description[i]; i++) {
        if (i > 0)
            weir_buf_printf(text, ".PP\n");
        append_line(text, command->description[i]);
    }
    append_options(text, &command->options);
    append_exit_status(text, command->exits);
    append_environment(text, command->environment);
    if (command->files)
        append_files(text, command->files);
    append_examples(text, command->examples);
    weir_buf_printf(text, ".SH SEE ALSO\n.BR weir (1),\n.BR perf\\-record (1),\n.BR perf_event_open (2)\n");
}

static const struct weir_example examples[] = {
    {"weir doctor", "What limits recordings on this machine."},
    {"weir record -a -g -F 99 sleep 10", "The whole machine for ten seconds."},
    {"weir report", "The recording as a page, report.html."},
    {NULL, NULL},
};

void weir_man_overview(struct weir_buf *text, const struct weir_command *const *commands, size_t count)
{
    append_head(text, NULL, "record Linux perf events system-wide, without losing any");
    weir_buf_printf(text, ".SH SYNOPSIS\n.nf\n"
                          "\\fBweir\\fR COMMAND [ARGUMENT...]\n"
                          "\\fBweir \\-\\-version\\fR | \\fB\\-\\-help\\fR\n"
                          ".fi\n.SH DESCRIPTION\n");
    append_line(text,
                "Records perf events of a whole machine with one reader per CPU, into one perf.data file that perf, "
                "hotspot and others read. Shows, checks and repairs recordings.");
    weir_buf_printf(text, ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++) {
        weir_buf_printf(text, ".TP\n.BR ");
        append_page_name(text, commands[i]->name, false);
        weir_buf_printf(text, " (1)\n");
        append_sentence(text, commands[i]->summary);
    }
    append_exit_status(text, weir_exit_meanings);
    append_environment(text, weir_environment_of_recording);
    append_files(text, weir_files_of_weir);
    append_examples(text, examples);
    weir_buf_printf(text, ".SH SEE ALSO\n.BR weir\\-snapshot (3),\n.BR weir\\-probes (7),\n.BR perf (1),\n"
                          ".BR perf_event_open (2)\n");
}

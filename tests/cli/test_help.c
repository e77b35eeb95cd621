/*
 * Table, --help and man page say the same. The tables themselves are held to their rules first; then each row is
 * looked for in help and man page, and each option named there in the table; and the whole texts are golden.
 */
#include "cli/help.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/man.h"
#include "cli/option.h"
#include "engine/modes/modes.h"
#include "tests/cli/golden.h"

#define NAME_BYTES 64

/* All commands, as `weir help` lists them. */
static const struct weir_command *commands[32];
static size_t command_count;

static const char *const no_words[] = {NULL};

static void init(void)
{
    for (command_count = 0; weir_cli_command(command_count); command_count++) {
        cr_assert_lt(command_count, WEIR_ARRAY_COUNT(commands));
        commands[command_count] = weir_cli_command(command_count);
    }
}

TestSuite(help, .init = init);

/* A file that is called after a command, such as "weir-bench-drain.1": prefix, words of the name, suffix. */
static const char *file_name(const char *prefix, const struct weir_command *command, char between, const char *suffix)
{
    static char name[NAME_BYTES];
    snprintf(name, sizeof(name), "%s%s%s", prefix, command->name, suffix);
    for (char *at = name; *at; at++)
        *at = *at == ' ' ? between : *at;
    return name;
}

/* White space folded, so that wrapped text can be searched for. */
static void fold(struct weir_buf *folded, const char *text)
{
    for (bool blank = true; *text; text++) {
        bool is_space = isspace((unsigned char)*text);
        if (!is_space)
            weir_buf_append_u8(folded, (uint8_t)*text);
        else if (!blank)
            weir_buf_append_u8(folded, ' ');
        blank = is_space;
    }
}

/* Roff back to words: the escapes that cli/man.c writes, and lines of macros dropped but for their text. */
static void unescape(struct weir_buf *plain, const char *roff)
{
    while (*roff) {
        if (roff[0] == '\\' && strchr("-e&", roff[1])) {
            if (roff[1] != '&')
                weir_buf_append_u8(plain, roff[1] == 'e' ? '\\' : '-');
            roff += 2;
        } else {
            weir_buf_append_u8(plain, (uint8_t)*roff++);
        }
    }
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

static size_t row_count(const struct weir_option_table *table)
{
    size_t count = 0;
    while (weir_option_at(table, count))
        count++;
    return count;
}

static void check_row(const struct weir_option_table *table, size_t index)
{
    const struct weir_option *option = weir_option_at(table, index);
    char name[WEIR_OPTION_TEXT_BYTES];
    weir_option_format_name(option, name);
    cr_expect(option->short_name || option->long_name, "row %zu has no name", index);
    const char *section = weir_option_section(table, index);
    cr_expect(section && option->help, "%s lacks a text", name);
    cr_expect(!isupper((unsigned char)option->help[0]), "%s: help begins with a capital", name);
    cr_expect_neq(option->help[strlen(option->help) - 1], '.', "%s: help ends with a full stop", name);
    cr_expect_eq(option->kind == WEIR_OPTION_CUSTOM, option->apply != NULL, "%s: apply and kind", name);
    bool takes_none =
        option->kind == WEIR_OPTION_HELP || option->kind == WEIR_OPTION_FLAG || option->kind == WEIR_OPTION_COUNTER;
    bool is_custom = option->kind == WEIR_OPTION_CUSTOM;
    cr_expect(is_custom || takes_none == (option->argument == NULL), "%s: argument and kind", name);
    cr_expect(takes_none || !option->negatable || option->clear, "%s: cannot be taken back", name);
    cr_expect(!option->clear || (is_custom && option->negatable), "%s: clear and kind", name);
    bool has_range = option->kind == WEIR_OPTION_NUMBER || option->kind == WEIR_OPTION_UNSIGNED ||
                     option->kind == WEIR_OPTION_SIZE || option->kind == WEIR_OPTION_FREQUENCY;
    cr_expect_eq(has_range, option->max > option->min, "%s: range and kind", name);
    bool adds = option->kind == WEIR_OPTION_COUNTER || option->kind == WEIR_OPTION_TEXT_LIST;
    cr_expect(is_custom || adds == option->repeatable, "%s: repeatable and kind", name);

    for (size_t i = 0; i < index; i++) {
        const struct weir_option *other = weir_option_at(table, i);
        cr_expect(!option->short_name || option->short_name != other->short_name, "%s: letter taken", name);
        cr_expect(!option->long_name || !other->long_name || strcmp(option->long_name, other->long_name) != 0,
                  "%s: name taken", name);
        bool apart = i + 1 < index && strcmp(weir_option_section(table, i), section) == 0 &&
                     strcmp(weir_option_section(table, index - 1), section) != 0;
        cr_expect_not(apart, "%s: section '%s' is not in one piece", name, section);
    }
}

Test(help, tables_keep_their_rules)
{
    for (size_t c = 0; c < command_count; c++) {
        const struct weir_option_table *table = &commands[c]->options;
        for (size_t i = 0; weir_option_at(table, i); i++)
            check_row(table, i);
        cr_expect_eq(weir_option_at(table, row_count(table) - 1)->kind, WEIR_OPTION_HELP, "%s: no --help",
                     commands[c]->name);
    }
}

static void expect_row(const char *where, const char *text, const struct weir_option *option)
{
    char usage[WEIR_OPTION_TEXT_BYTES], facts[WEIR_OPTION_TEXT_BYTES], bracket[WEIR_OPTION_TEXT_BYTES + 2];
    weir_option_format_usage(option, usage);
    const char *words = usage + strspn(usage, " ");
    cr_expect_neq(count_of(text, words), 0, "%s: '%s' is missing", where, words);
    cr_expect_neq(count_of(text, option->help + 1), 0, "%s: the help of '%s' is missing", where, words);
    if (weir_option_format_facts(option, facts)) {
        snprintf(bracket, sizeof(bracket), "[%s]", facts);
        cr_expect_neq(count_of(text, bracket), 0, "%s: '%s' is missing", where, bracket);
    }
}

Test(help, every_row_is_in_help_and_man_page)
{
    for (size_t c = 0; c < command_count; c++) {
        struct weir_buf text = WEIR_BUF_INIT, help = WEIR_BUF_INIT, plain = WEIR_BUF_INIT, man = WEIR_BUF_INIT;
        weir_help_text(&text, commands[c], no_words);
        fold(&help, weir_buf_str(&text));
        weir_buf_reset(&text);
        weir_man_text(&text, commands[c]);
        unescape(&plain, weir_buf_str(&text));
        fold(&man, weir_buf_str(&plain));
        for (size_t i = 0; weir_option_at(&commands[c]->options, i); i++) {
            expect_row("help", weir_buf_str(&help), weir_option_at(&commands[c]->options, i));
            expect_row("man page", weir_buf_str(&man), weir_option_at(&commands[c]->options, i));
        }
        weir_buf_fini(&text);
        weir_buf_fini(&help);
        weir_buf_fini(&plain);
        weir_buf_fini(&man);
    }
}

/* Entries of help are the lines that begin with two or six blanks and a dash. */
static size_t count_help_entries(const char *help)
{
    return count_of(help, "\n  -") + count_of(help, "\n      --");
}

static size_t count_man_entries(const char *roff)
{
    const char *from = strstr(roff, ".SH OPTIONS"), *to = strstr(roff, ".SH EXIT STATUS");
    cr_assert(from && to && from < to);
    struct weir_buf options = WEIR_BUF_INIT;
    weir_buf_append(&options, from, (size_t)(to - from));
    size_t count = count_of(weir_buf_str(&options), ".TP\n.B ");
    weir_buf_fini(&options);
    return count;
}

static const struct weir_command *command_named(const char *name)
{
    size_t c = 0;
    while (c < command_count && strcmp(commands[c]->name, name) != 0)
        c++;
    cr_assert_lt(c, command_count);
    return commands[c];
}

/* As `perf record -h WORD...` lists them. */
Test(help, words_choose_the_options_as_in_perf)
{
    static const struct {
        const char *words[4];
        const char *listed[4]; /* nothing else is */
    } cases[] = {
        {{"freq"}, {"-F, --freq HZ|max", "    --strict-freq"}},
        {{"z"}, {"-z, --compression-level[=LEVEL]"}},
        {{"-F", "--pid"}, {"-p, --pid PID[,PID...]", "-F, --freq HZ|max"}},
        {{"KERNEL'S LIMIT"}, {"    --strict-freq"}},
        {{"zebra"}, {NULL}},
        {{"-"}, {NULL}},
        {{"--"}, {NULL}},
        {{"-Fx"}, {NULL}},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_buf text = WEIR_BUF_INIT;
        weir_help_text(&text, command_named("record"), cases[i].words);
        size_t entries = 0;
        for (; cases[i].listed[entries]; entries++)
            cr_expect_eq(count_of(weir_buf_str(&text), cases[i].listed[entries]), 1, "%s", weir_buf_str(&text));
        cr_expect_eq(count_of(weir_buf_str(&text), "\n  -") + count_of(weir_buf_str(&text), "\n      --"), entries,
                     "%s", weir_buf_str(&text));
        cr_expect_eq(count_of(weir_buf_str(&text), "No option matches"), entries == 0);
        weir_buf_fini(&text);
    }
}

Test(help, words_behind_the_option_are_found_and_nothing_is_applied)
{
    const struct weir_option_table *table = &command_named("record")->options;
    const char *const words[] = {"-e", "-h", "-ah", "freq", "--", "x", NULL};
    cr_expect_str_eq(*weir_options_help_words(table, (char *const *)words), "freq");
    const char *const none[] = {"-a", "true", NULL};
    cr_expect_null(*weir_options_help_words(table, (char *const *)none));
    const char *const wrong[] = {"--bogus", "-h", "freq", NULL};
    cr_expect_null(*weir_options_help_words(table, (char *const *)wrong));
}

Test(help, help_and_man_page_have_no_entry_beyond_the_table)
{
    for (size_t c = 0; c < command_count; c++) {
        struct weir_buf text = WEIR_BUF_INIT;
        weir_help_text(&text, commands[c], no_words);
        cr_expect_eq(count_help_entries(weir_buf_str(&text)), row_count(&commands[c]->options), "%s",
                     commands[c]->name);
        weir_buf_reset(&text);
        weir_man_text(&text, commands[c]);
        cr_expect_eq(count_man_entries(weir_buf_str(&text)), row_count(&commands[c]->options), "%s", commands[c]->name);
        weir_buf_fini(&text);
    }
}

Test(help, help_is_at_most_80_columns_wide)
{
    for (size_t c = 0; c < command_count; c++) {
        struct weir_buf text = WEIR_BUF_INIT;
        weir_help_text(&text, commands[c], no_words);
        for (const char *line = weir_buf_str(&text); *line; line += strcspn(line, "\n") + 1) {
            size_t length = strcspn(line, "\n");
            cr_expect_leq(length, WEIR_HELP_COLUMNS, "%.*s", (int)length, line);
            cr_expect(length == 0 || line[length - 1] != ' ', "blank at the end: %.*s", (int)length, line);
        }
        weir_buf_fini(&text);
    }
}

Test(help, help_reads_as_in_the_golden_files)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t c = 0; c < command_count; c++) {
        weir_buf_reset(&text);
        weir_help_text(&text, commands[c], no_words);
        golden_expect(GOLDEN_TEXTS, file_name("help_", commands[c], '_', ".txt"), &text);
    }
    weir_buf_reset(&text);
    weir_help_overview(&text, commands, command_count);
    golden_expect(GOLDEN_TEXTS, "help.txt", &text);
    weir_buf_fini(&text);
}

Test(help, man_pages_in_docs_are_those_of_the_tables)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t c = 0; c < command_count; c++) {
        weir_buf_reset(&text);
        weir_man_text(&text, commands[c]);
        golden_expect(GOLDEN_MAN, file_name("weir-", commands[c], '-', ".1"), &text);
    }
    weir_buf_reset(&text);
    weir_man_overview(&text, commands, command_count);
    golden_expect(GOLDEN_MAN, "weir.1", &text);
    weir_buf_fini(&text);
}

Test(help, man_pages_have_all_sections_in_order)
{
    static const char *const sections[] = {".SH NAME",        ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXIT STATUS",
                                           ".SH ENVIRONMENT", ".SH EXAMPLES", ".SH SEE ALSO"};
    for (size_t c = 0; c < command_count; c++) {
        struct weir_buf text = WEIR_BUF_INIT;
        weir_man_text(&text, commands[c]);
        const char *at = weir_buf_str(&text);
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(sections); i++) {
            const char *next = strstr(at, sections[i]);
            cr_assert(next, "%s: no %s behind the others", commands[c]->name, sections[i]);
            at = next;
        }
        cr_expect(commands[c]->examples && commands[c]->examples->line, "%s: no example", commands[c]->name);
        weir_buf_fini(&text);
    }
}

/* Whether the words of a line have the option: --NAME, --NAME=..., -X, or -X with its argument. */
static bool uses(const char *line, const struct weir_option *option)
{
    char words[1024], *rest = words;
    snprintf(words, sizeof(words), "%s", line);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        bool is_long = strncmp(word, "--", 2) == 0;
        if (is_long && strncmp(word + 2, option->long_name, strcspn(word + 2, "=")) == 0 &&
            option->long_name[strcspn(word + 2, "=")] == '\0')
            return true;
        if (!is_long && word[0] == '-' && option->short_name && word[1] == option->short_name)
            return true;
    }
    return false;
}

Test(help, each_mode_of_a_recording_has_an_example)
{
    const struct weir_command *record = command_named("record");
    for (unsigned mode = 0; mode < WEIR_MODE_COUNT; mode++) {
        const char *name = weir_mode_row((enum weir_mode)mode)->option;
        if (!name || strncmp(name, "--", 2) != 0)
            continue;
        bool negated;
        char option_name[64]; /* without the argument that makes the mode */
        snprintf(option_name, sizeof(option_name), "%.*s", (int)strcspn(name + 2, "="), name + 2);
        const struct weir_option *option = weir_option_find(&record->options, option_name, &negated);
        cr_assert(option, "%s", name);
        const struct weir_example *example = record->examples;
        while (example->line && !uses(example->line, option))
            example++;
        cr_expect(example->line, "no example of weir record has %s", name);
    }
}

/* The pages that no table makes. */
Test(help, man_pages_by_hand_have_the_same_date_and_version)
{
    static const char *const pages[] = {"weir-probes.7", "weir-snapshot.3"};
    static const char end[] = " " WEIR_RELEASE_DATE " \"weir " WEIR_VERSION "\" \"weir manual\"";
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(pages); i++) {
        char path[4096], line[512];
        snprintf(path, sizeof(path), "%s/%s", getenv("WEIR_MAN_DIR"), pages[i]);
        FILE *page = fopen(path, "r");
        cr_assert(page && fgets(line, sizeof(line), page), "%s", path);
        cr_expect(strstr(line, end), "%s has not%s: %s", pages[i], end, line);
        fclose(page);
    }
}

static void expect_wrapped(const char *words, unsigned column, unsigned indent, const char *expected)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_help_wrap(&text, words, column, indent);
    cr_expect_str_eq(weir_buf_str(&text), expected);
    weir_buf_fini(&text);
}

Test(help, lines_are_broken_between_words_only)
{
    expect_wrapped("", 0, 0, "");
    expect_wrapped("one two", 73, 2, "one two");
    expect_wrapped("one two", 74, 2, "one\n  two");
    expect_wrapped("a_word_longer_than_what_is_left", 70, 2, "a_word_longer_than_what_is_left");
    expect_wrapped("one  two", 0, 0, "one two");
}

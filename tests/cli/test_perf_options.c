/*
 * perf's options beside those of `weir record`. Both ways: of each option of perf docs/perf-options.md says whether
 * weir has it, and of each option of weir's whether perf has it; what both have takes its argument alike. That file is
 * written by this test, with WEIR_GOLDEN_UPDATE=1 in the environment.
 */
#include "cli/perf_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "cli/option.h"
#include "cli/record_options.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

static const struct weir_option_table *table(void)
{
    return &weir_record_command.options;
}

/* weir's row for an option of perf. */
static const struct weir_option *find_row(const struct weir_perf_option *perf)
{
    bool negated;
    if (!perf->long_name)
        return weir_option_find_short(table(), perf->short_name);
    return weir_option_find(table(), perf->long_name, &negated);
}

static bool is_perfs(const struct weir_option *option)
{
    for (size_t i = 0; i < WEIR_PERF_OPTION_COUNT; i++) {
        if (find_row(&weir_perf_options[i]) == option)
            return true;
    }
    return false;
}

static void format_perf_usage(const struct weir_perf_option *perf, char usage[WEIR_OPTION_TEXT_BYTES])
{
    const char *argument = "";
    if (perf->argument == WEIR_PERF_ARGUMENT_NEEDED)
        argument = " ...";
    else if (perf->argument == WEIR_PERF_ARGUMENT_OPTIONAL)
        argument = "[=...]";
    const char letter[] = {'-', perf->short_name, '\0'};
    snprintf(usage, WEIR_OPTION_TEXT_BYTES, "%s%s%s%s%s", perf->short_name ? letter : "",
             perf->short_name && perf->long_name ? ", " : "", perf->long_name ? "--" : "",
             perf->long_name ? perf->long_name : "", argument);
}

static void parse_refused(const char *line, struct weir_error *err)
{
    struct words words;
    words_split(&words, line);
    struct weir_record_arguments arguments;
    weir_record_arguments_init(&arguments);
    *err = (struct weir_error){0};
    cr_expect_eq(weir_record_options_parse(&arguments, words.argv, NULL, err), -EINVAL, "%s", line);
    weir_record_arguments_fini(&arguments);
}

Test(perf_options, option_that_weir_lacks_is_refused_with_what_to_do_instead)
{
    for (size_t i = 0; i < WEIR_PERF_OPTION_COUNT; i++) {
        const struct weir_perf_option *perf = &weir_perf_options[i];
        if (find_row(perf) || !perf->long_name)
            continue;
        char line[WEIR_OPTION_TEXT_BYTES], what[2 * WEIR_OPTION_TEXT_BYTES];
        struct weir_error err;
        const char *hint = perf->instead ? perf->instead : "'weir record --help' lists the options";
        snprintf(line, sizeof(line), "--%s", perf->long_name);
        parse_refused(line, &err);
        snprintf(what, sizeof(what), "option '%s' of perf record is not in weir", line);
        cr_expect_str_eq(err.what, what);
        cr_expect_str_eq(err.hint, hint);
        if (!perf->short_name)
            continue;
        snprintf(line, sizeof(line), "-%c", perf->short_name);
        parse_refused(line, &err);
        snprintf(what, sizeof(what), "option '%s' (--%s) of perf record is not in weir", line, perf->long_name);
        cr_expect_str_eq(err.what, what);
        cr_expect_str_eq(err.hint, hint);
    }
}

Test(perf_options, negation_of_an_option_that_weir_lacks_is_refused_alike)
{
    struct weir_error err;
    parse_refused("--no-mmap-flush", &err);
    cr_expect_str_eq(err.what, "option '--no-mmap-flush' of perf record is not in weir");
}

Test(perf_options, option_that_both_have_has_the_same_letter_and_argument)
{
    for (size_t i = 0; i < WEIR_PERF_OPTION_COUNT; i++) {
        const struct weir_perf_option *perf = &weir_perf_options[i];
        const struct weir_option *option = find_row(perf);
        if (!option)
            continue;
        char usage[WEIR_OPTION_TEXT_BYTES];
        format_perf_usage(perf, usage);
        if (perf->short_name)
            cr_expect_eq(option->short_name, perf->short_name, "%s: letter", usage);
        enum weir_perf_argument argument = WEIR_PERF_ARGUMENT_NONE;
        if (option->argument)
            argument = option->argument_optional ? WEIR_PERF_ARGUMENT_OPTIONAL : WEIR_PERF_ARGUMENT_NEEDED;
        cr_expect_eq(argument, perf->argument, "%s: argument", usage);
    }
}

static bool begins_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

/* perf's rule (subcmd/parse-options.c): the one option of that version that head abbreviates, also with "no-" before
 * its name, or without the "no-" that it begins with; NULL: none, more than one, or head is a whole name. */
static const struct weir_perf_option *find_abbreviated(const char *head, enum weir_perf_version version, bool *negated)
{
    const struct weir_perf_option *found = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < WEIR_PERF_OPTION_COUNT; i++) {
        const struct weir_perf_option *perf = &weir_perf_options[i];
        if (!perf->long_name || !(perf->versions & version))
            continue;
        const char *positive = begins_with(perf->long_name, "no-") ? perf->long_name + strlen("no-") : perf->long_name;
        bool is_taken_back = begins_with(head, "no-") && begins_with(perf->long_name, head + strlen("no-"));
        if (!begins_with(perf->long_name, head) && !begins_with(positive, head) && !is_taken_back)
            continue;
        if (strcmp(perf->long_name, head) == 0 || strcmp(positive, head) == 0)
            return NULL;
        *negated = !begins_with(perf->long_name, head);
        found = perf;
        count++;
    }
    return count == 1 ? found : NULL;
}

/* head: what weir must take for the option, or refuse by its whole name. */
static void expect_abbreviation(const char *head, const struct weir_perf_option *perf, bool negated)
{
    const struct weir_option *row = find_row(perf);
    char line[WEIR_OPTION_TEXT_BYTES], what[2 * WEIR_OPTION_TEXT_BYTES] = "";
    snprintf(line, sizeof(line), "--%s", head);
    if (!row)
        snprintf(what, sizeof(what), "option '--%s' of perf record is not in weir", perf->long_name);
    else if (row->argument && !row->argument_optional)
        snprintf(what, sizeof(what), "option '--%s' needs an argument: %s", perf->long_name, row->argument);

    struct words words;
    words_split(&words, line);
    struct weir_record_arguments arguments;
    struct weir_settings settings = {0};
    struct weir_error err = {0};
    weir_record_arguments_init(&arguments);
    weir_record_options_parse(&arguments, words.argv, &settings, &err);
    cr_expect_str_eq(err.what, what, "%s", line);
    if (!what[0]) {
        cr_assert_eq(settings.count, 1, "%s: %s", line, err.what);
        cr_expect_eq(settings.items[0].option, row, "%s", line);
        cr_expect_eq(settings.items[0].negated, negated, "%s", line);
    }
    weir_settings_fini(&settings);
    weir_record_arguments_fini(&arguments);
}

/* The number of abbreviations of that version. */
static unsigned expect_abbreviations(enum weir_perf_version version)
{
    unsigned tried = 0;
    for (size_t i = 0; i < WEIR_PERF_OPTION_COUNT; i++) {
        const char *name = weir_perf_options[i].long_name;
        for (size_t length = 1; name && length < strlen(name); length++) {
            char head[WEIR_OPTION_TEXT_BYTES];
            snprintf(head, sizeof(head), "%.*s", (int)length, name);
            bool negated = false;
            const struct weir_perf_option *perf = find_abbreviated(head, version, &negated);
            if (!perf)
                continue;
            expect_abbreviation(head, perf, negated);
            tried++;
        }
    }
    return tried;
}

Test(perf_options, abbreviation_of_perfs_means_what_it_means_there)
{
    cr_expect_gt(expect_abbreviations(WEIR_PERF_6_1), 300);
}

Test(perf_options, newest_options_take_no_abbreviation_away)
{
    struct weir_error err;
    parse_refused("--data-p=x", &err); /* --data-page-size, not --data-mmap */
    cr_expect_str_eq(err.what, "option '--data-page-size' takes no argument, 'x' was given");
    parse_refused("--data-=x", &err);
    cr_expect_str_eq(err.what, "option '--data-page-size' takes no argument, 'x' was given");
    parse_refused("--lat=x", &err);
    cr_expect_str_eq(err.what, "option '--latency' takes no argument, 'x' was given");
}

Test(perf_options, abbreviation_of_perfs_is_not_taken_away_by_an_option_of_weirs)
{
    struct weir_error err;
    parse_refused("--max 1X", &err); /* --max-loss */
    cr_expect(begins_with(err.what, "option '--max-size': "), "%s", err.what);
    parse_refused("--affin", &err);
    cr_expect_str_eq(err.what, "option '--affinity' of perf record is not in weir");
    parse_refused("--max-l", &err);
    cr_expect_str_eq(err.what, "option '--max-loss' needs an argument: PCT");
    parse_refused("--clang", &err);
    cr_expect_str_eq(err.what, "option '--clang' is ambiguous: '--clang-path' or '--clang-opt'");
}

Test(perf_options, letter_of_weirs_own_option_is_not_one_of_perfs)
{
    for (size_t i = 0; weir_option_at(table(), i); i++) {
        const struct weir_option *option = weir_option_at(table(), i);
        for (size_t j = 0; option->short_name && !is_perfs(option) && j < WEIR_PERF_OPTION_COUNT; j++)
            cr_expect_neq(option->short_name, weir_perf_options[j].short_name, "-%c", option->short_name);
    }
}

static void write_perf_options(struct weir_buf *text)
{
    static const struct {
        enum weir_perf_version version;
        const char *name;
    } columns[] = {
        {WEIR_PERF_2_6_38, "2.6.38"}, {WEIR_PERF_4_8, "4.8"}, {WEIR_PERF_6_1, "6.1"},
        {WEIR_PERF_6_12, "6.12"},     {WEIR_PERF_7_1, "7.1"},
    };
    weir_buf_printf(text, "| option of perf |");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(columns); i++)
        weir_buf_printf(text, " %s |", columns[i].name);
    weir_buf_printf(text, " weir |\n|---|---|---|---|---|---|---|\n");
    size_t count = 0;
    for (size_t i = 0; i < WEIR_PERF_OPTION_COUNT; i++) {
        const struct weir_perf_option *perf = &weir_perf_options[i];
        char usage[WEIR_OPTION_TEXT_BYTES];
        format_perf_usage(perf, usage);
        weir_buf_printf(text, "| `%s` |", usage);
        for (size_t j = 0; j < WEIR_ARRAY_COUNT(columns); j++)
            weir_buf_printf(text, " %s |", perf->versions & columns[j].version ? "x" : "");
        weir_buf_append_u8(text, ' ');
        bool has = find_row(perf) != NULL;
        count += has;
        weir_buf_printf(text, "%s |\n", has ? "yes" : perf->instead ? perf->instead : "no");
    }
    weir_buf_printf(text, "\nweir has %zu of %d.\n", count, WEIR_PERF_OPTION_COUNT);
}

static void write_own_options(struct weir_buf *text)
{
    weir_buf_printf(text, "\n## weir's own\n\n| option | what it does |\n|---|---|\n");
    for (size_t i = 0; weir_option_at(table(), i); i++) {
        const struct weir_option *option = weir_option_at(table(), i);
        if (option->kind == WEIR_OPTION_HELP || is_perfs(option))
            continue;
        char usage[WEIR_OPTION_TEXT_BYTES];
        weir_option_format_usage(option, usage);
        weir_buf_printf(text, "| `%s` | ", usage + strspn(usage, " "));
        for (const char *at = option->help; *at; at++)
            weir_buf_printf(text, *at == '|' ? "\\|" : "%c", *at);
        weir_buf_printf(text, " |\n");
    }
}

Test(perf_options, docs_say_of_each_option_who_has_it)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_buf_printf(&text, "# Options of perf record and of weir record\n\n"
                           "Written by `tests/cli/test_perf_options.c` from the two option tables; "
                           "`WEIR_GOLDEN_UPDATE=1 ctest -R cli_perf`\nrenews it. "
                           "weir refuses an option that it lacks, with the hint of the last column.\n"
                           "[compatibility.md](compatibility.md) has the differences in options of both.\n\n");
    write_perf_options(&text);
    write_own_options(&text);
    golden_expect("WEIR_DOCS_DIR", "perf-options.md", &text);
    weir_buf_fini(&text);
}

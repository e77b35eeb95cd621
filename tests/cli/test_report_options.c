/* The options of `weir report`: its recordings and its form. */
#include "cli/report_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define WORDS_MAX 8

static int parse(struct weir_report_arguments *arguments, struct weir_error *err, const char *const words[WORDS_MAX])
{
    char *argv[WORDS_MAX];
    for (size_t i = 0; i < WORDS_MAX; i++)
        argv[i] = (char *)words[i];
    return weir_report_arguments_parse(arguments, argv, err);
}

static void expect_refused(const char *const words[WORDS_MAX], const char *what)
{
    struct weir_report_arguments arguments;
    struct weir_error err = {0};
    cr_expect_eq(parse(&arguments, &err, words), -EINVAL);
    cr_expect_str_eq(err.what, what);
    cr_expect(err.hint[0]);
}

Test(report_options, third_recording_is_refused)
{
    expect_refused((const char *[WORDS_MAX]){"a", "b", "c"}, "unexpected argument 'c'");
    expect_refused((const char *[WORDS_MAX]){"a", "b", "-i", "c"}, "unexpected argument 'c'");
}

Test(report_options, second_form_is_refused)
{
    expect_refused((const char *[WORDS_MAX]){"--folded", "--stdio"}, "option '--folded' cannot be used with '--stdio'");
}

Test(report_options, two_recordings_are_for_forms_that_compare)
{
    expect_refused((const char *[WORDS_MAX]){"a", "--stdio", "b"}, "unexpected argument 'b'");
    struct weir_report_arguments arguments;
    struct weir_error err = {0};
    cr_expect_eq(parse(&arguments, &err, (const char *[WORDS_MAX]){"a", "--json", "b"}), 0);
    cr_expect_eq(arguments.form, WEIR_REPORT_JSON);
    cr_expect_eq(arguments.path_count, 2);
    cr_expect_str_eq(arguments.paths[1], "b");
}

Test(report_options, page_of_perf_data_is_the_default)
{
    struct weir_report_arguments arguments;
    struct weir_error err = {0};
    cr_expect_eq(parse(&arguments, &err, (const char *[WORDS_MAX]){NULL}), 0);
    cr_expect_eq(arguments.form, WEIR_REPORT_HTML);
    cr_expect_eq(arguments.path_count, 1);
    cr_expect_str_eq(arguments.paths[0], "perf.data");
    cr_expect_null(arguments.output_path);
}

Test(report_options, options_stand_between_recordings)
{
    struct weir_report_arguments arguments;
    struct weir_error err = {0};
    cr_expect_eq(parse(&arguments, &err, (const char *[WORDS_MAX]){"a", "-o", "-", "b", "--threads", "3"}), 0);
    cr_expect_eq(arguments.path_count, 2);
    cr_expect_str_eq(arguments.output_path, "-");
    cr_expect_eq(arguments.threads, 3);
}

/* The lines and the JSON of `weir doctor`, and its arguments. */
#include "cli/doctor_report.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"
#include "cli/doctor_options.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

static const struct weir_finding findings[] = {
    {.name = "events", .goal = "own commands", .verdict = WEIR_VERDICT_OK, .state = "perf_event_open(2) works"},
    {.name = "all-cpus",
     .goal = "all processes (-a, -C)",
     .verdict = WEIR_VERDICT_LIMITED,
     .state = "kernel.perf_event_paranoid is 2",
     .fix = "sudo sysctl kernel.perf_event_paranoid=0"},
    {.name = "space", .verdict = WEIR_VERDICT_NOTE, .state = "5 MiB are free in \"/data\""},
};

static int parse(struct weir_doctor_arguments *arguments, const char *line)
{
    static struct words words;
    struct weir_error err = {0};
    words_split(&words, line);
    return weir_doctor_arguments_parse(arguments, words.argv, &err);
}

Test(doctor_report, more_than_one_folder_is_refused)
{
    struct weir_doctor_arguments arguments;
    cr_expect_eq(parse(&arguments, "a b"), -EINVAL);
    cr_expect_eq(parse(&arguments, "--jsno"), -EINVAL);
}

Test(doctor_report, folder_stands_before_or_behind_options)
{
    struct weir_doctor_arguments arguments;
    cr_expect_eq(parse(&arguments, ""), 0);
    cr_expect_str_eq(arguments.folder, ".");
    cr_expect_not(arguments.json);
    cr_expect_eq(parse(&arguments, "/data --json"), 0);
    cr_expect_str_eq(arguments.folder, "/data");
    cr_expect(arguments.json);
    cr_expect_eq(parse(&arguments, "-a /data"), 0);
    cr_expect(arguments.all);
}

Test(doctor_report, worst_verdict_decides)
{
    cr_expect_eq(weir_doctor_worst(findings, 1), WEIR_VERDICT_OK);
    cr_expect_eq(weir_doctor_worst(findings, 3), WEIR_VERDICT_LIMITED);
    cr_expect_eq(weir_doctor_worst(findings, 0), WEIR_VERDICT_OK);
}

/* A path of the user's. */
Test(doctor_report, what_is_quoted_stays_on_its_line_and_valid_json)
{
    const struct weir_finding finding = {
        .name = "space", .verdict = WEIR_VERDICT_NOTE, .state = "a\n\033[31m: full", .fix = "rm a\xff\n"};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_doctor_report_lines(&text, &finding, 1, true);
    cr_expect_str_eq(weir_buf_str(&text), "note     space         a??[31m: full\n"
                                          "                       fix: rm a\xff?\n");
    weir_buf_reset(&text);
    weir_doctor_report_json(&text, &finding, 1);
    cr_expect_not_null(
        strstr(weir_buf_str(&text), "\"a\\u000a\\u001b[31m: full\",\"goal\":null,\"fix\":\"rm a\\ufffd\\u000a\""), "%s",
        weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(doctor_report, lines_and_json)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_doctor_report_lines(&text, findings, 3, false);
    weir_buf_printf(&text, "----\n");
    weir_doctor_report_lines(&text, findings, 3, true);
    weir_buf_printf(&text, "----\n");
    weir_doctor_report_lines(&text, findings, 1, false);
    weir_buf_printf(&text, "----\n");
    weir_doctor_report_json(&text, findings, 3);
    golden_expect(GOLDEN_TEXTS, "doctor.txt", &text);
    weir_buf_fini(&text);
}

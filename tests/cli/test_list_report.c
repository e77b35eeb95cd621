/* The lines and the JSON of `weir list`, and its arguments. */
#include "cli/list_report.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/list_options.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

static const struct weir_catalog_entry entries[] = {
    {.section = WEIR_CATALOG_HARDWARE, .name = "cycles", .other = "cpu-cycles", .scale = 1},
    {.section = WEIR_CATALOG_SOFTWARE, .name = "cpu-clock", .scale = 1},
    {.section = WEIR_CATALOG_CACHE, .name = "LLC-loads", .scale = 1},
    {.section = WEIR_CATALOG_PMU,
     .name = "mem-loads",
     .other = "cpu/mem-loads/",
     .pmu = "cpu",
     .terms = "event=0xcd,umask=0x1",
     .scale = 1},
    {.section = WEIR_CATALOG_PMU,
     .name = "power/energy-pkg/",
     .pmu = "power",
     .terms = "event=0x02",
     .unit = "Joules",
     .scale = 0.25},
    {.section = WEIR_CATALOG_RAW, .name = "rNNN", .scale = 1, .is_form = true},
    {.section = WEIR_CATALOG_BREAKPOINT, .name = "mem:<addr>[/len][:access]", .scale = 1, .is_form = true},
    {.section = WEIR_CATALOG_TRACEPOINT, .name = "sched:sched_switch", .scale = 1},
    {.section = WEIR_CATALOG_TRACEPOINT, .name = "mine:\"probe\\", .dynamic = "kprobe", .scale = 1},
};

static void report_all(struct weir_buf *text, bool json, bool details, size_t count)
{
    struct weir_list_report report = {.text = text, .json = json, .details = details};
    for (size_t i = 0; i < count; i++)
        weir_list_report_add(&report, &entries[i]);
    weir_list_report_end(&report);
    cr_expect_eq(report.count, count);
}

Test(list_report, empty_list_is_an_empty_array)
{
    struct weir_buf text = WEIR_BUF_INIT;
    report_all(&text, true, false, 0);
    cr_expect_str_eq(weir_buf_str(&text), "[]\n");
    weir_buf_reset(&text);
    report_all(&text, false, true, 0);
    cr_expect_str_eq(weir_buf_str(&text), "");
    weir_buf_fini(&text);
}

Test(list_report, lines_are_those_of_perf_list)
{
    struct weir_buf text = WEIR_BUF_INIT;
    report_all(&text, false, false, WEIR_ARRAY_COUNT(entries));
    golden_expect(GOLDEN_TEXTS, "list.txt", &text);
    weir_buf_reset(&text);
    report_all(&text, false, true, WEIR_ARRAY_COUNT(entries));
    golden_expect(GOLDEN_TEXTS, "list_details.txt", &text);
    weir_buf_fini(&text);
}

Test(list_report, json_has_an_object_for_each_event)
{
    struct weir_buf text = WEIR_BUF_INIT;
    report_all(&text, true, false, WEIR_ARRAY_COUNT(entries));
    golden_expect(GOLDEN_TEXTS, "list.json", &text);
    weir_buf_fini(&text);
}

Test(list_report, names_stand_alone_and_forms_are_none)
{
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_list_report report = {.text = &text, .names = true};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(entries); i++)
        weir_list_report_add(&report, &entries[i]);
    weir_list_report_end(&report);
    golden_expect(GOLDEN_TEXTS, "list_names.txt", &text);
    weir_buf_fini(&text);
}

Test(list_report, words_behind_the_options_are_sections_and_patterns)
{
    struct words words;
    struct weir_error err = {0};
    struct weir_list_arguments arguments = {0};
    words_split(&words, "--bogus");
    cr_expect_eq(weir_list_arguments_parse(&arguments, words.argv, &err), -EINVAL);
    words_split(&words, "--json --details --raw-dump hw sched:*");
    cr_assert_eq(weir_list_arguments_parse(&arguments, words.argv, &err), 0, "%s", err.what);
    cr_expect(arguments.json && arguments.details && arguments.raw_dump);
    cr_expect_str_eq(arguments.words[0], "hw");
    cr_expect_str_eq(arguments.words[1], "sched:*");
    cr_expect_null(arguments.words[2]);
}

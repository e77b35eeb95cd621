/* -e, --filter and --group of `weir record`: which texts belong together, and what becomes of them. */
#include "cli/event_options.h"
#include "cli/record_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "tests/cli/words.h"

/* Parses a line that must be right. */
static void parse(struct weir_record_arguments *arguments, struct words *words, const char *line)
{
    struct weir_error err = {0};
    weir_record_arguments_init(arguments);
    words_split(words, line);
    cr_assert_eq(weir_record_options_parse(arguments, words->argv, NULL, &err), 0, "%s: %s", line, err.what);
}

Test(event_options, filter_without_text_or_event_before_it_is_refused)
{
    static const struct {
        const char *line, *what, *hint;
    } rows[] = {
        {"--filter a", "option '--filter' must follow a -e tracepoint", "-e SYSTEM:NAME --filter 'a'"},
        {"--filter a -e cs", "option '--filter' must follow a -e tracepoint", "-e SYSTEM:NAME --filter 'a'"},
        {"-e cs --filter=", "option '--filter': the argument is empty",
         "a filter is an expression over the fields of the event: -e SYSTEM:NAME --filter 'FIELD > 1'"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct words words;
        struct weir_record_arguments arguments;
        struct weir_error err = {0};
        weir_record_arguments_init(&arguments);
        cr_expect_eq(weir_record_options_parse(&arguments, (words_split(&words, rows[i].line), words.argv), NULL, &err),
                     -EINVAL);
        cr_expect_str_eq(err.what, rows[i].what, "%s: %s", rows[i].line, err.what);
        cr_expect_str_eq(err.hint, rows[i].hint, "%s: %s", rows[i].line, err.hint);
        weir_record_arguments_fini(&arguments);
    }
}

Test(event_options, wrong_filter_of_an_event_names_both)
{
    struct words words;
    struct weir_record_arguments arguments;
    parse(&arguments, &words, "-e faults -e cs,dummy --filter a>1");
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    cr_expect_eq(weir_event_options_collect(&arguments, &events, &err), -EINVAL);
    cr_expect_str_eq(err.what, "event cs: sample filter 'a>1': unknown term 'a'");
    weir_event_list_fini(&events);
    weir_record_arguments_fini(&arguments);
}

Test(event_options, unknown_event_always_has_a_hint)
{
    struct words words;
    struct weir_record_arguments arguments;
    parse(&arguments, &words, "-e cs:");
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    cr_expect_eq(weir_event_options_collect(&arguments, &events, &err), -EINVAL);
    cr_expect_str_eq(err.hint, "'weir list' shows the events of this machine; perf-list(1) describes their modifiers");
    weir_event_list_fini(&events);
    weir_record_arguments_fini(&arguments);
}

Test(event_options, filters_belong_to_the_event_before_them)
{
    struct words words;
    struct weir_record_arguments arguments;
    parse(&arguments, &words, "-e a:b --filter x -e cs -e c:d --filter y --filter z");
    cr_assert_eq(arguments.filter_count, 3);
    cr_expect_str_eq(arguments.filters[0].text, "x");
    cr_expect_eq(arguments.filters[0].event_index, 0);
    cr_expect_str_eq(arguments.filters[1].text, "y");
    cr_expect_eq(arguments.filters[1].event_index, 2);
    cr_expect_eq(arguments.filters[2].event_index, 2);
    weir_record_arguments_fini(&arguments);
}

Test(event_options, group_is_of_all_events)
{
    struct words words;
    struct weir_record_arguments arguments;
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    parse(&arguments, &words, "--group -e cs -e faults,dummy");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, NULL), 0);
    cr_assert_eq(events.count, 3);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(events.events[i].leader, 0);
    weir_event_list_fini(&events);
    weir_record_arguments_fini(&arguments);
}

Test(event_options, without_an_event_there_is_perfs_default)
{
    struct words words;
    struct weir_record_arguments arguments;
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    parse(&arguments, &words, "-a");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, NULL), 0);
    cr_expect_not_null(strstr(events.events[0].name, "cycles:P"));
    weir_event_list_fini(&events);
    weir_record_arguments_fini(&arguments);
}

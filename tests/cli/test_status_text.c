/* The texts of status lines, and --status. */
#include "cli/status_text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/record_status.h"

Test(status_text, choice_that_is_none_is_refused)
{
    static const char *const texts[] = {"", "sometimes", "json:", "json:x", "json:-1", "json:2147483648", "jsonx"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct weir_status_choice choice = {.kind = WEIR_STATUS_NEVER};
        struct weir_error err;
        cr_expect_eq(weir_status_choice_parse(&choice, texts[i], &err), -EINVAL, "'%s'", texts[i]);
        cr_expect_eq(choice.kind, WEIR_STATUS_NEVER);
    }
}

Test(status_text, choices_are_understood)
{
    static const struct {
        const char *text;
        struct weir_status_choice choice;
    } cases[] = {
        {"never", {WEIR_STATUS_NEVER, 2}}, {"auto", {WEIR_STATUS_AUTO, 2}},   {"always", {WEIR_STATUS_ALWAYS, 2}},
        {"json", {WEIR_STATUS_JSON, 2}},   {"json:7", {WEIR_STATUS_JSON, 7}},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_status_choice choice = {0};
        cr_assert_eq(weir_status_choice_parse(&choice, cases[i].text, NULL), 0);
        cr_expect_eq(choice.kind, cases[i].choice.kind, "'%s'", cases[i].text);
        cr_expect_eq(choice.json_fd, cases[i].choice.json_fd, "'%s'", cases[i].text);
    }
}

Test(status_text, numbers_have_four_digits)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0, "0"},           {9999, "9999"},     {9999.6, "10.0k"}, {12345, "12.3k"},   {999949, "1000k"},
                 {9999499, "9999k"}, {9999501, "10.0M"}, {1.5e19, "15.0E"}, {1.8e23, "180000E"}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        char text[16];
        cr_expect_str_eq(weir_status_text_number(text, cases[i].number), cases[i].text);
    }
}

Test(status_text, durations)
{
    char text[16];
    cr_expect_str_eq(weir_status_text_duration(text, 0), "0:00");
    cr_expect_str_eq(weir_status_text_duration(text, 61 * WEIR_NS_PER_S + 999), "1:01");
    cr_expect_str_eq(weir_status_text_duration(text, 3723 * WEIR_NS_PER_S), "1:02:03");
    cr_expect_str_eq(weir_status_text_duration(text, UINT64_MAX), "1193046:28:15");
}

static const struct weir_record_figures before = {
    .state = "enabled", .elapsed_ns = 2 * WEIR_NS_PER_S, .samples = 1000, .bytes = 1000000};
static const struct weir_record_figures now = {.state = "enabled",
                                               .elapsed_ns = 7 * WEIR_NS_PER_S,
                                               .samples = 51000,
                                               .bytes = 11000000,
                                               .lost = 30,
                                               .shed = 4,
                                               .files = 3,
                                               .fill_per_mille = 123,
                                               .pool_per_mille = 45};

Test(status_text, rates_are_those_since_the_figures_before)
{
    char text[WEIR_STATUS_TEXT_BYTES];
    weir_status_text_recording(text, &now, &before, 100, false);
    cr_expect_str_eq(text, "weir: 0:07  10.0k/s  2.0 MB/s  11 MB  ring 12 %  pool 4 %  lost 34  files 3");
    weir_status_text_recording(text, &now, &now, 100, false);
    cr_expect_str_eq(text, "weir: 0:07  0/s  0.0 MB/s  11 MB  ring 12 %  pool 4 %  lost 34  files 3");
}

Test(status_text, few_columns_keep_what_matters)
{
    static const struct {
        unsigned columns;
        const char *text;
    } cases[] = {
        {78, "weir: 0:07  10.0k/s  2.0 MB/s  11 MB  ring 12 %  pool 4 %  lost 34  files 3"},
        {70, "weir: 0:07  10.0k/s  2.0 MB/s  11 MB  ring 12 %  pool 4 %  lost 34"},
        {39, "weir: 0:07  10.0k/s  2.0 MB/s  lost 34"},
        {20, "weir: 0:07  lost 34"},
        {18, "weir: 0:07"},
        {5, "weir:"},
        {0, ""},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        char text[WEIR_STATUS_TEXT_BYTES];
        weir_status_text_recording(text, &now, &before, cases[i].columns, false);
        cr_expect_str_eq(text, cases[i].text);
    }
}

Test(status_text, losses_are_red_and_other_states_are_named)
{
    char text[WEIR_STATUS_TEXT_BYTES];
    struct weir_record_figures figures = now;
    figures.state = "suspended";
    weir_status_text_recording(text, &figures, &before, 40, true);
    cr_expect_str_eq(text, "weir: 0:07  suspended  10.0k/s  \033[1;31mlost 34\033[m");
    figures.lost = figures.shed = 0;
    weir_status_text_recording(text, &figures, &before, 30, true);
    cr_expect_str_eq(text, "weir: 0:07  suspended  lost 0");
}

Test(status_text, steps_of_the_end)
{
    char text[WEIR_STATUS_TEXT_BYTES];
    for (int step = WEIR_ENDING_DRAIN; step <= WEIR_ENDING_COMMAND; step++) {
        weir_status_text_ending(text, (enum weir_ending_step)step, 65 * WEIR_NS_PER_S, 79);
        cr_expect_eq(strncmp(text, "weir: finishing: ", 17), 0);
        cr_expect_gt(strlen(text), 17 + 6);
        cr_expect_str_eq(text + strlen(text) - 4, "1:05");
    }
}

Test(status_text, progress)
{
    char text[WEIR_STATUS_TEXT_BYTES];
    weir_status_text_progress(text, "weir verify", 123400000, 300000000, 3 * WEIR_NS_PER_S, 79);
    cr_expect_str_eq(text, "weir verify: 0:03  41 %  123 of 300 MB");
    weir_status_text_progress(text, "weir verify", 123400000, 300000000, 3 * WEIR_NS_PER_S, 25);
    cr_expect_str_eq(text, "weir verify: 0:03  41 %");
    weir_status_text_progress(text, "weir dump", 123400000, 0, 3 * WEIR_NS_PER_S, 79);
    cr_expect_str_eq(text, "weir dump: 0:03  123 MB");
}

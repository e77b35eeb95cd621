/* Notices reach their sink once, whole, with level and context; without a sink they are dropped. */
#include "base/notice.h"

#include <criterion/criterion.h>
#include <string.h>

#define NOTICE_LENGTH_MAX 1023 /* base/notice.h */

struct heard {
    unsigned count;
    enum weir_notice_level level;
    char line[4096];
};

static void hear(void *ctx, enum weir_notice_level level, const char *line)
{
    struct heard *heard = ctx;
    heard->count++;
    heard->level = level;
    strncpy(heard->line, line, sizeof(heard->line) - 1);
}

Test(notice, without_a_sink_the_line_is_dropped)
{
    const struct weir_notice_sink silent = {0};
    weir_notice(NULL, WEIR_NOTICE_WARNING, "%s", "dropped");
    weir_notice(&silent, WEIR_NOTICE_WARNING, "%s", "dropped");
}

Test(notice, long_line_is_cut_and_terminated)
{
    char text[2048];
    memset(text, 'n', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct heard heard = {0};
    const struct weir_notice_sink sink = {.emit = hear, .ctx = &heard};
    weir_notice(&sink, WEIR_NOTICE_DEBUG, "%s", text);
    cr_assert_eq(heard.count, 1);
    cr_assert_eq(strlen(heard.line), NOTICE_LENGTH_MAX);
}

Test(notice, control_characters_of_a_quoted_name_do_not_reach_the_sink)
{
    struct heard heard = {0};
    const struct weir_notice_sink sink = {.emit = hear, .ctx = &heard};
    weir_notice(&sink, WEIR_NOTICE_WARNING, "cannot read %s", "a\nb\x1b[2J");
    cr_assert_eq(heard.count, 1);
    cr_assert_str_eq(heard.line, "cannot read a?b?[2J");
}

Test(notice, sink_gets_level_and_formatted_line)
{
    struct heard heard = {0};
    const struct weir_notice_sink sink = {.emit = hear, .ctx = &heard};
    weir_notice(&sink, WEIR_NOTICE_VERBOSE, "cpu %d: ring of %u pages", 3, 128u);
    cr_assert_eq(heard.count, 1);
    cr_assert_eq(heard.level, WEIR_NOTICE_VERBOSE);
    cr_assert_str_eq(heard.line, "cpu 3: ring of 128 pages");
}

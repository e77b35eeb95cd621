/* Notices reach their sink once, whole, with level and context; without a sink they are dropped. */
#include "base/notice.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/engine/fake_clock.h"

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

/* ---- the limiter ---- */

struct limited {
    struct fake_clock fake;
    struct weir_clock clock;
    struct heard heard;
    struct weir_notice_sink sink;
};

static void limited_init(struct limited *limited)
{
    memset(limited, 0, sizeof(*limited));
    limited->clock = fake_clock_interface(&limited->fake);
    limited->sink = (struct weir_notice_sink){
        .emit = hear, .ctx = &limited->heard, .limiter = weir_notice_limiter_new(&limited->clock)};
    cr_assert_not_null(limited->sink.limiter);
}

static void limited_start(struct limited *limited)
{
    limited_init(limited);
    weir_notice_limiter_start(limited->sink.limiter);
}

static void reject_client(struct limited *limited, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        weir_notice(&limited->sink, WEIR_NOTICE_VERBOSE, "client %u is rejected", i);
}

Test(notice, limiter_passes_each_line_until_it_is_started)
{
    struct limited limited;
    limited_init(&limited);
    reject_client(&limited, 100);
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
    cr_assert_eq(limited.heard.count, 100);
}

Test(notice, limiter_leaves_out_lines_and_the_next_window_tells_how_many)
{
    struct limited limited;
    limited_start(&limited);
    reject_client(&limited, 43000);
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_BURST);
    limited.fake.now_ns += WEIR_NOTICE_WINDOW_NS - 1;
    reject_client(&limited, 1);
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_BURST);
    limited.fake.now_ns += 1;
    reject_client(&limited, 1);
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_BURST + 2);
    cr_assert_str_eq(limited.heard.line, "client 0 is rejected");
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_BURST + 2); /* nothing is left to tell */
}

Test(notice, limiter_tells_at_its_end_how_many_lines_it_left_out)
{
    struct limited limited;
    limited_start(&limited);
    reject_client(&limited, WEIR_NOTICE_BURST + 3);
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_BURST + 1);
    cr_assert_eq(limited.heard.level, WEIR_NOTICE_VERBOSE);
    cr_assert_str_eq(limited.heard.line, "left out 3 more lines like: client 10 is rejected");
}

Test(notice, limiter_counts_each_format_and_each_level_for_itself)
{
    struct limited limited;
    limited_start(&limited);
    reject_client(&limited, 100);
    weir_notice(&limited.sink, WEIR_NOTICE_WARNING, "client %u is rejected", 7u);
    weir_notice(&limited.sink, WEIR_NOTICE_VERBOSE, "CPU %d went offline", 3);
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_BURST + 2);
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
}

Test(notice, limiter_counts_kinds_beyond_its_table_as_one)
{
    static char formats[2 * WEIR_NOTICE_KINDS][16];
    struct limited limited;
    limited_start(&limited);
    for (unsigned i = 0; i < 2 * WEIR_NOTICE_KINDS; i++) {
        snprintf(formats[i], sizeof(formats[i]), "kind %u", i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
        weir_notice(&limited.sink, WEIR_NOTICE_INFO, formats[i]);
#pragma GCC diagnostic pop
    }
    cr_assert_eq(limited.heard.count, WEIR_NOTICE_KINDS - 1 + WEIR_NOTICE_BURST);
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
    cr_assert_str_eq(limited.heard.line, "left out 25 more lines like: kind 63");
}

Test(notice, limiter_passes_each_line_that_names_a_product)
{
    struct limited limited;
    limited_start(&limited);
    for (int i = 0; i < 100; i++)
        weir_notice_product(&limited.sink, WEIR_NOTICE_INFO, "file %d", i);
    cr_assert_eq(limited.heard.count, 100);
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
}

Test(notice, text_of_several_lines_counts_as_one)
{
    struct limited limited;
    limited_start(&limited);
    for (int i = 0; i < 100; i++)
        weir_notice_text(&limited.sink, WEIR_NOTICE_INFO, "a\n\x1b[2J\nlast");
    cr_assert_eq(limited.heard.count, 3 * WEIR_NOTICE_BURST);
    cr_assert_str_eq(limited.heard.line, "last");
    weir_notice_limiter_free(limited.sink.limiter, &limited.sink);
    cr_assert_str_eq(limited.heard.line, "left out 92 more lines like: a");
}

Test(notice, text_without_a_sink_is_dropped)
{
    const struct weir_notice_sink silent = {0};
    weir_notice_text(NULL, WEIR_NOTICE_WARNING, "dropped");
    weir_notice_text(&silent, WEIR_NOTICE_WARNING, "dropped");
    weir_notice_product(NULL, WEIR_NOTICE_WARNING, "dropped");
}

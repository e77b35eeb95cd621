/* What quiet and verbosity let through, and how a line looks. */
#include "cli/print.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_BYTES 4096
#define LINE_BYTES (sizeof("weir: ") - 1 + 200 + 1)

/* What a print of this verbosity makes of one notice of each level; to be freed. */
static char *print_all_levels(unsigned verbosity, bool quiet)
{
    char *text = NULL;
    size_t bytes;
    struct weir_print print = {.stream = open_memstream(&text, &bytes), .verbosity = verbosity, .quiet = quiet};
    cr_assert_not_null(print.stream);
    const struct weir_notice_sink sink = weir_print_sink(&print);
    weir_notice(&sink, WEIR_NOTICE_WARNING, "%d", 1);
    weir_notice(&sink, WEIR_NOTICE_INFO, "%d", 2);
    weir_notice(&sink, WEIR_NOTICE_VERBOSE, "%d", 3);
    weir_notice(&sink, WEIR_NOTICE_DEBUG, "%d", 4);
    weir_print_lines(&print, "[ line ]\n");
    fclose(print.stream);
    return text;
}

static void expect_levels(unsigned verbosity, bool quiet, const char *expected)
{
    char *text = print_all_levels(verbosity, quiet);
    cr_expect_str_eq(text, expected);
    free(text);
}

Test(print, quiet_says_nothing_also_with_verbose)
{
    expect_levels(0, true, "");
    expect_levels(2, true, "");
}

Test(print, verbosity_adds_levels)
{
    expect_levels(0, false, "weir: warning: 1\nweir: 2\n[ line ]\n");
    expect_levels(1, false, "weir: warning: 1\nweir: 2\nweir: 3\n[ line ]\n");
    expect_levels(2, false, "weir: warning: 1\nweir: 2\nweir: 3\nweir: debug: 4\n[ line ]\n");
    expect_levels(3, false, "weir: warning: 1\nweir: 2\nweir: 3\nweir: debug: 4\n[ line ]\n");
}

/* Into a pipe that nobody reads meanwhile: as far as it goes, and then no further. */
Test(print, notices_that_nobody_reads_are_counted_and_told_later, .timeout = 30)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_gt(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), 0);
    struct weir_print print = {.stream = fdopen(ends[1], "w")};
    setvbuf(print.stream, NULL, _IONBF, 0); /* as stderr */
    const struct weir_notice_sink sink = weir_print_sink(&print);
    unsigned given = 0;
    while (print.left_out < 3 && given < PIPE_BYTES) {
        weir_notice(&sink, WEIR_NOTICE_INFO, "%0200u", ++given);
    }
    cr_expect_eq(print.left_out, 3);
    char text[2 * PIPE_BYTES];
    ssize_t bytes = read(ends[0], text, sizeof(text));
    cr_expect_eq(bytes, (ssize_t)((given - 3) * LINE_BYTES), "%zd bytes", bytes);
    weir_print_lines(&print, "[ line ]\n");
    bytes = read(ends[0], text, sizeof(text) - 1);
    cr_assert_gt(bytes, 0);
    text[bytes] = '\0';
    cr_expect_eq(strncmp(text, "weir: warning: 3 messages are missing here", 42), 0, "%s", text);
    fclose(print.stream);
    close(ends[0]);
}

Test(print, error_is_shown_also_when_quiet_with_its_hint_if_any)
{
    char *text = NULL;
    size_t bytes;
    struct weir_print print = {.stream = open_memstream(&text, &bytes), .quiet = true};
    cr_assert_not_null(print.stream);
    struct weir_error err;
    weir_error_set(&err, -EPERM, "100%%n");
    weir_print_error(&print, &err);
    weir_error_hint(&err, "do this");
    weir_print_error(&print, &err);
    fclose(print.stream);
    cr_expect_str_eq(text, "weir: 100%n\nweir: 100%n\nhint: do this\n");
    free(text);
}

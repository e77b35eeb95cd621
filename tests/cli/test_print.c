/* What quiet and verbosity let through, and how a line looks. */
#include "cli/print.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

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

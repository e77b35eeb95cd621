/* Errors: what a line holds, what it loses when it is too long, and that a wrapped error stays intact. */
#include "base/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define LINE_LENGTH_MAX (WEIR_ERROR_TEXT_BYTES - 1)

static void fill(char *text, size_t bytes)
{
    memset(text, 'p', bytes - 1);
    text[bytes - 1] = '\0';
}

Test(error, without_a_place_for_it_only_the_code_is_passed_on)
{
    cr_expect_eq(weir_error_set(NULL, -ENOENT, "no %s", "place"), -ENOENT);
    cr_expect_eq(weir_error_set_errno(NULL, -EPERM, "no %s", "place"), -EPERM);
    weir_error_hint(NULL, "no %s", "place");
}

Test(error, line_is_cut_and_terminated)
{
    char text[2 * WEIR_ERROR_TEXT_BYTES];
    fill(text, sizeof(text));
    struct weir_error err = {0};
    weir_error_set(&err, -EINVAL, "%s", text);
    weir_error_hint(&err, "%s", text);
    cr_expect_eq(strlen(err.what), LINE_LENGTH_MAX);
    cr_expect_eq(strlen(err.hint), LINE_LENGTH_MAX);
}

Test(error, long_object_does_not_push_out_the_reason)
{
    char path[2 * WEIR_ERROR_TEXT_BYTES];
    fill(path, sizeof(path));
    struct weir_error err = {0};
    weir_error_set_errno(&err, -ENOENT, "cannot open %s", path);

    static const char reason[] = ": No such file or directory";
    cr_expect_eq(strlen(err.what), LINE_LENGTH_MAX);
    cr_expect_str_eq(err.what + LINE_LENGTH_MAX - strlen(reason), reason);
    cr_expect_eq(strncmp(err.what, "cannot open ppp", strlen("cannot open ppp")), 0);
}

Test(error, control_characters_of_a_quoted_name_do_not_reach_the_terminal)
{
    struct weir_error err = {0};
    weir_error_set(&err, -EINVAL, "unknown option '%s'", "--a\nweir: b\x1b[1m");
    weir_error_hint(&err, "did you mean '%s'?", "\tc");
    cr_expect_str_eq(err.what, "unknown option '--a?weir: b?[1m'");
    cr_expect_str_eq(err.hint, "did you mean '?c'?");
    weir_error_set_errno(&err, -ENOENT, "cannot open %s", "a\rb");
    cr_expect_str_eq(err.what, "cannot open a?b: No such file or directory");
}

Test(error, error_number_without_a_name_is_still_told)
{
    struct weir_error err = {0};
    cr_expect_eq(weir_error_set_errno(&err, -4095, "cannot map ring"), -4095);
    cr_expect_str_eq(err.what, "cannot map ring: Unknown error 4095");
}

Test(error, sets_code_and_line)
{
    struct weir_error err = {0};
    cr_expect_eq(weir_error_set(&err, -EINVAL, "bad size '%s'", "12Q"), -EINVAL);
    cr_expect_eq(err.code, -EINVAL);
    cr_expect_str_eq(err.what, "bad size '12Q'");
    cr_expect_str_eq(err.hint, "");
}

Test(error, appends_the_reason_of_a_failed_call)
{
    struct weir_error err = {0};
    cr_expect_eq(weir_error_set_errno(&err, -EPERM, "cannot map ring for cpu %d (%u pages)", 12, 512u), -EPERM);
    cr_expect_eq(err.code, -EPERM);
    cr_expect_str_eq(err.what, "cannot map ring for cpu 12 (512 pages): Operation not permitted");
}

Test(error, new_error_clears_the_hint_of_the_one_before)
{
    struct weir_error err = {0};
    weir_error_set(&err, -EPERM, "first");
    weir_error_hint(&err, "try %d", 1);
    weir_error_hint(&err, "try %d", 2);
    cr_expect_str_eq(err.hint, "try 2");
    weir_error_set(&err, -EINVAL, "second");
    cr_expect_str_eq(err.hint, "");
}

Test(error, error_may_wrap_its_own_line_and_hint)
{
    struct weir_error err = {0};
    weir_error_set(&err, -EINVAL, "unknown term 'perod'");
    weir_error_hint(&err, "did you mean 'period'?");
    weir_error_hint(&err, "%s See --help.", err.hint);
    cr_expect_str_eq(err.hint, "did you mean 'period'? See --help.");
    weir_error_set(&err, err.code, "event 'cpu/perod=1/': %s (%s)", err.what, err.hint);
    cr_expect_str_eq(err.what, "event 'cpu/perod=1/': unknown term 'perod' (did you mean 'period'? See --help.)");
    cr_expect_str_eq(err.hint, "");
}

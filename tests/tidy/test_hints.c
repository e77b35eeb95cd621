/*
 * The rule of hints: what counts as one, which text of it is looked for, and what counts as a test of it.
 */
#include "tests/tidy/hints.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/bits.h"

struct found {
    unsigned count, line;
    char message[256];
};

static void collect(void *ctx, const struct finding *finding)
{
    struct found *found = ctx;
    found->count++;
    found->line = finding->line;
    snprintf(found->message, sizeof(found->message), "%s", finding->message);
    cr_expect_str_eq(finding->rule, "hint-without-test");
}

/* What is found of a source and one test. */
static struct found check(const char *path, const char *text, const char *test_path, const char *test)
{
    struct found found = {0};
    struct hints hints = HINTS_INIT;
    struct source source;
    cr_assert_eq(source_init(&source, path, text), 0);
    cr_assert_eq(hints_collect(&hints, &source), 0);
    source_fini(&source);
    cr_assert_eq(hints_add_test(&hints, test_path, test), 0);
    cr_assert_eq(hints_check(&hints, &(struct finding_sink){.report = collect, .ctx = &found}), 0);
    hints_fini(&hints);
    return found;
}

static const struct {
    const char *text;
    const char *piece; /* what is told */
    unsigned line;
} bad[] = {
    {"weir_error_hint(err, \"do this\");", "do this", 1},
    {"\n\nweir_error_hint(err,\n  \"do \"\n  \"that\");", "do that", 4},
    {"weir_error_hint(err, \"%s: %\" PRIu64 \" of them, or %d\", a, b, c);", " of them, or ", 1},
    {"weir_error_hint(err, a ? \"here it is\" : \"it is known\");", "here it is", 1},
    {"static int fail(int a, const char *hint)\n{\n}\nint b = fail(1, \"do this\");", "do this", 4},
    {"static const char *const hints[] = {\n[0] = \"do this\"};", "do this", 2},
    {"#define HINT_EVENTS \\\n  \"do this\"\nint b;", "do this", 2},
    {"weir_error_hint(err, \"say \\\"now\\\"\");", "say \"now\"", 1},
};

Test(tidy_hints, hint_that_no_test_names_is_found)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bad); i++) {
        struct found found = check("engine/a.c", bad[i].text, "tests/a.c", "\"it is known\"");
        char message[128];
        snprintf(message, sizeof(message), "no test names this hint: \"%s\"", bad[i].piece);
        cr_expect_eq(found.count, 1, "%s: %u", bad[i].text, found.count);
        cr_expect_eq(found.line, bad[i].line, "%s: line %u", bad[i].text, found.line);
        cr_expect_str_eq(found.message, message, "%s", found.message);
    }
}

static const char *const no_hints[] = {
    "weir_error_hint(err, \"%s\", hint);",
    "weir_error_set(err, \"it is broken\");",
    "/* weir_error_hint(err, \"do this\"); */",
    "if (err->hint[0] == 'a') puts(\"do this\");",
    "static int fail(int a, const char *what)\n{\n}\nint b = fail(1, \"do this\");",
};

Test(tidy_hints, what_is_no_hint_needs_no_test)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(no_hints); i++)
        cr_expect_eq(check("engine/a.c", no_hints[i], "tests/a.c", "").count, 0, "%s", no_hints[i]);
    cr_expect_eq(check("perf-tests/a.c", bad[0].text, "tests/a.c", "").count, 0, "of no layer");
}

Test(tidy_hints, test_may_name_it_in_pieces_and_in_a_shell)
{
    static const char hint[] = "weir_error_hint(err, \"say \\\"now\\\", don't wait\");";
    static const char *const tests[] = {
        "expect(err, \"say \\\"now\\\", don't wait\");",
        "expect(err,\n  \"say \\\"now\\\", \"\n  \"don't wait\");",
        "expect_line err 'hint: say \"now\", don'\\''t wait'",
        "hint: say \"now\", don't wait",
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(tests); i++) {
        cr_expect_eq(check("cli/a.c", hint, "tests/a.c", tests[i]).count, 0, "%s", tests[i]);
        cr_expect_eq(check("cli/a.c", hint, "tests/tidy/a.c", tests[i]).count, 1, "the rules' own tests are none");
    }
}

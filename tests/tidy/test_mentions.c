/* The rule of mentions: what names a function, and what is one. */
#include "tests/tidy/mentions.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/bits.h"

struct found {
    unsigned count, line;
    char message[256];
};

static void note(void *ctx, const struct finding *finding)
{
    struct found *found = ctx;
    found->count++;
    found->line = finding->line;
    snprintf(found->message, sizeof(found->message), "%s", finding->message);
    cr_expect_str_eq(finding->rule, "mention-of-nothing");
}

static void add(struct mentions *mentions, const char *path, const char *text)
{
    struct source source;
    cr_assert_eq(source_init(&source, path, text), 0);
    cr_assert_eq(mentions_collect(mentions, &source), 0);
    source_fini(&source);
}

/* What is found of that file, beside code and CMake that have three functions. */
static struct found check(const char *path, const char *text)
{
    struct found found = {0};
    struct mentions mentions = MENTIONS_INIT;
    add(&mentions, path, text);
    add(&mentions, "engine/b.c", "int weir_ring_map(int fd)\n{\n    return weir_macro(weir_variable);\n}\n");
    add(&mentions, "tests/CMakeLists.txt", "function(weir_link_with target)\n");
    mentions_check(&mentions, &(struct finding_sink){.report = note, .ctx = &found});
    mentions_fini(&mentions);
    return found;
}

Test(tidy_mentions, function_that_is_not_there_is_found)
{
    static const struct {
        const char *path, *text;
        unsigned line;
    } bad[] = {
        {"engine/a.c", "/* as weir_gone() does */", 1},
        {"engine/a.h", "int a;\n\n// weir_gone()\n", 3},
        {"docs/a.md", "First\nthe `weir_gone()` of old.\n", 2},
        {"engine/a.c", "/* as weir_gone() does, not as weir_ring_map() */", 1},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bad); i++) {
        struct found found = check(bad[i].path, bad[i].text);
        cr_expect_eq(found.count, 1, "%s: %u", bad[i].text, found.count);
        cr_expect_eq(found.line, bad[i].line, "%s: line %u", bad[i].text, found.line);
        cr_expect_str_eq(found.message, "there is no weir_gone()");
    }
    cr_expect_eq(check("engine/a.c", "/* see weir_variable() */").count, 1, "what is no function");
}

Test(tidy_mentions, others_are_left_alone)
{
    static const struct {
        const char *path, *text;
    } good[] = {
        {"engine/a.c", "/* weir_ring_map(), weir_macro() and weir_link_with() */"},
        {"engine/a.c", "int weir_here()\n{\n    return 1;\n}\n"},
        {"engine/a.c", "/* the weir_gone of old, perf_gone(), weir_gone(1) */"},
        {"engine/a.c", "static const char shell[] = \"_weir_gone() {\";"},
        {"scripts/a", "weir_gone() { :; }"},
        {"tests/tidy/a.c", "/* weir_gone() */"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(good); i++)
        cr_expect_eq(check(good[i].path, good[i].text).count, 0, "%s", good[i].text);
}

Test(tidy_mentions, tree_without_functions_has_none)
{
    struct found found = {0};
    struct mentions mentions = MENTIONS_INIT;
    add(&mentions, "docs/a.md", "weir_gone()");
    mentions_check(&mentions, &(struct finding_sink){.report = note, .ctx = &found});
    cr_expect_eq(found.count, 1);
    mentions_fini(&mentions);
}

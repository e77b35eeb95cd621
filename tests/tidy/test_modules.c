/* The rules of modules on made-up trees. Each text of a tree is a file, and "path: code" its form. */
#include "tests/tidy/modules.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

#define FILES_MAX 8

struct tree {
    const char *files[FILES_MAX]; /* "engine/drain/a.c: code"; NULL behind the last one */
};

struct found {
    unsigned count;
    char text[1024]; /* "rule path:line message\n" of each */
};

static const struct module_exception none[] = {{NULL, NULL, NULL}};
static const struct module_exceptions no_exceptions = {none, none};

static void note(void *ctx, const struct finding *finding)
{
    struct found *found = ctx;
    size_t used = strlen(found->text);
    found->count++;
    cr_expect_not(finding->is_advice);
    snprintf(found->text + used, sizeof(found->text) - used, "%s %s:%u %s\n", finding->rule, finding->path,
             finding->line, finding->message);
}

static void add(struct modules *modules, const char *file)
{
    char path[64];
    struct source source;
    size_t length = strcspn(file, ":");
    snprintf(path, sizeof(path), "%.*s", (int)length, file);
    cr_assert_eq(source_init(&source, path, file + length + 2), 0);
    cr_assert_eq(modules_collect(modules, &source), 0);
    source_fini(&source);
}

static struct found check_with(const struct tree *tree, const struct module_exceptions *exceptions)
{
    struct found found = {0};
    struct modules modules = MODULES_INIT;
    for (size_t i = 0; i < FILES_MAX && tree->files[i]; i++)
        add(&modules, tree->files[i]);
    cr_assert_eq(modules_link(&modules), 0);
    modules_check(&modules, exceptions, &(struct finding_sink){.report = note, .ctx = &found});
    modules_fini(&modules);
    return found;
}

static void expect_only(const struct tree *tree, const char *text)
{
    struct found found = check_with(tree, &no_exceptions);
    cr_expect_eq(found.count, 1, "%u findings: %s", found.count, found.text);
    cr_expect(strstr(found.text, text), "'%s' is not in '%s'", text, found.text);
}

static void expect_none(const struct tree *tree)
{
    struct found found = check_with(tree, &no_exceptions);
    cr_expect_eq(found.count, 0, "%s", found.text);
}

/* a calls b, which includes a. */
static const struct tree two = {{
    "engine/drain/a.h: int weir_a(void);",
    "engine/drain/a.c: int weir_a(void)\n{\n    return weir_b();\n}",
    "engine/drain/b.h: #include \"engine/drain/a.h\"\nint weir_b(void);",
    "engine/drain/b.c: int weir_b(void)\n{\n    return 0;\n}",
}};

Test(tidy_modules, circle_of_a_call_and_an_include_is_found)
{
    expect_only(&two, "module-circle engine/drain/:1 a b (");
}

Test(tidy_modules, circle_of_includes_is_found)
{
    expect_only(&(struct tree){{
                    "io/a.h: #include \"io/b.h\"",
                    "io/b.c: #include \"io/c.h\"",
                    "io/b.h: int b;",
                    "io/c.h: #include \"io/a.h\"",
                    "io/d.h: #include \"io/a.h\"",
                }},
                "module-circle io/:1 a b c (");
}

Test(tidy_modules, circle_over_a_function_of_a_file_without_a_header_is_found)
{
    struct found found =
        check_with(&(struct tree){{
                       "io/a.h: int weir_a(void);\nint weir_a_more(void);",
                       "io/a.c: #include \"io/a.h\"\nint weir_a(void)\n{\n    return weir_a_more();\n}",
                       "io/a_more.c: #include \"io/a.h\"\nint weir_a_more(void)\n{\n    return 0;\n}",
                   }},
                   &no_exceptions);
    cr_expect_eq(found.count, 2);
    cr_expect(strstr(found.text, "module-circle io/:1 a a_more ("), "%s", found.text);
    cr_expect(strstr(found.text, "foreign-declaration io/a.h:2 weir_a_more() is of module a_more (io/a_more.c)"));
}

Test(tidy_modules, two_circles_are_two_findings)
{
    struct found found = check_with(&(struct tree){{
                                        "io/a.h: #include \"io/b.h\"",
                                        "io/b.h: #include \"io/a.h\"",
                                        "io/c.h: #include \"io/d.h\"",
                                        "io/d.h: #include \"io/c.h\"\n#include \"io/a.h\"",
                                    }},
                                    &no_exceptions);
    cr_expect_eq(found.count, 2);
    cr_expect(strstr(found.text, "module-circle io/:1 a b ("));
    cr_expect(strstr(found.text, "module-circle io/:1 c d ("));
}

Test(tidy_modules, declaration_of_what_another_room_defines_is_found)
{
    expect_only(&(struct tree){{
                    "engine/drain/a.h: int weir_a(void);\nint\n  weir_b(int b);",
                    "engine/drain/a.c: int weir_a(void)\n{\n}",
                    "engine/kernel/a.c: int weir_b(int b)\n{\n}",
                }},
                "foreign-declaration engine/drain/a.h:3 weir_b() is of module a (engine/kernel/a.c)");
}

Test(tidy_modules, files_beside_an_internal_header_are_one_module)
{
    expect_none(&(struct tree){{
        "io/a.h: int weir_a(void);",
        "io/a_internal.h: #include \"io/a.h\"\nint weir_a_b_c(void);",
        "io/a.c: #include \"io/a_internal.h\"\nint weir_a(void)\n{\n    return weir_a_b_c();\n}",
        "io/a_b_c.c: #include \"io/a_internal.h\"\nint weir_a_b_c(void)\n{\n    return weir_a();\n}",
    }});
}

Test(tidy_modules, file_with_a_header_of_its_own_is_a_module_beside_an_internal_header)
{
    expect_only(&(struct tree){{
                    "io/a_internal.h: int weir_a(void);",
                    "io/a.c: int weir_a(void)\n{\n    return weir_a_b();\n}",
                    "io/a_b.h: int weir_a_b(void);",
                    "io/a_b.c: int weir_a_b(void)\n{\n    return weir_a();\n}",
                    "io/ab.c: static int weir_ab(void)\n{\n    return weir_a();\n}",
                }},
                "module-circle io/:1 a a_b (");
}

Test(tidy_modules, what_points_one_way_is_no_circle)
{
    expect_none(&(struct tree){{
        "io/a.h: #include \"io/b.h\"\nint weir_a(void);",
        "io/a.c: int weir_a(void)\n{\n    return weir_b() + weir_c();\n}",
        "io/b.h: #include \"io/c.h\"\nint weir_b(void);",
        "io/b.c: int weir_b(void)\n{\n}",
        "io/c.h: static inline int weir_c(void)\n{\n}",
    }});
}

Test(tidy_modules, comments_members_tags_and_statics_are_no_calls)
{
    expect_none(&(struct tree){{
        "io/a.h: int weir_a(void);\nint reap(void);",
        "io/a.c: #include \"io/b.h\"\nint weir_a(void)\n{\n}\nint reap(void)\n{\n}",
        "io/b.h: struct weir_a *weir_b(void);",
        "io/b.c: /* weir_a() */\nstruct weir_a *weir_b(void)\n{\n    ops->reap(\"weir_a()\");\n    ops.reap(1);\n}",
        "io/c.c: static int weir_a(void)\n{\n}",
    }});
}

Test(tidy_modules, other_rooms_and_tests_have_no_part)
{
    expect_none(&(struct tree){{
        "engine/drain/a.h: #include \"engine/kernel/b.h\"",
        "engine/kernel/b.h: #include \"engine/drain/a.h\"",
        "tests/io/a.h: #include \"tests/io/b.h\"",
        "tests/io/b.h: #include \"tests/io/a.h\"\nint weir_hook(void);",
        "engine/kernel/c.h: int weir_hook(void);",
        "tests/io/c.c: int weir_hook(void)\n{\n}",
    }});
}

Test(tidy_modules, exception_covers_a_circle_of_its_modules_only)
{
    static const struct {
        const char *place, *modules;
        unsigned findings;
    } rows[] = {
        {"engine/drain/", "a b", 0},  {"engine/drain/", "a b c", 1}, {"engine/drain/", "a", 1},
        {"engine/kernel/", "a b", 3}, {"engine/drain/", "ab b", 2},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        const struct module_exception circles[] = {{rows[i].place, rows[i].modules, "a reason"}, {NULL, NULL, NULL}};
        struct found found = check_with(&two, &(struct module_exceptions){circles, none});
        cr_expect_eq(found.count, rows[i].findings, "%zu: %s", i, found.text);
    }
}

Test(tidy_modules, exception_covers_declarations_of_its_header_and_modules_only)
{
    static const struct tree tree = {{
        "io/a.h: int weir_b(void);",
        "io/b.c: int weir_b(void)\n{\n}",
    }};
    static const struct {
        const char *place, *modules;
        unsigned findings;
    } rows[] = {
        {"io/a.h", "b", 0},
        {"io/a.h", "b c", 1},
        {"io/a.h", "c", 2},
        {"io/b.h", "b", 2},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        const struct module_exception headers[] = {{rows[i].place, rows[i].modules, "a reason"}, {NULL, NULL, NULL}};
        struct found found = check_with(&tree, &(struct module_exceptions){none, headers});
        cr_expect_eq(found.count, rows[i].findings, "%zu: %s", i, found.text);
    }
}

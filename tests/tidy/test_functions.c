/* What the scanner takes for functions. */
#include "tests/tidy/functions.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

/* Expects the functions of the code to be the names, "d" before a definition and "s" before a static one. */
static void expect(const char *code, const char *names)
{
    char found[256] = "";
    struct function_scan scan = {.at = code, .line = 1};
    struct function function;
    while (function_next(&scan, &function)) {
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s %.*s;", function.is_static ? "s" : "",
                 function.is_definition ? "d" : "", (int)function.length, function.name);
    }
    cr_expect_str_eq(found, names, "%s: %s", code, found);
}

Test(tidy_functions, what_is_no_function_is_not_found)
{
    static const char *const none[] = {
        "",
        "int a;",
        "int a = sizeof(int);",
        "int a[] = {f(1), f(2)};",
        "struct a {\n    int (*f)(int);\n};",
        "enum a { B = C(1) };",
        "#define f(x) g(x)\n",
        "#define f(x) \\\n    g(x); \\\n    h(x);\n",
        "#if defined(X)\n#endif\n",
        "static_assert(sizeof(a) == 1,   );",
        "extern const struct a b;",
        "typedef void (*f)(int);",
        "WEIR_FIELD_AT(struct a, b, 1);",
        "struct a { int b; } __attribute__((packed));",
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(none); i++)
        expect(none[i], "");
}

Test(tidy_functions, functions_are_found)
{
    expect("int f(void);", " f;");
    expect("int f(void)\n{\n    g();\n    { h(); }\n}\n", "d f;");
    expect("static int f(void)\n{\n}\nint g(void);", "sd f; g;");
    expect("struct a *f(int (*g)(int),\n    int h);\nint i;", " f;");
    expect("struct a { int b; };\nint a = (1);\nint f(void);", " f;");
    expect("__attribute__((format(printf, 1, 2))) void f(const char *, ...);", " f;");
    expect("void f(const char *, ...) __attribute__((format(printf, 1, 2)));", " f;");
    expect("#ifdef __cplusplus\nextern     {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\nint g(void);",
           " f; g;");
    expect("int f(void)\n{\n#define X {\n}\nint g(void);", "d f; g;");
}

Test(tidy_functions, line_is_that_of_the_name)
{
    struct function_scan scan = {.at = "int a;\n\nvoid\nf(int a,\n  int b)\n{\n}\nint g(void);\n", .line = 1};
    struct function function;
    cr_assert(function_next(&scan, &function));
    cr_expect_eq(function.line, 4);
    cr_assert(function_next(&scan, &function));
    cr_expect_eq(function.line, 8);
    cr_expect_not(function_next(&scan, &function));
}

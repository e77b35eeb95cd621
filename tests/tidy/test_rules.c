/*
 * Each tidy rule fires on a bad fixture, on the right line, once, and nothing else does; the nearest good form stays
 * quiet. Fixtures are text in this file: bad C needs no file of its own in the tree.
 */
#include "tests/tidy/rules.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

#define OPENING "/* What it is for. */\n"

/* Text is the line under test, behind the opening comment and, for headers, the guard. */
struct fixture {
    const char *path;
    const char *line;
};

struct bad_fixture {
    const char *rule;
    struct fixture fixture;
};

struct found {
    unsigned count;
    char rules[8][32];
    unsigned lines[8];
    bool is_advice;
};

static void collect(void *ctx, const struct finding *finding)
{
    struct found *found = ctx;
    if (found->count < WEIR_ARRAY_COUNT(found->rules)) {
        snprintf(found->rules[found->count], sizeof(found->rules[0]), "%s", finding->rule);
        found->lines[found->count] = finding->line;
    }
    found->is_advice = finding->is_advice;
    found->count++;
}

static struct found check_text(const char *path, const char *text)
{
    struct found found = {0};
    const struct finding_sink sink = {.report = collect, .ctx = &found};
    struct source source;
    cr_assert_eq(source_init(&source, path, text), 0);
    rules_check(&source, &sink);
    source_fini(&source);
    return found;
}

static struct found check_line(const struct fixture *fixture)
{
    char text[1024];
    snprintf(text, sizeof(text), OPENING "%s\n", fixture->line);
    return check_text(fixture->path, text);
}

static void expect_only(struct found found, const char *rule, unsigned line, const char *what)
{
    cr_expect_eq(found.count, 1, "%u findings in %s", found.count, what);
    cr_expect_str_eq(found.rules[0], rule, "%s in %s", found.rules[0], what);
    cr_expect_eq(found.lines[0], line, "line %u in %s", found.lines[0], what);
}

static void expect_bad(const struct bad_fixture *bad, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_only(check_line(&bad[i].fixture), bad[i].rule, 2, bad[i].fixture.line);
}

static void expect_good(const struct fixture *good, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct found found = check_line(&good[i]);
        cr_expect_eq(found.count, 0, "%s on %s: %s", found.rules[0], good[i].path, good[i].line);
    }
}

static size_t repeat(char *text, size_t bytes, const char *head, const char *unit, unsigned count)
{
    size_t used = (size_t)snprintf(text, bytes, "%s", head);
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s", unit);
    return used;
}

/* A C function whose body, braces included, has that many lines. */
static void make_function(char *text, size_t bytes, unsigned lines)
{
    size_t used = repeat(text, bytes, OPENING "int f(void)\n{\n", "    ;\n", lines - 2);
    snprintf(text + used, bytes - used, "}\n");
}

Test(rules, edges_against_the_layers_are_found)
{
    const struct bad_fixture bad[] = {
        {"include-edge", {"base/a.c", "#include \"io/output.h\""}},
        {"include-edge", {"io/a.c", "#include \"format/records.h\""}},
        {"include-edge", {"io/a.c", "#include \"topology/plan.h\""}},
        {"include-edge", {"format/a.c", "#include \"io/output.h\""}},
        {"include-edge", {"topology/a.c", "#include \"engine/kernel/ring.h\""}},
        {"include-edge", {"engine/drain/a.c", "#include \"cli/options.h\""}},
        {"include-edge", {"engine/drain/a.c", "  #  include   \"cli/options.h\""}},
        {"include-edge", {"engine/kernel/a.c", "#include \"engine/events/event_set.h\""}},
        {"include-edge", {"engine/drain/a.c", "#include \"engine/session/session.h\""}},
        {"include-edge", {"engine/events/a.c", "#include \"io/output.h\""}},
        {"include-edge", {"engine/plan/a.c", "#include \"engine/control/trigger.h\""}},
        {"include-edge", {"engine/control/a.c", "#include \"engine/files/record_file.h\""}},
        {"include-edge", {"engine/control/a.c", "#include \"engine/drain/writer.h\""}},
        {"include-edge", {"engine/files/a.c", "#include \"engine/session/session.h\""}},
        {"include-edge", {"engine/session/a.c", "#include \"engine/sim/sim_kernel.h\""}},
        {"include-edge", {"engine/upkeep/a.c", "#include \"engine/sim/sim_kernel.h\""}},
        {"include-edge", {"cli/a.c", "#include \"tests/fake.h\""}},
        {"include-edge", {"tests/engine/a.c", "#include \"perf-tests/load.h\""}},
        {"internal-header", {"engine/drain/a.c", "#include \"io/queue_internal.h\""}},
        {"internal-header", {"tests/engine/a.c", "#include \"io/queue_internal.h\""}},
        {"internal-header", {"engine/session/a.c", "#include \"engine/events/event_set_internal.h\""}},
        {"include-path", {"engine/drain/a.c", "#include \"ring.h\""}},
        {"include-path", {"engine/drain/a.c", "#include \"engine/ring.h\""}},
        {"include-path", {"engine/drain/a.c", "#include \"../io/output.h\""}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));
}

Test(rules, edges_along_the_layers_are_allowed)
{
    const struct fixture good[] = {
        {"io/a.c", "#include \"base/buf.h\""},
        {"engine/drain/a.c", "#include \"topology/plan.h\""},
        {"cli/a.c", "#include \"format/records.h\""},
        {"tests/io/a.c", "#include \"io/queue_internal.h\""},
        {"tests/engine/a.c", "#include \"engine/events/event_set_internal.h\""},
        {"engine/control/a.c", "#include \"engine/plan/recording_plan.h\""},
        {"engine/files/a.c", "#include \"engine/control/trigger.h\""},
        {"engine/session/a.c", "#include \"engine/files/file_series.h\""},
        {"engine/session/a.c", "#include \"engine/drain/writer.h\""},
        {"engine/sim/a.c", "#include \"engine/session/session.h\""},
        {"tests/fuzz/a.c", "#include \"io/queue_internal.h\""},
        {"io/a.c", "#include \"io/queue_internal.h\""},
        {"perf-tests/a.c", "#include \"engine/kernel/ring.h\""},
        {"io/a.c", "/* #include \"format/records.h\" would be wrong */"},
    };
    expect_good(good, WEIR_ARRAY_COUNT(good));
}

Test(rules, outside_headers_away_from_home_are_found)
{
    const struct bad_fixture bad[] = {
        {"outside-header", {"engine/drain/a.c", "#include <liburing.h>"}},
        {"outside-header", {"engine/drain/a.c", "#include <hwloc.h>"}},
        {"outside-header", {"engine/drain/a.c", "#include <hwloc/linux.h>"}},
        {"outside-header", {"io/a.c", "#include <numa.h>"}},
        {"outside-header", {"io/a.c", "#include <numaif.h>"}},
        {"outside-header", {"cli/a.c", "#include <libelf.h>"}},
        {"outside-header", {"cli/a.c", "#include <gelf.h>"}},
        {"outside-header", {"cli/a.c", "#include <traceevent/event-parse.h>"}},
        {"outside-header", {"cli/a.c", "#include <event-parse.h>"}},
        {"outside-header", {"engine/drain/a.c", "#include <zstd.h>"}},
        {"outside-header", {"base/a.c", "#include <assert.h>"}},
        {"outside-header", {"tests/io/a.c", "#include <assert.h>"}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));

    const struct fixture good[] = {
        {"io/a.c", "#include <liburing.h>"},   {"topology/a.c", "#include <hwloc.h>"},
        {"topology/a.c", "#include <numa.h>"}, {"format/a.c", "#include <libelf.h>"},
        {"format/a.c", "#include <zstd.h>"},   {"tests/format/a.c", "#include <zstd.h>"},
    };
    expect_good(good, WEIR_ARRAY_COUNT(good));
}

Test(rules, words_shared_with_the_kernel_are_found_outside_their_files)
{
    const struct bad_fixture bad[] = {
        {"kernel-words", {"engine/drain/reader.c", "x = page->data_head;"}},
        {"kernel-words", {"engine/drain/reader.c", "page->data_tail = x;"}},
        {"kernel-words", {"cli/a.c", "x = page->aux_head;"}},
        {"kernel-words", {"tests/cli/a.c", "x = page->aux_tail;"}},
        {"kernel-words", {"engine/drain/reader.c", "syscall(SYS_perf_event_open);"}},
        {"kernel-words", {"engine/drain/reader.c", "syscall(__NR_perf_event_open);"}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));

    const struct fixture good[] = {
        {"engine/kernel/ring.c", "x = page->data_head;"},
        {"engine/sim/sim_kernel.c", "x = page->data_tail;"},
        {"tests/engine/test_ring.c", "x = page->data_tail;"},
        {"engine/drain/reader.c", "/* data_head moves on */"},
        {"engine/drain/reader.c", "x = \"data_head\";"},
        {"engine/drain/reader.c", "x = my_data_head + data_head_seen;"},
    };
    expect_good(good, WEIR_ARRAY_COUNT(good));
}

Test(rules, ends_of_the_process_below_main_are_found)
{
    const struct bad_fixture bad[] = {
        {"exit-below-main", {"engine/drain/a.c", "exit(1);"}},
        {"exit-below-main", {"cli/record.c", "exit (1);"}},
        {"exit-below-main", {"io/a.c", "quick_exit(1);"}},
        {"exit-below-main", {"io/a.c", "abort();"}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));

    const struct fixture good[] = {
        {"cli/main.c", "exit(1);"},
        {"base/assert.c", "abort();"},
        {"engine/drain/a.c", "_exit(127);"},
        {"engine/drain/a.c", "reader->exit = 1;"},
        {"engine/drain/a.c", "/* exit(1); */"},
        {"tests/io/a.c", "exit(1);"},
    };
    expect_good(good, WEIR_ARRAY_COUNT(good));
}

Test(rules, libraries_that_print_are_found)
{
    const struct bad_fixture bad[] = {
        {"library-print", {"engine/drain/a.c", "printf(\"x\");"}},
        {"library-print", {"engine/drain/a.c", "puts(\"x\");"}},
        {"library-print", {"engine/drain/a.c", "perror(\"x\");"}},
        {"library-print", {"engine/drain/a.c", "fputs(\"x\", stderr);"}},
        {"library-print", {"engine/drain/a.c", "fputs(\"x\", stdout);"}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));

    const struct fixture good[] = {
        {"cli/a.c", "printf(\"x\");"},
        {"engine/drain/a.c", "void f(const char *format, ...) __attribute__((format(printf, 1, 2)));"},
    };
    expect_good(good, WEIR_ARRAY_COUNT(good));
}

Test(rules, unsafe_calls_are_found)
{
    const char *const calls[] = {"strcpy", "strcat", "sprintf", "vsprintf", "strtok",    "gets",
                                 "atoi",   "atol",   "atof",    "alloca",   "localtime", "gmtime"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++) {
        char line[64];
        snprintf(line, sizeof(line), "x = %s(y);", calls[i]);
        expect_only(check_line(&(struct fixture){"cli/a.c", line}), "unsafe-call", 2, line);
    }
    const struct fixture good[] = {
        {"cli/a.c", "x = snprintf(y);"},
        {"cli/a.c", "x = strtok_r(y);"},
        {"cli/a.c", "/* not strcpy(y) */"},
        {"tests/cli/a.c", "x = gmtime(y);"},
    };
    expect_good(good, WEIR_ARRAY_COUNT(good));
}

Test(rules, atomics_without_an_order_are_found)
{
    const char *const calls[] = {"atomic_load",
                                 "atomic_store",
                                 "atomic_exchange",
                                 "atomic_fetch_add",
                                 "atomic_fetch_sub",
                                 "atomic_fetch_or",
                                 "atomic_fetch_and",
                                 "atomic_compare_exchange_weak",
                                 "atomic_compare_exchange_strong"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++) {
        char line[64];
        snprintf(line, sizeof(line), "x = %s(&y);", calls[i]);
        expect_only(check_line(&(struct fixture){"engine/drain/a.c", line}), "memory-order", 2, line);
        snprintf(line, sizeof(line), "x = %s_explicit(&y);", calls[i]);
        cr_expect_eq(check_line(&(struct fixture){"engine/drain/a.c", line}).count, 0, "%s", line);
    }
}

Test(rules, typedefs_of_aggregates_are_found)
{
    const struct bad_fixture bad[] = {
        {"typedef", {"engine/drain/a.c", "typedef struct ring ring_t;"}},
        {"typedef", {"engine/drain/a.c", "typedef union ring ring_t;"}},
        {"typedef", {"engine/drain/a.c", "typedef enum ring ring_t;"}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));
    expect_good(&(struct fixture){"engine/drain/a.c", "typedef int (*weir_handler)(struct ring *ring);"}, 1);
}

Test(rules, commands_that_mend_a_limit_are_found_outside_their_table)
{
    static const char *const commands[] = {"\"sudo prlimit\"", "weir_error_hint(err, \"see `sysctl kernel.x=0`\");"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(commands); i++) {
        expect_only(check_line(&(struct fixture){"io/a.c", commands[i]}), "remedy-home", 2, commands[i]);
        const struct fixture good[] = {
            {"base/remedy.c", commands[i]}, {"tests/io/test_a.c", commands[i]}, {"io/a.c", "/* as sudo does */"}};
        expect_good(good, WEIR_ARRAY_COUNT(good));
    }
}

Test(rules, unfinished_work_is_found_in_any_text)
{
    const char *const paths[] = {"engine/drain/a.c", "tests/a.c", "docs/a.md", "cmake/a.cmake"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(paths); i++) {
        expect_only(check_line(&(struct fixture){paths[i], "/* TO"
                                                           "DO: later */"}),
                    "unfinished", 2, paths[i]);
        expect_only(check_line(&(struct fixture){paths[i], "/* FIX"
                                                           "ME(x) */"}),
                    "unfinished", 2, paths[i]);
        expect_only(check_line(&(struct fixture){paths[i], "/* XX"
                                                           "X */"}),
                    "unfinished", 2, paths[i]);
        expect_only(check_line(&(struct fixture){paths[i], "/* see /wo"
                                                           "rk/main */"}),
                    "private-path", 2, paths[i]);
        expect_only(check_line(&(struct fixture){paths[i], "/* see /Use"
                                                           "rs/me */"}),
                    "private-path", 2, paths[i]);
        cr_expect_eq(check_line(&(struct fixture){paths[i], "x = \"name-XXXXXX\""}).count, 0);
    }
}

Test(rules, long_lines_are_found_by_columns_not_bytes)
{
    /* Each box character is one column and three bytes. */
    char line[400];
    repeat(line, sizeof(line), "", "\u2500", 120);
    cr_expect_eq(check_line(&(struct fixture){"engine/drain/a.c", line}).count, 0);
    repeat(line, sizeof(line), "", "\u2500", 121);
    expect_only(check_line(&(struct fixture){"engine/drain/a.c", line}), "line-length", 2, "121 columns");
    cr_expect_eq(check_line(&(struct fixture){"docs/a.md", line}).count, 0);
}

Test(rules, stray_white_space_is_found)
{
    const struct bad_fixture bad[] = {
        {"white-space", {"engine/drain/a.c", "int x; "}},
        {"white-space", {"engine/drain/a.c", "int x;\r"}},
        {"white-space", {"engine/drain/a.c", "\tint x;"}},
        {"white-space", {"docs/a.md", "text "}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));
    expect_only(check_text("engine/drain/a.c", OPENING "int x;"), "white-space", 2, "no final newline");
}

Test(rules, file_that_does_not_say_what_it_is_for_is_found)
{
    expect_only(check_text("engine/drain/a.c", "int x;\n"), "opening-comment", 1, "bare C");
    expect_only(check_text("engine/drain/a.c", "#include <stdio.h>\n/* late */\n"), "opening-comment", 1,
                "late comment");
    expect_only(check_text("engine/drain/a.c", "#include \"engine/drain/b.h\"\n"), "opening-comment", 1,
                "other header");
    expect_only(check_text("engine/drain/a.h", "#ifndef WEIR_ENGINE_DRAIN_A_H\n"), "opening-comment", 1, "header");
    cr_expect_eq(check_text("engine/drain/a.c", "#include \"engine/drain/a.h\"\n").count, 0);
}

Test(rules, header_without_its_guard_is_found)
{
    expect_only(check_text("engine/sim/sim_ring.h", OPENING "#ifndef RING_H\n"), "include-guard", 1, "wrong name");
    expect_only(check_text("engine/kernel/ring.h", OPENING "#pragma once\n"), "include-guard", 1, "pragma");
    cr_expect_eq(check_text("engine/sim/sim_ring.h", OPENING "#ifndef WEIR_ENGINE_SIM_SIM_RING_H\n").count, 0);
    cr_expect_eq(check_text("perf-tests/x.h", OPENING "#ifndef WEIR_PERF_TESTS_X_H\n").count, 0);
}

Test(rules, long_functions_are_advised_then_refused)
{
    static char text[8192];
    make_function(text, sizeof(text), 70);
    cr_expect_eq(check_text("engine/drain/a.c", text).count, 0);

    make_function(text, sizeof(text), 71);
    struct found advised = check_text("engine/drain/a.c", text);
    expect_only(advised, "function-length", 3, "71 lines");
    cr_expect(advised.is_advice);

    make_function(text, sizeof(text), 100);
    cr_expect(check_text("engine/drain/a.c", text).is_advice);

    make_function(text, sizeof(text), 101);
    struct found refused = check_text("engine/drain/a.c", text);
    expect_only(refused, "function-length", 3, "101 lines");
    cr_expect_not(refused.is_advice);
}

Test(rules, long_file_is_found)
{
    static char text[2048];
    repeat(text, sizeof(text), OPENING, "\n", 799);
    cr_expect_eq(check_text("engine/drain/a.c", text).count, 0);
    repeat(text, sizeof(text), OPENING, "\n", 800);
    struct found refused = check_text("engine/drain/a.c", text);
    expect_only(refused, "file-length", 801, "801 lines");
    cr_expect_not(refused.is_advice);
    struct found advised = check_text("tests/engine/test_a.c", text);
    expect_only(advised, "file-length", 801, "801 lines of tests");
    cr_expect(advised.is_advice);
}

Test(rules, careless_script_is_found)
{
    expect_only(check_text("scripts/x", "#!/bin/sh\nset -euo pipefail\n"), "script-strict", 1, "sh");
    expect_only(check_text(".ci/run", "#!/usr/bin/env bash\nset -e\n"), "script-strict", 1, "set -e");
    cr_expect_eq(check_text("scripts/x", "#!/usr/bin/env bash\nset -euo pipefail\n").count, 0);
    cr_expect_eq(check_text("scripts/x.sh", "# Sourced by x.\n").count, 0);
}

Test(rules, literals_and_comments_hide_nothing_behind_them)
{
    const struct bad_fixture bad[] = {
        {"exit-below-main", {"engine/drain/a.c", "x = '\"'; exit(1);"}},
        {"exit-below-main", {"engine/drain/a.c", "x = \"\\\"\"; exit(1);"}},
        {"exit-below-main", {"engine/drain/a.c", "x = \"/*\"; exit(1);"}},
        {"exit-below-main", {"engine/drain/a.c", "/* \" */ exit(1);"}},
        {"exit-below-main", {"engine/drain/a.c", "x = '\\\\'; exit(1);"}},
    };
    expect_bad(bad, WEIR_ARRAY_COUNT(bad));
    expect_only(check_text("engine/drain/a.c", "/* one\ntwo // three */\n// four \"\nexit(1);\n"), "exit-below-main", 4,
                "code behind comments of several lines");
}

Test(rules, files_of_unknown_kind_are_left_alone)
{
    cr_expect_eq(check_text("tests/format/golden.data", "\texit(1); TO"
                                                        "DO \n")
                     .count,
                 0);
}

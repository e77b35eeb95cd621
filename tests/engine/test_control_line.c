/* The control protocol's lines and commands. */
#include "engine/control/control_line.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"

Test(control_line, what_is_no_command_is_refused)
{
    static const struct {
        const char *line, *what, *hint;
    } cases[] = {
        {"x", "unknown control command 'x'", ""},
        {" enable", "unknown control command ''", ""},
        {"enabled", "unknown control command 'enabled'", "did you mean 'enable'?"},
        {"snapshot_alloc", "unknown control command 'snapshot_alloc'", "did you mean 'snapshot-alloc'?"},
        {"PING", "unknown control command 'PING'", ""},
        {"0123456789012345678901234567890123456789", "unknown control command '0123456789012345678901234567890'", ""},
        {"\001\177", "unknown control command '?\?'", ""},
        {"enable ", "control command 'enable' ends with a blank", ""},
        {"ping 1", "control command 'ping' takes no argument", ""},
        {"stop now", "control command 'stop' takes no argument", ""},
        {"evlist -x", "evlist takes -v, -g or -F, not '-x'", ""},
        {"evlist -v -g", "evlist takes -v, -g or -F, not '-v -g'", ""},
        {"--ping", "unknown control command '-ping'", "did you mean 'ping'?"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_control_command command;
        struct weir_error err = {0};
        cr_expect_eq(weir_control_parse(cases[i].line, &command, &err), -EINVAL, "'%s'", cases[i].line);
        cr_expect_str_eq(err.what, cases[i].what);
        cr_expect_str_eq(err.hint, cases[i].hint);
    }
}

Test(control_line, refused_command_that_wants_no_answer_says_so)
{
    struct weir_control_command command;
    cr_assert_eq(weir_control_parse("-nonsense", &command, NULL), -EINVAL);
    cr_assert(command.quiet);
}

Test(control_line, commands_are_understood)
{
    static const struct {
        const char *line;
        struct weir_control_command command;
    } cases[] = {
        {"enable", {.verb = WEIR_CONTROL_ENABLE}},
        {"enable cpu-clock:u", {.verb = WEIR_CONTROL_ENABLE, .event = "cpu-clock:u"}},
        {"disable", {.verb = WEIR_CONTROL_DISABLE}},
        {"disable a b", {.verb = WEIR_CONTROL_DISABLE, .event = "a b"}},
        {"evlist", {.verb = WEIR_CONTROL_EVLIST}},
        {"evlist -v", {.verb = WEIR_CONTROL_EVLIST, .detail = WEIR_CONTROL_VERBOSE}},
        {"evlist -g", {.verb = WEIR_CONTROL_EVLIST, .detail = WEIR_CONTROL_GROUPS}},
        {"evlist -F", {.verb = WEIR_CONTROL_EVLIST, .detail = WEIR_CONTROL_FREQ}},
        {"dump", {.verb = WEIR_CONTROL_DUMP}},
        {"snapshot", {.verb = WEIR_CONTROL_SNAPSHOT}},
        {"-snapshot", {.verb = WEIR_CONTROL_SNAPSHOT, .quiet = true}},
        {"snapshot-alloc", {.verb = WEIR_CONTROL_SNAPSHOT_ALLOC}},
        {"switch", {.verb = WEIR_CONTROL_SWITCH}},
        {"ping", {.verb = WEIR_CONTROL_PING}},
        {"lease", {.verb = WEIR_CONTROL_LEASE}},
        {"stop", {.verb = WEIR_CONTROL_STOP}},
        {"status", {.verb = WEIR_CONTROL_STATUS}},
        {"status -v", {.verb = WEIR_CONTROL_STATUS, .detail = WEIR_CONTROL_VERBOSE}},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_control_command command;
        cr_expect_eq(weir_control_parse(cases[i].line, &command, NULL), 0, "'%s'", cases[i].line);
        cr_expect_eq(command.verb, cases[i].command.verb, "'%s'", cases[i].line);
        cr_expect_eq(command.quiet, cases[i].command.quiet, "'%s'", cases[i].line);
        cr_expect_eq(command.detail, cases[i].command.detail, "'%s'", cases[i].line);
        if (cases[i].command.event)
            cr_expect_str_eq(command.event, cases[i].command.event);
        else
            cr_expect_null(command.event);
    }
}

/* ---- lines ---- */

static void put(struct weir_control_lines *lines, const char *data, size_t bytes)
{
    size_t room;
    char *to = weir_control_lines_room(lines, &room);
    cr_assert_leq(bytes, room);
    memcpy(to, data, bytes);
    weir_control_lines_add(lines, bytes);
}

static void expect(struct weir_control_lines *lines, const char *wanted)
{
    const char *line = NULL;
    cr_assert_eq(weir_control_lines_next(lines, &line), wanted ? WEIR_CONTROL_LINE : WEIR_CONTROL_LINE_NONE);
    if (wanted)
        cr_assert_str_eq(line, wanted);
}

Test(control_line, line_that_is_too_long_is_told_once_and_passed_over)
{
    struct weir_control_lines lines;
    const char *line;
    char garbage[WEIR_CONTROL_LINE_MAX];
    memset(garbage, 'x', sizeof(garbage));
    weir_control_lines_init(&lines);
    unsigned told = 0;
    for (int i = 0; i < 1000; i++) {
        size_t room;
        weir_control_lines_room(&lines, &room);
        put(&lines, garbage, room < sizeof(garbage) ? room : sizeof(garbage));
        int result = weir_control_lines_next(&lines, &line);
        cr_assert(result == WEIR_CONTROL_LINE_NONE || result == -EMSGSIZE);
        told += result == -EMSGSIZE;
    }
    cr_assert_eq(told, 1);
    put(&lines, "tail\nping\n", 10);
    expect(&lines, "ping");
    expect(&lines, NULL);
}

Test(control_line, longest_line_is_whole)
{
    struct weir_control_lines lines;
    char text[WEIR_CONTROL_LINE_MAX + 1];
    memset(text, 'y', sizeof(text));
    text[WEIR_CONTROL_LINE_MAX] = '\n';
    weir_control_lines_init(&lines);
    put(&lines, text, sizeof(text));
    text[WEIR_CONTROL_LINE_MAX] = '\0';
    expect(&lines, text);
}

Test(control_line, lines_end_in_a_newline_or_a_zero_and_empty_ones_are_none)
{
    struct weir_control_lines lines;
    weir_control_lines_init(&lines);
    put(&lines, "\n\n\0a\n\0b\0\nc", 10);
    expect(&lines, "a");
    expect(&lines, "b");
    expect(&lines, NULL);
    put(&lines, "d\n", 2);
    expect(&lines, "cd");
    expect(&lines, NULL);
}

Test(control_line, line_comes_byte_by_byte)
{
    struct weir_control_lines lines;
    weir_control_lines_init(&lines);
    for (const char *c = "ping"; *c; c++) {
        put(&lines, c, 1);
        expect(&lines, NULL);
    }
    put(&lines, "\n", 1);
    expect(&lines, "ping");
}

Test(control_line, end_of_the_stream_ends_the_last_line)
{
    struct weir_control_lines lines;
    const char *line;
    weir_control_lines_init(&lines);
    cr_assert_eq(weir_control_lines_last(&lines, &line), WEIR_CONTROL_LINE_NONE);
    put(&lines, "one\ntwo", 7);
    cr_assert_eq(weir_control_lines_last(&lines, &line), WEIR_CONTROL_LINE);
    cr_assert_str_eq(line, "one");
    cr_assert_eq(weir_control_lines_last(&lines, &line), WEIR_CONTROL_LINE);
    cr_assert_str_eq(line, "two");
    cr_assert_eq(weir_control_lines_last(&lines, &line), WEIR_CONTROL_LINE_NONE);
}

/*
 * Productions of the event grammar: terms, numbers, cache names, breakpoints, patterns of tracepoints. What is refused,
 * and modifiers and groups, are in test_event_list.c, PMUs in test_event_pmu.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_parse.h"
#include "tests/engine/event_text.h"
#include "tests/engine/fake_tracefs.h"

/* ---- terms ---- */

Test(event_parse, terms_give_what_they_ask_for)
{
    struct weir_event_list list = event_text_parse_one(
        "cs/period=9,time=0,call-graph=dwarf,stack-size=4090,max-stack=5,nr=3,no-inherit,overwrite,percore,"
        "aux-output,aux-sample-size=64,name='a b,c'/");
    const struct weir_event_terms *terms = &list.events[0].terms;
    cr_expect_eq(terms->given, WEIR_TERM_PERIOD | WEIR_TERM_TIME | WEIR_TERM_CALL_GRAPH | WEIR_TERM_STACK_SIZE |
                                   WEIR_TERM_MAX_STACK | WEIR_TERM_MAX_EVENTS | WEIR_TERM_INHERIT |
                                   WEIR_TERM_OVERWRITE | WEIR_TERM_PERCORE | WEIR_TERM_AUX_OUTPUT |
                                   WEIR_TERM_AUX_SAMPLE_SIZE);
    cr_expect_eq(terms->period, 9);
    cr_expect_not(terms->time);
    cr_expect_eq(terms->call_graph, WEIR_CALL_GRAPH_DWARF);
    cr_expect_eq(terms->stack_bytes, 4096);
    cr_expect_eq(terms->max_stack, 5);
    cr_expect_eq(terms->max_events, 3);
    cr_expect_not(terms->inherit);
    cr_expect(terms->overwrite);
    cr_expect(terms->percore);
    cr_expect(terms->aux_output);
    cr_expect_eq(terms->aux_sample_bytes, 64);
    cr_expect_str_eq(list.events[0].name, "a b,c");
    cr_expect(list.events[0].name_given);
    weir_event_list_fini(&list);
}

/* perf's own test has cycles/period=100000,config2/. */
Test(event_parse, word_of_config_without_a_value_is_1)
{
    struct weir_event_list list = event_text_parse_one("cycles/period=100000,config1,config2/");
    cr_expect_eq(list.events[0].attr.config1, 1);
    cr_expect_eq(list.events[0].attr.config2, 1);
    cr_expect_eq(list.events[0].terms.period, 100000);
    weir_event_list_fini(&list);
}

Test(event_parse, last_of_contrary_terms_holds)
{
    struct weir_event_list list = event_text_parse_one("cs/period=9,freq=99,inherit,no-inherit,name=a,name=b/");
    cr_expect_eq(list.events[0].terms.given, WEIR_TERM_FREQ | WEIR_TERM_INHERIT);
    cr_expect_eq(list.events[0].terms.freq_hz, 99);
    cr_expect_not(list.events[0].terms.inherit);
    cr_expect_str_eq(list.events[0].name, "b");
    weir_event_list_fini(&list);
}

Test(event_parse, branch_types_are_bits)
{
    struct weir_event_list list = event_text_parse_one("cs/branch_type='any_call,u'/");
    cr_expect_eq(list.events[0].terms.given, WEIR_TERM_BRANCH);
    cr_expect_eq(list.events[0].terms.branch_filter, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER);
    weir_event_list_fini(&list);
}

/* ---- numbers, cache events, breakpoints ---- */

/* As perf 6.1 opens them. */
static const struct {
    const char *text;
    uint32_t type;
    uint64_t config;
} numeric[] = {
    {"4:0x3c", 4, 0x3c},
    {"1:3:u", 1, 3},
    {"99:5", 99, 5},
    {"1:0x3/period=9/", 1, 3},
    {"cycles/config=7/", 0, 7},
    {"cycles/config/", 0, 1},
    {"LLC-load-misses", 3, 0x10002},
    {"L1-dcache-loads", 3, 0},
    {"dTLB-load-misses", 3, 0x10003},
    {"branch-loads", 3, 5},
    {"node-prefetch-misses", 3, 0x10206},
    {"L1-dcache", 3, 0},
    {"LLC", 3, 2},
    {"L2-read-miss", 3, 0x10002},
    {"l1d-write", 3, 0x100},
    {"bpu-read", 3, 5},
    {"LLC-misses", 3, 0x10002},
    {"Data-TLB-Reference", 3, 3},
    {"LLC-misses-loads", 3, 0x10002},
    {"LLC-speculative-read", 3, 0x202},
    {"l1-d-load", 3, 0},
    {"L1-dcache-load-misses/period=7/k", 3, 0x10000},
    {"L1-dcache-load-misses/config=1/", 3, 1},
};

Test(event_parse, numbers_and_cache_names_give_type_and_config)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(numeric); i++) {
        struct weir_event_list list = event_text_parse_one(numeric[i].text);
        cr_expect_str_eq(list.events[0].name, numeric[i].text);
        cr_expect_eq(list.events[0].attr.type, numeric[i].type, "%s", numeric[i].text);
        cr_expect_eq(list.events[0].attr.config, numeric[i].config, "%s", numeric[i].text);
        weir_event_list_fini(&list);
    }
}

static const struct {
    const char *text;
    uint32_t access; /* r 1, w 2, x 4 */
    uint64_t length;
    bool user_only;
} breakpoints[] = {
    {"mem:0x1000", 3, 4, false},   {"mem:4096:r", 1, 4, false},      {"mem:0x1000/8:rw", 3, 8, false},
    {"mem:0x1000:x", 4, 8, false}, {"mem:0x1000/2:w:u", 2, 2, true}, {"mem:0x1000:rwx", 7, 4, false},
    {"mem:0x1000/3", 3, 3, false}, {"mem:0x1000/8:u", 3, 8, true},   {"mem:0x1000:rwu", 3, 4, true},
};

Test(event_parse, breakpoints_have_address_length_and_access)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(breakpoints); i++) {
        struct weir_event_list list = event_text_parse_one(breakpoints[i].text);
        const struct weir_event *event = &list.events[0];
        cr_expect_str_eq(event->name, breakpoints[i].text);
        cr_expect_eq(event->attr.type, PERF_TYPE_BREAKPOINT);
        cr_expect_eq(event->attr.bp_addr, 0x1000);
        cr_expect_eq(event->attr.bp_type, breakpoints[i].access, "%s", breakpoints[i].text);
        cr_expect_eq(event->attr.bp_len, breakpoints[i].length, "%s", breakpoints[i].text);
        cr_expect_eq(event->attr.exclude_kernel, breakpoints[i].user_only, "%s", breakpoints[i].text);
        weir_event_list_fini(&list);
    }
}

/* Those of perf's own parse-events test since 6.5. */
Test(event_parse, breakpoints_have_terms_behind_address_length_and_access)
{
    static const struct {
        const char *text;
        uint32_t access;
        uint64_t length;
        bool user_only;
    } named[] = {
        {"mem:0/name=b/", 3, 4, false},      {"mem:0:x/name=b/k", 4, 8, false},  {"mem:0/name=b/u", 3, 4, true},
        {"mem:0/1/name=b/", 3, 1, false},    {"mem:0/2:w/name=b/", 2, 2, false}, {"mem:0/4:rw/name=b/u", 3, 4, true},
        {"mem:0 / 8 /name=b/", 3, 8, false},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(named); i++) {
        struct weir_event_list list = event_text_parse_one(named[i].text);
        const struct weir_event *event = &list.events[0];
        cr_expect_str_eq(event->name, "b", "%s", named[i].text);
        cr_expect_eq(event->attr.bp_type, named[i].access, "%s", named[i].text);
        cr_expect_eq(event->attr.bp_len, named[i].length, "%s", named[i].text);
        cr_expect_eq(event->attr.exclude_kernel, named[i].user_only, "%s", named[i].text);
        weir_event_list_fini(&list);
    }
    struct weir_event_list list;
    cr_assert_eq(event_text_parse(&list, "mem:0/1/name=a/,mem:0x8/4:rw/name=b,period=7/", NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_expect_eq(list.events[0].terms.given, 0);
    cr_expect_eq(list.events[1].terms.period, 7);
    weir_event_list_fini(&list);
}

/* ---- tracepoints ---- */

Test(event_parse, pattern_stands_for_all_tracepoints_that_match)
{
    static const char *const texts[] = {"sched:sched_*", "*:sched_switch", "sch*:*switch:u", "[s]ched:sched_switc?"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct weir_event_list list = event_text_parse_one(texts[i]);
        cr_expect_str_eq(list.events[0].name, "sched:sched_switch", "%s", texts[i]);
        cr_expect_eq(list.events[0].attr.config, FAKE_SCHED_SWITCH_ID);
        weir_event_list_fini(&list);
    }
    struct weir_event_list list;
    cr_assert_eq(event_text_parse(&list, "*:*/call-graph=no/k", NULL), 0);
    cr_assert_eq(list.count, 3);
    for (size_t i = 0; i < list.count; i++) {
        cr_expect_eq(list.events[i].attr.exclude_user, 1);
        cr_expect_eq(list.events[i].terms.given, WEIR_TERM_CALL_GRAPH);
        cr_expect_eq(list.events[i].leader, i);
    }
    weir_event_list_fini(&list);
}

Test(event_parse, tracepoint_by_number_gets_its_names)
{
    struct weir_event_list list = event_text_parse_one("2:316");
    cr_expect_str_eq(list.events[0].name, "2:316");
    cr_expect_str_eq(list.events[0].tracepoint_system, "sched");
    cr_expect_str_eq(list.events[0].tracepoint_name, "sched_switch");
    weir_event_list_fini(&list);
    list = event_text_parse_one("2:5");
    cr_expect_null(list.events[0].tracepoint_system);
    weir_event_list_fini(&list);
}

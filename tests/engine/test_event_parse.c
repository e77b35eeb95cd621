/*
 * From -e text to events: the texts that are refused and at which column, and what each production gives. Tracepoints
 * come from a tracefs of the test's own making; PMUs are in test_event_parse_pmu.c.
 */
#include "engine/events/event_parse.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/event_text.h"
#include "tests/engine/fake_tracefs.h"

/* ---- refusals ---- */

struct refusal {
    const char *text;
    int code;
    const char *what;
    const char *hint;
};

#define HINT_MODIFIERS                                                                                                 \
    "modifiers are u (user), k (kernel), h (hypervisor), I (not idle), G (guest), H (host), p, pp, ppp, P (precise), " \
    "S (read the group), D (pinned), W (weak group), e (exclusive), b (by BPF), R (latency), X (keep the group)"
#define HINT_NAMES                                                                     \
    "'weir list' shows the events of this machine; a model's own ones are written as " \
    "cpu/event=0xNN,umask=0xNN/"
#define HINT_PATTERN "'weir list tracepoint' shows all of them; quote patterns, so that the shell does not expand them"
#define HINT_TERMS                                                                                            \
    "terms of every event are config, name, period, freq, time, call-graph, stack-size, max-stack, inherit, " \
    "no-inherit, overwrite, branch_type, cpu; others need a PMU before the slash"
#define HINT_TRACEPOINT_TERMS \
    "terms of a tracepoint are call-graph, stack-size, max-stack, inherit, no-inherit, overwrite and no-overwrite"

static const struct refusal refusals[] = {
    {"", -EINVAL, "an event expected at column 1, at the end of ''", ""},
    {"  ", -EINVAL, "an event expected at column 3, at the end of '  '", ""},
    {",", -EINVAL, "an event expected at column 1, not ','", ""},
    {"cs,", -EINVAL, "an event expected at column 4, at the end of 'cs,'", ""},
    {"cs,,faults", -EINVAL, "an event expected at column 4, not ','", ""},
    {":u", -EINVAL, "an event expected at column 1, not ':'", ""},
    {"cs faults", -EINVAL, "',' or the end expected at column 4, not 'faults'", ""},
    {"cs:u:k", -EINVAL, "',' or the end expected at column 5, not ':'", ""},
    {"cs\x01", -EINVAL, "',' or the end expected at column 3, not '?'", ""},

    {"cyclse", -ENOENT, "unknown event 'cyclse' at column 1", "did you mean 'cycles'?"},
    {"cs, cyclse:u", -ENOENT, "unknown event 'cyclse' at column 5", "did you mean 'cycles'?"},
    {"CYCLES", -ENOENT, "unknown event 'CYCLES' at column 1", HINT_NAMES},
    {"nothing-like-it", -ENOENT, "unknown event 'nothing-like-it' at column 1", HINT_NAMES},
    {"r", -ENOENT, "unknown event 'r' at column 1", HINT_NAMES},
    {"r12345678123456781", -EINVAL, "raw event 'r12345678123456781' at column 1 has more than 16 hex digits", ""},

    {"cs:", -EINVAL, "a modifier expected at column 4, at the end of 'cs:'", ""},
    {"cs:,faults", -EINVAL, "a modifier expected at column 4, not ','", ""},
    {"cs:ux", -EINVAL, "unknown modifier 'x' at column 5", HINT_MODIFIERS},
    {"cs:U", -EINVAL, "unknown modifier 'U' at column 4", HINT_MODIFIERS},
    {"cs:uku", -EINVAL, "modifier 'u' given twice at column 6", ""},
    {"cs:PP", -EINVAL, "modifier 'P' given twice at column 5", ""},
    {"cycles:pppp", -EINVAL, "modifier 'p' more than 3 times at column 11", ""},

    {"sched:", -EINVAL, "the name of a tracepoint expected at column 7, at the end of 'sched:'", ""},
    {"sched:*foo", -ENOENT, "no tracepoint matches 'sched:*foo' at column 1", HINT_PATTERN},
    {"cs,sch?t:sched_switch", -ENOENT, "no tracepoint matches 'sch?t:sched_switch' at column 4", HINT_PATTERN},
    {"sched:sched_switch/period=5/", -EINVAL, "unknown term 'period' at column 20", HINT_TRACEPOINT_TERMS},

    {"{", -EINVAL, "an event expected at column 2, at the end of '{'", ""},
    {"{}", -EINVAL, "an event expected at column 2, not '}'", ""},
    {"{cs,", -EINVAL, "an event expected at column 5, at the end of '{cs,'", ""},
    {"{cs", -EINVAL, "',' or '}' expected at column 4, at the end of '{cs'", ""},
    {"{cs faults}", -EINVAL, "',' or '}' expected at column 5, not 'faults'", ""},
    {"{{cs},faults}", -EINVAL, "an event (groups do not nest) expected at column 2, not '{'", ""},
    {"cs}", -EINVAL, "',' or the end expected at column 3, not '}'", ""},
    {"{cs}:", -EINVAL, "a modifier expected at column 6, at the end of '{cs}:'", ""},
    {"{cs}:ux", -EINVAL, "unknown modifier 'x' at column 7", HINT_MODIFIERS},
    {"{cs}u", -EINVAL, "',' or the end expected at column 5, not 'u'", ""},
    {"{cs:pp,faults}:pp", -EINVAL, "modifier 'p' more than 3 times for 'cs:pp', its group's included", ""},

    {"cs/", -EINVAL, "a term expected at column 4, at the end of 'cs/'", ""},
    {"cs/,/", -EINVAL, "a term expected at column 4, not ','", ""},
    {"cs/time,/", -EINVAL, "a term expected at column 9, not '/'", ""},
    {"cs/time", -EINVAL, "',' or '/' expected at column 8, at the end of 'cs/time'", ""},
    {"cs/period=/", -EINVAL, "a value expected at column 11, not '/'", ""},
    {"cs/period/", -EINVAL, "term 'period' at column 4 needs a value, a number", ""},
    {"cs/period=0/", -EINVAL, "value 0 of term 'period' at column 11 is not 1 to 9223372036854775807", ""},
    {"cs/period=x1/", -EINVAL, "value 'x1' of term 'period' at column 11 is not a number", ""},
    {"cs/freq=0x1ffffffff/", -EINVAL, "value 0x1ffffffff of term 'freq' at column 9 is not 1 to 4294967295", ""},
    {"cs/config=18446744073709551616/", -EINVAL,
     "value '18446744073709551616' of term 'config' at column 11 is not a number", ""},
    {"cs/time=2/", -EINVAL, "value 2 of term 'time' at column 9 is not 0 to 1", ""},
    {"cs/name=5/", -EINVAL, "term 'name' at column 4 needs a value, a word", ""},
    {"cs/name='a/", -EINVAL, "a value expected at column 9, not '''", ""},
    {"cs/name=''/", -EINVAL, "term 'name' at column 4 needs a value, a word", ""},
    {"cs/call-graph=bad/", -EINVAL, "value 'bad' of term 'call-graph' at column 15 is not fp, dwarf, lbr or no", ""},
    {"cs/zebra=5/", -EINVAL, "unknown term 'zebra' at column 4", HINT_TERMS},
    {"cs/perod=5/", -EINVAL, "unknown term 'perod' at column 4", "did you mean 'period'?"},
    {"cs/time/:", -EINVAL, "a modifier expected at column 10, at the end of 'cs/time/:'", ""},
    {"cs/time/ u", -EINVAL, "',' or the end expected at column 10, not 'u'", ""},

    {"nopmu/event=0x3c/", -ENOENT, "this machine has no PMU 'nopmu' (column 1)",
     "'weir list pmu' shows its PMUs; the kernel or hypervisor decides"},
    {"duration_time", -EINVAL, "event 'duration_time' at column 1 is for counting, not for recording", ""},

    {"LLC-foo", -EINVAL,
     "no cache event 'LLC-foo' (column 1): loads, stores or prefetches and refs or misses are what follows a cache's "
     "name",
     ""},
    {"LLC-lods", -EINVAL,
     "no cache event 'LLC-lods' (column 1): loads, stores or prefetches and refs or misses are what follows a cache's "
     "name",
     "did you mean 'LLC-loads'?"},
    {"LLC-loads-stores", -EINVAL,
     "no cache event 'LLC-loads-stores' (column 1): a cache event has one operation and one result",
     "did you mean 'LLC-load-misses'?"},
    {"cs,L1-icache-stores", -EINVAL, "no cache event 'L1-icache-stores' (column 4): this cache has no such operation",
     "did you mean 'L1-dcache-stores'?"},

    {"mem:", -EINVAL, "an address (a number) expected at column 5, at the end of 'mem:'", ""},
    {"mem:x", -EINVAL, "an address (a number) expected at column 5, not 'x'", ""},
    {"mem:0x1000/", -EINVAL, "the length of a breakpoint expected at column 12, at the end of 'mem:0x1000/'", ""},
    {"mem:0x1000/0", -EINVAL, "length of a breakpoint at column 12 is not 1 to 8", ""},
    {"mem:0x1000/9", -EINVAL, "length of a breakpoint at column 12 is not 1 to 8", ""},
    {"mem:0x1000/zebra=5/", -EINVAL, "unknown term 'zebra' at column 12", HINT_TERMS},
    {"mem:0x1000/4/perod=5/", -EINVAL, "unknown term 'perod' at column 14", "did you mean 'period'?"},
    {"mem:0x1000:rw/name=b", -EINVAL, "',' or '/' expected at column 21, at the end of 'mem:0x1000:rw/name=b'", ""},
    {"mem:0x1000:rwu/name=b/", -EINVAL, "',' or the end expected at column 15, not '/'", ""},
    {"mem:0x1000:", -EINVAL, "an access (r, w, x) or a modifier expected at column 12, at the end of 'mem:0x1000:'",
     ""},
    {"mem:0x1000:rwr", -EINVAL, "access 'r' given twice at column 14", ""},
    {"mem:0x1000:rwz", -EINVAL, "unknown modifier 'z' at column 14", HINT_MODIFIERS},

    {"1:", -EINVAL, "the config of the event (a number) expected at column 3, at the end of '1:'", ""},
    {"1:x", -EINVAL, "the config of the event (a number) expected at column 3, not 'x'", ""},
    {"4294967296:1", -EINVAL, "event type '4294967296' at column 1 has more than 32 bits", ""},
};

Test(event_parse, bad_text_is_refused_with_its_column)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        const struct refusal *refusal = &refusals[i];
        struct weir_event_list list;
        struct weir_error err = {0};
        cr_expect_eq(event_text_parse(&list, refusal->text, &err), refusal->code, "%s", refusal->text);
        cr_expect_eq(err.code, refusal->code, "%s", refusal->text);
        cr_expect_str_eq(err.what, refusal->what, "%s: %s", refusal->text, err.what);
        cr_expect_str_eq(err.hint, refusal->hint, "%s: %s", refusal->text, err.hint);
        cr_expect_eq(list.count, 0, "%s", refusal->text);
        weir_event_list_fini(&list);
    }
}

Test(event_parse, unknown_tracepoint_names_the_event_and_keeps_the_reason)
{
    struct weir_event_list list;
    struct weir_error err = {0};
    cr_expect_eq(event_text_parse(&list, "cs,sched:sched_swicth", &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "(event 'sched:sched_swicth' at column 4)"), "%s", err.what);
    cr_expect_not_null(strstr(err.hint, "sched_switch"), "%s", err.hint);
    weir_event_list_fini(&list);
}

Test(event_parse, misspelt_event_is_named_even_where_tracefs_cannot_be_read)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    const struct weir_event_sources nowhere = {.tracefs_root = "/nowhere", .sysfs_root = "/nowhere"};
    cr_expect_eq(weir_event_list_parse(&list, "cyclse:u", &nowhere, &err), -ENOENT);
    cr_expect_str_eq(err.what, "unknown event 'cyclse' at column 1");
    cr_expect_str_eq(err.hint, "did you mean 'cycles'?");
    weir_event_list_fini(&list);
}

Test(event_parse, modifiers_of_a_word_far_from_any_event_are_a_tracepoint)
{
    struct weir_event_list list;
    struct weir_error err = {0};
    cr_expect_eq(event_text_parse(&list, "nothing_like_it:u", &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "(event 'nothing_like_it:u' at column 1)"), "%s", err.what);
    weir_event_list_fini(&list);
}

Test(event_parse, failure_keeps_the_events_from_before)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err;
    cr_assert_eq(weir_event_list_parse(&list, "cs", NULL, &err), 0);
    cr_expect_eq(weir_event_list_parse(&list, "faults,cpu-clock:u,nope", NULL, &err), -ENOENT);
    cr_expect_eq(list.count, 1);
    cr_expect_str_eq(list.events[0].name, "cs");
    weir_event_list_fini(&list);
}

/* Allocations that one call makes: each is made to fail once, and must leave the list as it was. */
static void expect_survives_each_failure(const char *text, unsigned allocations)
{
    struct fake_tracefs fake;
    fake_tracefs_init(&fake);
    const struct weir_event_sources sources = {.tracefs_root = fake.root, .sysfs_root = fake.root};
    for (unsigned n = 0; n < allocations; n++) {
        struct weir_event_list list = WEIR_EVENT_LIST_INIT;
        struct weir_error err = {0};
        failing_alloc_after(n);
        cr_expect_eq(weir_event_list_parse(&list, text, &sources, &err), -ENOMEM, "%s: allocation %u", text, n);
        cr_expect_str_eq(err.what, "out of memory", "%s: allocation %u: %s", text, n, err.what);
        cr_expect_eq(list.count, 0);
        weir_event_list_fini(&list);
    }
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    failing_alloc_after(allocations);
    cr_expect_eq(weir_event_list_parse(&list, text, &sources, NULL), 0, "%s has no more allocations", text);
    failing_alloc_never();
    weir_event_list_fini(&list);
    fake_tracefs_fini(&fake);
}

Test(event_parse, parse_survives_each_failing_allocation)
{
    expect_survives_each_failure("cs", 2);                 /* the list, the name */
    expect_survives_each_failure("sched:sched_switch", 5); /* the path of sysfs, the list, three names */
    expect_survives_each_failure("cs,sched:sched_switch:u", 6);
}

Test(event_parse, errors_may_be_unwanted)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    cr_expect_eq(weir_event_list_parse(&list, "cyclse", NULL, NULL), -ENOENT);
    cr_expect_eq(weir_event_list_parse(&list, "cs:x", NULL, NULL), -EINVAL);
    weir_event_list_fini(&list);
}

/* ---- names ---- */

/* Every name that perf 6.1 takes for a generic event: tools/perf/util/parse-events.l. */
static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} symbols[] = {
    {"cpu-cycles", PERF_TYPE_HARDWARE, 0},
    {"cycles", PERF_TYPE_HARDWARE, 0},
    {"instructions", PERF_TYPE_HARDWARE, 1},
    {"cache-references", PERF_TYPE_HARDWARE, 2},
    {"cache-misses", PERF_TYPE_HARDWARE, 3},
    {"branch-instructions", PERF_TYPE_HARDWARE, 4},
    {"branches", PERF_TYPE_HARDWARE, 4},
    {"branch-misses", PERF_TYPE_HARDWARE, 5},
    {"bus-cycles", PERF_TYPE_HARDWARE, 6},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, 7},
    {"idle-cycles-frontend", PERF_TYPE_HARDWARE, 7},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, 8},
    {"idle-cycles-backend", PERF_TYPE_HARDWARE, 8},
    {"ref-cycles", PERF_TYPE_HARDWARE, 9},
    {"cpu-clock", PERF_TYPE_SOFTWARE, 0},
    {"task-clock", PERF_TYPE_SOFTWARE, 1},
    {"page-faults", PERF_TYPE_SOFTWARE, 2},
    {"faults", PERF_TYPE_SOFTWARE, 2},
    {"context-switches", PERF_TYPE_SOFTWARE, 3},
    {"cs", PERF_TYPE_SOFTWARE, 3},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, 4},
    {"migrations", PERF_TYPE_SOFTWARE, 4},
    {"minor-faults", PERF_TYPE_SOFTWARE, 5},
    {"major-faults", PERF_TYPE_SOFTWARE, 6},
    {"alignment-faults", PERF_TYPE_SOFTWARE, 7},
    {"emulation-faults", PERF_TYPE_SOFTWARE, 8},
    {"dummy", PERF_TYPE_SOFTWARE, 9},
    {"bpf-output", PERF_TYPE_SOFTWARE, 10},
    {"cgroup-switches", PERF_TYPE_SOFTWARE, 11},
    {"r0", PERF_TYPE_RAW, 0},
    {"r1a8", PERF_TYPE_RAW, 0x1a8},
    {"rFFffFFffFFffFFff", PERF_TYPE_RAW, UINT64_MAX},
};

Test(event_parse, every_name_gives_its_type_and_config)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(symbols); i++) {
        struct weir_event_list list = event_text_parse_one(symbols[i].name);
        const struct weir_event *event = &list.events[0];
        cr_expect_str_eq(event->name, symbols[i].name);
        cr_expect_eq(event->attr.type, symbols[i].type, "%s", symbols[i].name);
        cr_expect_eq(event->attr.config, symbols[i].config, "%s", symbols[i].name);
        cr_expect_eq(event->attr.exclude_guest, 1, "%s", symbols[i].name);
        cr_expect_null(event->tracepoint_system);
        cr_expect_not(event->modifiers_given);
        cr_expect_not(event->precise_max);
        cr_expect_not(event->sideband);
        weir_event_list_fini(&list);
    }
}

Test(event_parse, comma_list_keeps_order_and_spelling)
{
    struct weir_event_list list;
    struct weir_error err;
    cr_assert_eq(event_text_parse(&list, " cs:u , faults,sched:sched_switch:k, r1A8 ", &err), 0, "%s", err.what);
    cr_assert_eq(list.count, 4);
    cr_expect_str_eq(list.events[0].name, "cs:u");
    cr_expect_str_eq(list.events[1].name, "faults");
    cr_expect_str_eq(list.events[2].name, "sched:sched_switch");
    cr_expect_str_eq(list.events[3].name, "r1A8");
    weir_event_list_fini(&list);
}

Test(event_parse, tracepoint_has_id_parts_and_a_name_without_modifiers)
{
    struct weir_event_list list = event_text_parse_one("sched:sched_switch:u");
    const struct weir_event *event = &list.events[0];
    cr_expect_eq(event->attr.type, PERF_TYPE_TRACEPOINT);
    cr_expect_eq(event->attr.config, FAKE_SCHED_SWITCH_ID);
    cr_expect_str_eq(event->name, "sched:sched_switch");
    cr_expect_str_eq(event->tracepoint_system, "sched");
    cr_expect_str_eq(event->tracepoint_name, "sched_switch");
    cr_expect_eq(event->attr.exclude_kernel, 1);
    cr_expect(event->modifiers_given);
    weir_event_list_fini(&list);
}

Test(event_parse, tracepoint_may_look_like_modifiers)
{
    struct weir_event_list list = event_text_parse_one("u:k:h");
    cr_expect_eq(list.events[0].attr.config, FAKE_U_K_ID);
    cr_expect_str_eq(list.events[0].name, "u:k");
    cr_expect_eq(list.events[0].attr.exclude_user, 1);
    weir_event_list_fini(&list);
}

/* ---- modifiers ---- */

/* What perf 6.1 was seen to set for cpu-clock:MODIFIERS; `perf record -vv -a -e cpu-clock:MODIFIERS true` shows it. */
static const struct modifier_case {
    const char *text;
    const char *attr; /* the exclude_* and other bits set, by their letters, see attr_letters() */
    bool given;
} modifier_cases[] = {
    {"cpu-clock", "guest", false},
    {"cpu-clock:u", "kernel hv guest", true},
    {"cpu-clock:k", "user hv", true},
    {"cpu-clock:h", "user kernel", true},
    {"cpu-clock:uk", "hv guest", true},
    {"cpu-clock:ukhI", "idle guest", true},
    {"cpu-clock:I", "idle", true},
    {"cpu-clock:H", "guest", true},
    {"cpu-clock:G", "host", true},
    {"cpu-clock:GH", "", true},
    {"cpu-clock:Gu", "kernel hv host", true},
    {"cpu-clock:uG", "kernel hv host", true},
    {"cpu-clock:p", "guest precise1", false},
    {"cpu-clock:ppp", "guest precise3", false},
    {"cpu-clock:P", "precise3 max", false},
    {"cpu-clock:pGP", "host precise3 max", true},
    {"cpu-clock:D", "pinned", false},
    {"cpu-clock:e", "exclusive", false},
    {"cpu-clock:RX", "", false},
    {"cpu-clock:uX", "kernel hv guest", true},
};

static void attr_letters(const struct weir_event *event, char *text, size_t bytes)
{
    const struct perf_event_attr *attr = &event->attr;
    char precise[16] = "";
    if (attr->precise_ip)
        snprintf(precise, sizeof(precise), " precise%u", (unsigned)attr->precise_ip);
    char all[128];
    snprintf(all, sizeof(all), "%s%s%s%s%s%s%s%s%s%s", attr->exclude_user ? " user" : "",
             attr->exclude_kernel ? " kernel" : "", attr->exclude_hv ? " hv" : "", attr->exclude_idle ? " idle" : "",
             attr->exclude_host ? " host" : "", attr->exclude_guest ? " guest" : "", precise,
             event->precise_max ? " max" : "", attr->pinned ? " pinned" : "", attr->exclusive ? " exclusive" : "");
    snprintf(text, bytes, "%s", all[0] ? all + 1 : all);
}

Test(event_parse, modifiers_set_what_perf_sets)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(modifier_cases); i++) {
        const struct modifier_case *wanted = &modifier_cases[i];
        struct weir_event_list list = event_text_parse_one(wanted->text);
        char letters[128];
        attr_letters(&list.events[0], letters, sizeof(letters));
        cr_expect_str_eq(letters, wanted->attr, "%s: %s", wanted->text, letters);
        cr_expect_eq(list.events[0].modifiers_given, wanted->given, "%s", wanted->text);
        cr_expect_str_eq(list.events[0].name, wanted->text);
        weir_event_list_fini(&list);
    }
}

/* ---- groups ---- */

Test(event_parse, group_has_a_leader_a_name_and_modifiers)
{
    struct weir_event_list list;
    struct weir_error err = {0};
    cr_assert_eq(event_text_parse(&list, "faults,grp{cs:u,dummy}:kSWDe,{faults}", &err), 0, "%s", err.what);
    cr_assert_eq(list.count, 4);
    static const size_t leaders[] = {0, 1, 1, 3};
    for (size_t i = 0; i < list.count; i++)
        cr_expect_eq(list.events[i].leader, leaders[i]);
    cr_expect_str_eq(list.events[1].group_name, "grp");
    cr_expect_null(list.events[2].group_name);
    for (size_t i = 1; i <= 2; i++) {
        cr_expect(list.events[i].sample_read);
        cr_expect(list.events[i].weak_group);
        cr_expect_eq(list.events[i].attr.pinned, i == 1, "only a leader is pinned");
        cr_expect_eq(list.events[i].attr.exclusive, i == 1);
        cr_expect_eq(list.events[i].attr.exclude_hv, 1);
        cr_expect_eq(list.events[i].attr.exclude_guest, 1, "as without the group's modifiers");
    }
    cr_expect_eq(list.events[1].attr.exclude_user, 0);
    cr_expect_eq(list.events[2].attr.exclude_user, 1);
    cr_expect_str_eq(list.events[1].name, "cs:u");
    cr_expect_str_eq(list.events[2].name, "dummy");
    weir_event_list_fini(&list);
}

/* exclude_* of both members of a group, as perf 6.1 opens them, by attr_letters(). */
static const struct {
    const char *text, *first, *second;
} group_modifiers[] = {
    {"{cs,faults}:uk", "hv guest", "hv guest"},
    {"{cs:u,faults}:k", "hv guest", "user hv guest"},
    {"{cs:I,faults}:u", "kernel hv idle guest", "kernel hv guest"},
    {"{cs:G,faults}:u", "kernel hv host", "kernel hv guest"},
    {"{cs:G,faults:H}:I", "idle host", "idle guest"},
    {"{cs,faults}:G", "host", "host"},
    {"{cs:u,faults:k}:p", "kernel hv guest precise1", "user hv guest precise1"},
    {"{cs:pp,faults}:p", "guest precise3", "guest precise1"},
    {"{cs:P,faults}:u", "kernel hv guest precise3 max", "kernel hv guest"},
};

Test(event_parse, modifiers_of_a_group_come_on_top_of_its_members)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(group_modifiers); i++) {
        struct weir_event_list list;
        cr_assert_eq(event_text_parse(&list, group_modifiers[i].text, NULL), 0);
        cr_assert_eq(list.count, 2);
        char letters[128];
        attr_letters(&list.events[0], letters, sizeof(letters));
        cr_expect_str_eq(letters, group_modifiers[i].first, "%s: %s", group_modifiers[i].text, letters);
        attr_letters(&list.events[1], letters, sizeof(letters));
        cr_expect_str_eq(letters, group_modifiers[i].second, "%s: %s", group_modifiers[i].text, letters);
        weir_event_list_fini(&list);
    }
}

/* ---- the default event ---- */

static bool machine_is_amd(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    bool amd = false;
    while (file && fgets(line, sizeof(line), file))
        amd = amd || strstr(line, "AuthenticAMD");
    if (file)
        fclose(file);
    return amd;
}

Test(event_parse, default_event_is_cycles_at_the_highest_precision)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    const struct weir_event_sources nowhere = {.tracefs_root = "/nowhere", .sysfs_root = "/nowhere"};
    cr_assert_eq(weir_event_list_add_default(&list, &nowhere), 0);
    cr_assert_eq(list.count, 1);
    const struct weir_event *event = &list.events[0];
    cr_expect_str_eq(event->name, "cycles:P");
    cr_expect_eq(event->attr.type, PERF_TYPE_HARDWARE);
    cr_expect_eq(event->attr.config, PERF_COUNT_HW_CPU_CYCLES);
    cr_expect_eq(event->attr.precise_ip, 3);
    cr_expect_eq(event->attr.exclude_guest, !machine_is_amd());
    cr_expect(event->precise_max);
    cr_expect_not(event->modifiers_given);
    weir_event_list_fini(&list);
}

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
    cr_expect_not(terms->inherit);
    cr_expect(terms->overwrite);
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

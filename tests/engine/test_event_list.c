/*
 * From -e text to events: what is refused and at which column, what each name and modifier sets, and what an event
 * becomes when the kernel refuses it. Tracepoints come from a tracefs of the test's own making.
 */
#include "engine/events/event_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_config.h"
#include "engine/events/event_parse.h"
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
    "S (read the group), D (pinned), W (weak group), e (exclusive), b (by BPF)"
#define HINT_NAMES                                                                                                  \
    "'weir list' shows the events of this machine; a model's own ones that only perf's tables name are written as " \
    "cpu/event=0xNN,umask=0xNN/"
#define HINT_PATTERN "'weir list tracepoint' shows all of them; quote patterns, or the shell expands them"
#define HINT_TERMS                                                                                            \
    "terms of every event are config, name, period, freq, time, call-graph, stack-size, max-stack, inherit, " \
    "no-inherit, overwrite, branch_type; others need a PMU before the slash"
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
     "'weir list pmu' shows those that it has; its kernel or hypervisor decides"},
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

Test(event_list, bad_text_is_refused_with_its_column)
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

Test(event_list, unknown_tracepoint_names_the_event_and_keeps_the_reason)
{
    struct weir_event_list list;
    struct weir_error err = {0};
    cr_expect_eq(event_text_parse(&list, "cs,sched:sched_swicth", &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "(event 'sched:sched_swicth' at column 4)"), "%s", err.what);
    cr_expect_not_null(strstr(err.hint, "sched_switch"), "%s", err.hint);
    weir_event_list_fini(&list);
}

Test(event_list, misspelt_event_is_named_even_where_tracefs_cannot_be_read)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    const struct weir_event_sources nowhere = {.tracefs_root = "/nowhere", .sysfs_root = "/nowhere"};
    cr_expect_eq(weir_event_list_parse(&list, "cyclse:u", &nowhere, &err), -ENOENT);
    cr_expect_str_eq(err.what, "unknown event 'cyclse' at column 1");
    cr_expect_str_eq(err.hint, "did you mean 'cycles'?");
    weir_event_list_fini(&list);
}

Test(event_list, modifiers_of_a_word_far_from_any_event_are_a_tracepoint)
{
    struct weir_event_list list;
    struct weir_error err = {0};
    cr_expect_eq(event_text_parse(&list, "nothing_like_it:u", &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "(event 'nothing_like_it:u' at column 1)"), "%s", err.what);
    weir_event_list_fini(&list);
}

Test(event_list, failure_keeps_the_events_from_before)
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

Test(event_list, parse_survives_each_failing_allocation)
{
    expect_survives_each_failure("cs", 2);                 /* the list, the name */
    expect_survives_each_failure("sched:sched_switch", 5); /* the path of sysfs, the list, three names */
    expect_survives_each_failure("cs,sched:sched_switch:u", 6);
}

static int add_default(struct weir_event_list *list)
{
    return weir_event_list_add_default(list, NULL);
}

Test(event_list, own_events_survive_each_failing_allocation)
{
    int (*const add[])(struct weir_event_list *) = {add_default, weir_event_list_add_sideband};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(add); i++) {
        for (unsigned n = 0; n < 2; n++) { /* the list, the name */
            struct weir_event_list list = WEIR_EVENT_LIST_INIT;
            failing_alloc_after(n);
            cr_expect_eq(add[i](&list), -ENOMEM);
            cr_expect_eq(list.count, 0);
            cr_expect_eq(add[i](&list), 0);
            weir_event_list_fini(&list);
        }
    }
}

Test(event_list, fallback_without_memory_leaves_the_event_as_it_was)
{
    struct weir_event_list list = event_text_parse_one("cycles:P");
    struct perf_event_attr before = list.events[0].attr;
    failing_alloc_after(0);
    cr_expect_not(weir_event_fall_back_to_software(&list.events[0]));
    failing_alloc_after(0);
    cr_expect_not(weir_event_fall_back_to_user(&list.events[0]));
    cr_expect_str_eq(list.events[0].name, "cycles:P");
    cr_expect_arr_eq(&list.events[0].attr, &before, sizeof(before));
    weir_event_list_fini(&list);
}

Test(event_list, errors_may_be_unwanted)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    cr_expect_eq(weir_event_list_parse(&list, "cyclse", NULL, NULL), -ENOENT);
    cr_expect_eq(weir_event_list_parse(&list, "cs:x", NULL, NULL), -EINVAL);
    weir_event_list_fini(&list);
}

Test(event_list, fini_takes_null_empty_and_used_lists)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    weir_event_list_fini(NULL);
    weir_event_list_fini(&list);
    cr_assert_eq(weir_event_list_parse(&list, "cs", NULL, NULL), 0);
    weir_event_list_fini(&list);
    weir_event_list_fini(&list);
    cr_expect_eq(list.count, 0);
    cr_expect_null(list.events);
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

Test(event_list, every_name_gives_its_type_and_config)
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

Test(event_list, comma_list_keeps_order_and_spelling)
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

Test(event_list, list_grows_as_needed)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    for (int i = 0; i < 100; i++)
        cr_assert_eq(weir_event_list_parse(&list, "cs,faults", NULL, NULL), 0);
    cr_expect_eq(list.count, 200);
    cr_expect_str_eq(list.events[199].name, "faults");
    weir_event_list_fini(&list);
}

Test(event_list, tracepoint_has_id_parts_and_a_name_without_modifiers)
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

Test(event_list, tracepoint_may_look_like_modifiers)
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

Test(event_list, modifiers_set_what_perf_sets)
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

/* ---- events that weir adds ---- */

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

Test(event_list, default_event_is_cycles_at_the_highest_precision)
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

Test(event_list, sideband_event_is_told_from_a_dummy_of_the_user)
{
    struct weir_event_list list = event_text_parse_one("dummy:u");
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    cr_assert_eq(list.count, 2);
    cr_expect_not(list.events[0].sideband);
    cr_expect(list.events[1].sideband);
    cr_expect_str_eq(list.events[1].name, "dummy:u");
    cr_expect_eq(list.events[1].attr.type, PERF_TYPE_SOFTWARE);
    cr_expect_eq(list.events[1].attr.config, PERF_COUNT_SW_DUMMY);
    weir_event_list_fini(&list);
}

/* ---- fallbacks ---- */

Test(event_list, only_cycles_fall_back_to_the_clock)
{
    const char *const others[] = {"instructions", "cpu-clock", "page-faults", "r0", "sched:sched_switch"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(others); i++) {
        struct weir_event_list list = event_text_parse_one(others[i]);
        struct perf_event_attr before = list.events[0].attr;
        cr_expect_not(weir_event_fall_back_to_software(&list.events[0]), "%s", others[i]);
        cr_expect_str_eq(list.events[0].name, others[i]);
        cr_expect_arr_eq(&list.events[0].attr, &before, sizeof(before));
        weir_event_list_fini(&list);
    }
}

Test(event_list, clock_keeps_the_modifiers_that_it_can_honour)
{
    static const struct {
        const char *text, *name;
        bool user_only;
    } cases[] = {
        {"cycles", "cpu-clock", false},
        {"cpu-cycles", "cpu-clock", false},
        {"cycles:P", "cpu-clock", false},
        {"cycles:ppp", "cpu-clock", false},
        {"cycles:u", "cpu-clock:u", true},
        {"cycles:ppuH", "cpu-clock:uH", true},
        {"cycles:uppp", "cpu-clock:u", true},
        {"0:0:up", "cpu-clock:u", true},
        {"cycles//p", "cpu-clock//", false},
        {"cycles/period=9/:p", "cpu-clock/period=9/", false},
        {"cycles/period=9/ : p", "cpu-clock/period=9/", false},
        {"cycles/period=9/:pu", "cpu-clock/period=9/:u", true},
        {"cycles/period=9/up", "cpu-clock/period=9/u", true},
        {"cycles/name=a:p/u", "a:p", true},
        {"cycles : p", "cpu-clock", false},
        {"cycles : up", "cpu-clock:u", true},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list = event_text_parse_one(cases[i].text);
        struct weir_event *event = &list.events[0];
        cr_expect(weir_event_fall_back_to_software(event));
        cr_expect_str_eq(event->name, cases[i].name, "%s: %s", cases[i].text, event->name);
        cr_expect_eq(event->attr.type, PERF_TYPE_SOFTWARE);
        cr_expect_eq(event->attr.config, PERF_COUNT_SW_CPU_CLOCK);
        cr_expect_eq(event->attr.precise_ip, 0);
        cr_expect_eq(event->attr.exclude_kernel, cases[i].user_only);
        cr_expect_not(weir_event_fall_back_to_software(event), "a clock has nothing to fall back to");
        cr_expect_not(weir_event_lower_precision(event));
        weir_event_list_fini(&list);
    }
}

Test(event_list, precision_is_lowered_step_by_step_only_when_it_was_left_open)
{
    struct weir_event_list list = event_text_parse_one("cycles:pp");
    cr_expect_not(weir_event_lower_precision(&list.events[0]));
    cr_expect_eq(list.events[0].attr.precise_ip, 2);
    weir_event_list_fini(&list);

    list = event_text_parse_one("cycles:P");
    for (unsigned precise = 3; precise-- > 0;) {
        cr_expect(weir_event_lower_precision(&list.events[0]));
        cr_expect_eq(list.events[0].attr.precise_ip, precise);
    }
    cr_expect_not(weir_event_lower_precision(&list.events[0]));
    cr_expect_eq(list.events[0].attr.precise_ip, 0);
    weir_event_list_fini(&list);
}

Test(event_list, events_with_a_say_about_the_kernel_do_not_fall_back_to_user_space)
{
    const char *const texts[] = {"cycles:u", "cycles:k", "cpu-clock:H", "sched:sched_switch"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct weir_event_list list = event_text_parse_one(texts[i]);
        cr_expect_not(weir_event_fall_back_to_user(&list.events[0]), "%s", texts[i]);
        cr_expect_str_eq(list.events[0].name, texts[i]);
        weir_event_list_fini(&list);
    }
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    cr_expect_not(weir_event_fall_back_to_user(&list.events[0]));
    weir_event_list_fini(&list);
}

Test(event_list, user_space_fallback_is_named_like_perfs)
{
    static const char *const names[][2] = {
        {"cycles", "cycles:u"},
        {"cycles:P", "cycles:Pu"},
        {"r1a8", "r1a8:u"},
        {"1:3", "1:3:u"},
        {"mem:0x10", "mem:0x10:u"},
        {"mem:0x10:rw", "mem:0x10:rwu"},
        {"mem:0x10:rp", "mem:0x10:rpu"},
        {"mem:0x10/8:x", "mem:0x10/8:xu"},
        {"cs/period=9/", "cs/period=9/u"},
        {"cs/period=9/D", "cs/period=9/Du"},
        {"cs/name=a/", "a"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        struct weir_event_list list = event_text_parse_one(names[i][0]);
        struct weir_event *event = &list.events[0];
        cr_expect(weir_event_fall_back_to_user(event));
        cr_expect_str_eq(event->name, names[i][1]);
        cr_expect_eq(event->attr.exclude_kernel, 1);
        cr_expect_eq(event->attr.exclude_hv, 1);
        cr_expect_eq(event->attr.exclude_user, 0);
        cr_expect_not(weir_event_fall_back_to_user(event), "once");
        weir_event_list_fini(&list);
    }
}

/* ---- groups ---- */

Test(event_list, group_has_a_leader_a_name_and_modifiers)
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

Test(event_list, one_group_of_all_has_the_first_as_leader)
{
    struct weir_event_list list;
    cr_assert_eq(event_text_parse(&list, "cs,{faults,dummy},cpu-clock", NULL), 0);
    weir_event_list_group(&list);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(list.events[i].leader, 0);
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

Test(event_list, modifiers_of_a_group_come_on_top_of_its_members)
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

/* ---- samples under ids of other recorders ---- */

static const struct {
    const char *events;
    int found, faults; /* when nobody knows whose id it is; when that of page faults */
} misnamed[] = {
    {"cycles,cpu-clock,task-clock,dummy,bpf-output,4:1", -1, -1},
    {"cycles,faults", 1, 1},
    {"cs", 0, -1},
    {"cs,faults", -1, 1},
    {"cs:u,cs:k", -1, -1},
    {"faults:u,faults:k,cs", -1, -1},
    {"{cs,faults,migrations}:S", 0, -1}, /* members have no samples */
    {"cpu-clock,1:11", 1, -1},
};

Test(event_list, samples_of_nobody_are_of_the_only_event_that_the_kernel_mixes_up)
{
    const struct weir_event named = {.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(misnamed); i++) {
        struct weir_event_list list;
        cr_assert_eq(event_text_parse(&list, misnamed[i].events, NULL), 0, "%s", misnamed[i].events);
        cr_assert_eq(weir_event_list_add_sideband(&list), 0);
        weir_event_list_configure(&list, &(struct weir_event_config){.freq_hz = 99});
        cr_expect_eq(weir_event_list_find_misnamed(&list, NULL), misnamed[i].found, "%s", misnamed[i].events);
        cr_expect_eq(weir_event_list_find_misnamed(&list, &named), misnamed[i].faults, "%s", misnamed[i].events);
        weir_event_list_fini(&list);
    }
}

/* ---- what counts mean ---- */

static bool counts_samples(uint32_t type, uint64_t config, const char *system, const char *name)
{
    char system_copy[32], name_copy[32];
    snprintf(system_copy, sizeof(system_copy), "%s", system ? system : "");
    snprintf(name_copy, sizeof(name_copy), "%s", name ? name : "");
    struct weir_event event = {
        .attr = {.type = type, .config = config, .sample_period = 1},
        .tracepoint_system = system ? system_copy : NULL,
        .tracepoint_name = name ? name_copy : NULL,
    };
    struct weir_event every_second = event, by_frequency = event;
    every_second.attr.sample_period = 2;
    by_frequency.attr.freq = 1;
    cr_expect_not(weir_event_counts_samples(&every_second));
    cr_expect_not(weir_event_counts_samples(&by_frequency));
    return weir_event_counts_samples(&event);
}

Test(event_list, events_that_happen_count_their_samples_and_those_that_measure_do_not)
{
    cr_expect(counts_samples(PERF_TYPE_TRACEPOINT, 1, "sched", "sched_switch"));
    cr_expect(counts_samples(PERF_TYPE_TRACEPOINT, 1, "probe", "sched_stat_runtime"));
    cr_expect_not(counts_samples(PERF_TYPE_TRACEPOINT, 1, "sched", "sched_stat_runtime"));
    cr_expect_not(counts_samples(PERF_TYPE_TRACEPOINT, 1, "sched", "sched_stat_wait"));
    cr_expect(counts_samples(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, NULL, NULL));
    cr_expect_not(counts_samples(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, NULL, NULL));
    cr_expect_not(counts_samples(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, NULL, NULL));
    cr_expect(counts_samples(PERF_TYPE_BREAKPOINT, 0, NULL, NULL));
    cr_expect_not(counts_samples(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL, NULL));
}

Test(event_list, tracepoints_of_being_woken_count_what_happens_to_tasks_that_sleep)
{
    static char sched[] = "sched", probe[] = "probe", waking[] = "sched_waking", wakeup[] = "sched_wakeup",
                wakeup_new[] = "sched_wakeup_new", switches[] = "sched_switch";
    struct weir_event event = {.attr = {.type = PERF_TYPE_TRACEPOINT, .sample_period = 1}, .tracepoint_system = sched};
    char *const names[] = {waking, wakeup, wakeup_new, switches};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        event.tracepoint_name = names[i];
        cr_expect_eq(weir_event_counts_sleepers(&event), names[i] != switches, "%s", names[i]);
    }
    event.tracepoint_name = waking;
    event.attr.sample_period = 2;
    cr_expect_not(weir_event_counts_sleepers(&event), "its count is not that of samples anyway");
    event.attr.sample_period = 1;
    event.tracepoint_system = probe;
    cr_expect_not(weir_event_counts_sleepers(&event), "one that only has the name");
    cr_expect_not(weir_event_counts_sleepers(&(struct weir_event){.attr = {.sample_period = 1}}));
}

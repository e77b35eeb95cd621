/*
 * From -e text to events: what is refused and at which column, what each name and modifier sets, and what an event
 * becomes when the kernel refuses it. Tracepoints come from a tracefs of the test's own making.
 */
#include "engine/event_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/event_list_internal.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_tracefs.h"

/* Parses with the fake tracefs into an empty list. */
static int parse(struct weir_event_list *list, const char *text, struct weir_error *err)
{
    struct fake_tracefs fake;
    fake_tracefs_init(&fake);
    *list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    int result = weir_event_list_parse_with(list, text, fake.root, err);
    fake_tracefs_fini(&fake);
    return result;
}

/* Parses one event that must be right. */
static struct weir_event_list parse_one(const char *text)
{
    struct weir_event_list list;
    struct weir_error err;
    cr_assert_eq(parse(&list, text, &err), 0, "%s: %s", text, err.what);
    cr_assert_eq(list.count, 1, "%s", text);
    return list;
}

/* ---- refusals ---- */

struct refusal {
    const char *text;
    int code;
    const char *what;
    const char *hint;
};

#define HINT_MODIFIERS                                                                                                 \
    "modifiers are u (user), k (kernel), h (hypervisor), I (not idle), G (guest), H (host), p, pp, ppp, P (precise), " \
    "D (pinned), e (exclusive)"
#define HINT_NAMES                                                                                                     \
    "events are the generic hardware and software ones of perf-list(1), raw ones (rNNN, hexadecimal) and tracepoints " \
    "(SYSTEM:NAME)"

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
    {"cs:S", -EINVAL, "modifier 'S' at column 4 is for event groups", ""},
    {"cs:uW", -EINVAL, "modifier 'W' at column 5 is for event groups", ""},
    {"cs:b", -EINVAL, "modifier 'b' at column 4 is for counting, not for recording", ""},

    {"sched:", -EINVAL, "the name of a tracepoint expected at column 7, at the end of 'sched:'", ""},
    {"sched:*", -EINVAL, "tracepoint pattern at column 1 is not supported", "name each tracepoint: -e SYSTEM:NAME,..."},
    {"cs,sch?d:sched_switch", -EINVAL, "tracepoint pattern at column 4 is not supported",
     "name each tracepoint: -e SYSTEM:NAME,..."},
    {"{cs,faults}", -EINVAL, "event group at column 1 is not supported", "list the events without braces: -e a,b"},
    {"cpu/event=0x3c/", -EINVAL, "event with terms (/.../) at column 1 is not supported",
     "a raw event may be written as rNNN"},
    {"mem:0x1000:rw", -EINVAL, "hardware breakpoint (mem:) at column 1 is not supported",
     "record a tracepoint or a software event"},
};

Test(event_list, bad_text_is_refused_with_its_column)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        const struct refusal *refusal = &refusals[i];
        struct weir_event_list list;
        struct weir_error err = {0};
        cr_expect_eq(parse(&list, refusal->text, &err), refusal->code, "%s", refusal->text);
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
    cr_expect_eq(parse(&list, "cs,sched:sched_swicth", &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "(event 'sched:sched_swicth' at column 4)"), "%s", err.what);
    cr_expect_not_null(strstr(err.hint, "sched_switch"), "%s", err.hint);
    weir_event_list_fini(&list);
}

Test(event_list, misspelt_event_is_named_even_where_tracefs_cannot_be_read)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    cr_expect_eq(weir_event_list_parse_with(&list, "cyclse:u", "/nowhere", &err), -ENOENT);
    cr_expect_str_eq(err.what, "unknown event 'cyclse' at column 1");
    cr_expect_str_eq(err.hint, "did you mean 'cycles'?");
    weir_event_list_fini(&list);
}

Test(event_list, modifiers_of_a_word_far_from_any_event_are_a_tracepoint)
{
    struct weir_event_list list;
    struct weir_error err = {0};
    cr_expect_eq(parse(&list, "nothing_like_it:u", &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "(event 'nothing_like_it:u' at column 1)"), "%s", err.what);
    weir_event_list_fini(&list);
}

Test(event_list, failure_keeps_the_events_from_before)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err;
    cr_assert_eq(weir_event_list_parse(&list, "cs", &err), 0);
    cr_expect_eq(weir_event_list_parse(&list, "faults,cpu-clock:u,nope", &err), -ENOENT);
    cr_expect_eq(list.count, 1);
    cr_expect_str_eq(list.events[0].name, "cs");
    weir_event_list_fini(&list);
}

/* Allocations that one call makes: each is made to fail once, and must leave the list as it was. */
static void expect_survives_each_failure(const char *text, unsigned allocations)
{
    struct fake_tracefs fake;
    fake_tracefs_init(&fake);
    for (unsigned n = 0; n < allocations; n++) {
        struct weir_event_list list = WEIR_EVENT_LIST_INIT;
        struct weir_error err = {0};
        failing_alloc_after(n);
        cr_expect_eq(weir_event_list_parse_with(&list, text, fake.root, &err), -ENOMEM, "%s: allocation %u", text, n);
        cr_expect_str_eq(err.what, "out of memory", "%s: allocation %u: %s", text, n, err.what);
        cr_expect_eq(list.count, 0);
        weir_event_list_fini(&list);
    }
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    failing_alloc_after(allocations);
    cr_expect_eq(weir_event_list_parse_with(&list, text, fake.root, NULL), 0, "%s has no more allocations", text);
    failing_alloc_never();
    weir_event_list_fini(&list);
    fake_tracefs_fini(&fake);
}

Test(event_list, parse_survives_each_failing_allocation)
{
    expect_survives_each_failure("cs", 2);                 /* the list, the name */
    expect_survives_each_failure("sched:sched_switch", 4); /* the list, three names */
    expect_survives_each_failure("cs,sched:sched_switch:u", 5);
}

Test(event_list, own_events_survive_each_failing_allocation)
{
    int (*const add[])(struct weir_event_list *) = {weir_event_list_add_default, weir_event_list_add_sideband};
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
    struct weir_event_list list = parse_one("cycles:P");
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
    cr_expect_eq(weir_event_list_parse(&list, "cyclse", NULL), -ENOENT);
    cr_expect_eq(weir_event_list_parse(&list, "cs:x", NULL), -EINVAL);
    weir_event_list_fini(&list);
}

Test(event_list, fini_takes_null_empty_and_used_lists)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    weir_event_list_fini(NULL);
    weir_event_list_fini(&list);
    cr_assert_eq(weir_event_list_parse(&list, "cs", NULL), 0);
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
        struct weir_event_list list = parse_one(symbols[i].name);
        const struct weir_event *event = &list.events[0];
        cr_expect_str_eq(event->name, symbols[i].name);
        cr_expect_eq(event->attr.type, symbols[i].type, "%s", symbols[i].name);
        cr_expect_eq(event->attr.config, symbols[i].config, "%s", symbols[i].name);
        cr_expect_eq(event->attr.exclude_guest, 1, "%s", symbols[i].name);
        cr_expect_null(event->tracepoint_system);
        cr_expect_not(event->modifiers_given);
        cr_expect_not(event->precise_max);
        cr_expect_not(weir_event_is_sideband(event));
        weir_event_list_fini(&list);
    }
}

Test(event_list, comma_list_keeps_order_and_spelling)
{
    struct weir_event_list list;
    struct weir_error err;
    cr_assert_eq(parse(&list, " cs:u , faults,sched:sched_switch:k, r1A8 ", &err), 0, "%s", err.what);
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
        cr_assert_eq(weir_event_list_parse(&list, "cs,faults", NULL), 0);
    cr_expect_eq(list.count, 200);
    cr_expect_str_eq(list.events[199].name, "faults");
    weir_event_list_fini(&list);
}

Test(event_list, tracepoint_has_id_parts_and_a_name_without_modifiers)
{
    struct weir_event_list list = parse_one("sched:sched_switch:u");
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
    struct weir_event_list list = parse_one("u:k:h");
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
        struct weir_event_list list = parse_one(wanted->text);
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
    cr_assert_eq(weir_event_list_add_default(&list), 0);
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
    struct weir_event_list list = parse_one("dummy:u");
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    cr_assert_eq(list.count, 2);
    cr_expect_not(weir_event_is_sideband(&list.events[0]));
    cr_expect(weir_event_is_sideband(&list.events[1]));
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
        struct weir_event_list list = parse_one(others[i]);
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
        {"cycles", "cpu-clock", false},       {"cpu-cycles", "cpu-clock", false}, {"cycles:P", "cpu-clock", false},
        {"cycles:ppp", "cpu-clock", false},   {"cycles:u", "cpu-clock:u", true},  {"cycles:ppuH", "cpu-clock:uH", true},
        {"cycles:uppp", "cpu-clock:u", true}, {"cycles : p", "cpu-clock", false}, {"cycles : up", "cpu-clock:u", true},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list = parse_one(cases[i].text);
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
    struct weir_event_list list = parse_one("cycles:pp");
    cr_expect_not(weir_event_lower_precision(&list.events[0]));
    cr_expect_eq(list.events[0].attr.precise_ip, 2);
    weir_event_list_fini(&list);

    list = parse_one("cycles:P");
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
        struct weir_event_list list = parse_one(texts[i]);
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
    static const char *const names[][2] = {{"cycles", "cycles:u"}, {"cycles:P", "cycles:Pu"}, {"r1a8", "r1a8:u"}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        struct weir_event_list list = parse_one(names[i][0]);
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

/*
 * One event: what it becomes when the kernel refuses it, and what its count means. Tracepoints come from a tracefs of
 * the test's own making.
 */
#include "engine/events/event.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/event_text.h"

/* ---- fallbacks ---- */

Test(event, fallback_without_memory_leaves_the_event_as_it_was)
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

Test(event, only_cycles_fall_back_to_the_clock)
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

Test(event, clock_keeps_the_modifiers_that_it_can_honour)
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

Test(event, precision_is_lowered_step_by_step_only_when_it_was_left_open)
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

Test(event, events_with_a_say_about_the_kernel_do_not_fall_back_to_user_space)
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

Test(event, user_space_fallback_is_named_like_perfs)
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

Test(event, events_that_happen_count_their_samples_and_those_that_measure_do_not)
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

Test(event, tracepoints_of_being_woken_count_what_happens_to_tasks_that_sleep)
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

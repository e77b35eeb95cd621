/*
 * Filters: which events of a list may have one, what becomes of several, and what reaches the kernel, with and without
 * weir's own threads being kept out.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/events/event_filter.h"
#include "engine/events/event_parse.h"
#include "engine/events/sample_filter.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/event_set_rig.h"
#include "tests/engine/fake_sysfs.h"

/* ---- of a list ---- */

/* Events of the Intel machine, and one tracepoint. */
static struct weir_event_list make_list(const struct temp_tree *tree, const char *text)
{
    temp_tree_write_text(tree, "events/sched/sched_switch/id", "316\n");
    temp_tree_write_text(tree, "events/sched/sched_waking/id", "317\n");
    const struct weir_event_sources sources = {.tracefs_root = tree->root, .sysfs_root = tree->root};
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    cr_assert_eq(weir_event_list_parse(&list, text, &sources, &err), 0, "%s: %s", text, err.what);
    return list;
}

#define GRAMMAR                                                                                                    \
    "TERM ==|!=|>|>=|<|<=|& VALUE; ',' between comparisons means and, '||' means or, and binds closer; the terms " \
    "are: ip pid tid cpu time period uid ... (weir-record(1))"

static const struct {
    const char *events, *filter, *what, *hint;
} refusals[] = {
    {"cs", "a > 1", "event cs: sample filter 'a > 1': unknown term 'a'", GRAMMAR},
    {"sched:sched_switch,cpu/event=1/", "a", "event cpu/event=1/: sample filter 'a': unknown term 'a'", GRAMMAR},
    {"bpf-output", "ip > 1", "filter 'ip > 1': event bpf-output has no samples that a filter could drop",
     "--filter follows the -e that it applies to: -e cpu-clock --filter 'ip > 1' -e bpf-output"},
    {"cs_etm//u", "filters 0x10",
     "address filter 'filters 0x10': expected filter, start, stop or tracestop at column 1",
     "filter|start|stop|tracestop FUNCTION|ADDRESS [/ FUNCTION|SIZE] [@FILE], with blanks around functions"},
};

Test(event_filter, what_the_kind_of_event_does_not_take_is_refused)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        struct temp_tree tree;
        fake_sysfs_init(&tree, FAKE_INTEL);
        struct weir_event_list list = make_list(&tree, refusals[i].events);
        struct weir_error err = {0};
        cr_expect_eq(weir_event_list_filter(&list, 0, refusals[i].filter, tree.root, &err), -EINVAL);
        cr_expect_str_eq(err.what, refusals[i].what, "%s", err.what);
        cr_expect_str_eq(err.hint, refusals[i].hint, "%s", err.hint);
        weir_event_list_fini(&list);
        temp_tree_fini(&tree);
    }
}

Test(event_filter, failing_allocation_leaves_what_was)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_event_list list = make_list(&tree, "cs_etm//u");
    cr_assert_eq(weir_event_list_filter(&list, 0, "filter 0x1/0x2", tree.root, NULL), 0);
    for (unsigned failures = 0; failures < 64; failures++) {
        struct weir_error err = {0};
        failing_alloc_after(failures);
        int result = weir_event_list_filter(&list, 0, "start 0x3", tree.root, &err);
        failing_alloc_never();
        if (result == 0)
            break;
        cr_expect_eq(result, -ENOMEM);
        cr_expect_str_eq(err.what, "out of memory");
        cr_expect_str_eq(list.events[0].filter, "filter 0x1/0x2");
    }
    weir_event_list_fini(&list);
    temp_tree_fini(&tree);
}

/* All PMUs of a machine are some hundred reads of sysfs. */
Test(event_filter, filters_of_tracepoints_need_no_sysfs)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_event_list list = make_list(&tree, "sched:sched_switch");
    failing_alloc_after(1); /* the text; one of sysfs before it would fail */
    cr_expect_eq(weir_event_list_filter(&list, 0, "a", tree.root, NULL), 0);
    failing_alloc_never();
    weir_event_list_fini(&list);
    temp_tree_fini(&tree);
}

Test(event_filter, several_filters_all_have_to_match)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_event_list list = make_list(&tree, "cs,sched:sched_switch,sched:sched_waking");
    cr_assert_eq(weir_event_list_filter(&list, 1, "a > 1", tree.root, NULL), 0);
    cr_assert_eq(weir_event_list_filter(&list, 2, "b == 2", tree.root, NULL), 0);
    cr_expect_null(list.events[0].filter);
    cr_expect_str_eq(list.events[1].filter, "a > 1");
    cr_expect_str_eq(list.events[2].filter, "(a > 1) && (b == 2)");
    weir_event_list_fini(&list);
    temp_tree_fini(&tree);
}

Test(event_filter, other_events_get_sample_filters)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_event_list list = make_list(&tree, "cs,sched:sched_switch");
    cr_assert_eq(weir_event_list_filter(&list, 0, "cpu == 1", tree.root, NULL), 0);
    cr_expect_str_eq(list.events[1].filter, "cpu == 1", "the kernel's, of a tracepoint");
    cr_expect_null(list.events[1].sample_filter);
    cr_expect_null(list.events[0].filter);
    cr_assert_not_null(list.events[0].sample_filter);
    cr_assert_eq(weir_event_list_filter(&list, 0, "absent == 1", tree.root, NULL), -EINVAL);
    cr_assert_eq(list.events[0].sample_filter->count, 1);
    weir_event_list_fini(&list);
    temp_tree_fini(&tree);
}

Test(event_filter, address_filters_are_a_list)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_event_list list = make_list(&tree, "cs_etm//u");
    cr_assert_eq(weir_event_list_filter(&list, 0, "filter 0x10/0x20@/etc/passwd", tree.root, NULL), 0);
    cr_assert_eq(weir_event_list_filter(&list, 0, " start  0x40", tree.root, NULL), 0);
    cr_expect_str_eq(list.events[0].filter, "filter 0x10/0x20@/etc/passwd,start 0x40");
    weir_event_list_fini(&list);
    temp_tree_fini(&tree);
}

/* ---- on open events ---- */

static void set_filter(struct event_set_rig *rig, size_t event, const char *text)
{
    rig->list.events[event].filter = strdup(text);
    cr_assert_not_null(rig->list.events[event].filter);
}

Test(event_filter, refused_filter_of_the_user_leaves_nothing_open)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "sched:sched_switch", 0);
    set_filter(&f, 0, "bogus > 1");
    f.faulty.filter_error = -EINVAL;
    event_set_rig_expect_refused(&f, -EINVAL);
    cr_expect_str_eq(f.err.what, "cannot set filter 'bogus > 1' on event sched:sched_switch: Invalid argument");
    cr_expect_str_eq(f.err.hint, "its fields are those of events/sched/sched_switch/format in tracefs "
                                 "(/sys/kernel/tracing); words are in double quotes: comm == \"sh\"");
    event_set_rig_fini(&f);
}

/* Hundreds of readers whose ids are not in a row, and the user's own filter. */
Test(event_filter, filter_that_is_too_long_is_told_as_that)
{
    static char text[8192];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char what[WEIR_ERROR_TEXT_BYTES];
    struct event_set_rig f;
    cr_assert_lt(page, sizeof(text));
    memset(text, '1', page);
    event_set_rig_init(&f, "sched:sched_switch", 0);
    set_filter(&f, 0, text);
    f.faulty.filter_error = -EINVAL;
    event_set_rig_expect_refused(&f, -EINVAL);
    snprintf(what, sizeof(what), "cannot set a filter of %zu bytes on event sched:sched_switch: the kernel accepts %zu",
             page, page - 1);
    cr_expect_str_eq(f.err.what, what);
    cr_expect_str_eq(f.err.hint, "a range is shorter than single values; --exclude-perf adds weir's own threads, and "
                                 "--threads=numa has few of them");
    event_set_rig_fini(&f);
}

/* Linux 6.18 returns 1, 2 and 3, which look like "not permitted", "no such file" and "no such process". */
Test(event_filter, brackets_and_quotation_marks_that_do_not_match_are_named)
{
    static const struct {
        const char *filter, *what;
    } filters[] = {
        {"prev_pid == 1)", "cannot set filter 'prev_pid == 1)' on event sched:sched_switch: a ')' has no '('"},
        {"(prev_pid == 1", "cannot set filter '(prev_pid == 1' on event sched:sched_switch: a '(' has no ')'"},
        {"comm == \"x", "cannot set filter 'comm == \"x' on event sched:sched_switch: a quotation mark is missing"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(filters); i++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "sched:sched_switch", 0);
        set_filter(&f, 0, filters[i].filter);
        f.faulty.filter_error = -(int)(i + 1);
        event_set_rig_expect_refused(&f, -EINVAL);
        cr_expect_str_eq(f.err.what, filters[i].what, "%s", f.err.what);
        event_set_rig_fini(&f);
    }
}

Test(event_filter, refused_address_filter_is_explained)
{
    static const struct {
        int code;
        const char *hint;
    } codes[] = {
        {-EINVAL,
         "its PMU may not take such a filter; one without @FILE is of the kernel, and not for :u; a range must "
         "not be empty"},
        {-EOPNOTSUPP, "filters with @FILE are for tasks, not for whole CPUs: leave out -a and -C"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(codes); i++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs", 0);
        set_filter(&f, 0, "filter 0x1/0x2");
        f.faulty.filter_error = codes[i].code;
        event_set_rig_expect_refused(&f, codes[i].code);
        cr_expect_str_eq(f.err.hint, codes[i].hint, "%s", f.err.hint);
        event_set_rig_fini(&f);
    }
}

/* Before there is an output: the filters are set when it is there. */
Test(event_filter, refused_filter_is_found_when_opening_though_tasks_are_to_be_kept_out)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,sched:sched_switch", 0);
    set_filter(&f, 1, "bogus > 1");
    f.exclude_follows = true;
    f.faulty.filter_error = -EINVAL;
    event_set_rig_expect_refused(&f, -EINVAL);
    cr_expect_str_eq(f.err.what, "cannot set filter 'bogus > 1' on event sched:sched_switch: Invalid argument");
    event_set_rig_fini(&f);
}

Test(event_filter, events_with_a_filter_get_it_when_they_are_opened)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,sched:sched_switch,ftrace:function", 0);
    set_filter(&f, 1, "a > 1");
    event_set_rig_expect_open(&f);
    cr_assert_eq(f.faulty.filter_count, CPUS);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        cr_expect_eq(f.faulty.filters[cpu].fd, weir_event_set_fd(&f.set, 1, cpu, 0));
        cr_expect_str_eq(f.faulty.filters[cpu].text, "a > 1");
    }
    event_set_rig_fini(&f);
}

/* The kernel refuses a second filter for an event (EEXIST), so both have to come at once. */
Test(event_filter, kept_out_tasks_are_added_to_the_users_filter)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "sched:sched_switch,ftrace:function", 0);
    set_filter(&f, 0, "a > 1 || b");
    f.exclude_follows = true;
    event_set_rig_expect_open(&f);
    cr_assert_eq(f.faulty.filter_count, 1, "tried, on an event of its own");
    cr_expect_str_eq(f.faulty.filters[0].text, "a > 1 || b");
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        cr_expect_neq(f.faulty.filters[0].fd, weir_event_set_fd(&f.set, 0, cpu, 0));
    const pid_t tids[] = {40};
    cr_assert_eq(weir_event_set_exclude_tasks(&f.set, tids, 1, &f.err), 0);
    cr_assert_eq(f.faulty.filter_count, 1 + 2 * CPUS);
    cr_expect_str_eq(f.faulty.filters[1].text, "(a > 1 || b) && (common_pid != 40)");
    cr_expect_str_eq(f.faulty.filters[1 + CPUS].text, "common_pid != 40");
    event_set_rig_fini(&f);
}

/* Whether it was there before (place 0) or not. */
Test(event_filter, cpu_that_comes_has_the_filters_of_the_others)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "sched:sched_switch", 0);
    cr_assert_eq(weir_cpuset_add(&f.late_cpus, 9), 0);
    set_filter(&f, 0, "a > 1");
    f.exclude_follows = true;
    event_set_rig_expect_open(&f);
    const pid_t tids[] = {40};
    cr_assert_eq(weir_event_set_exclude_tasks(&f.set, tids, 1, &f.err), 0);
    for (unsigned place = 0; place <= CPUS; place += CPUS) {
        unsigned before = f.faulty.filter_count;
        cr_assert_eq(weir_event_set_reopen(&f.set, place, &f.limits, &f.err), 0, "%s", f.err.what);
        cr_assert_eq(f.faulty.filter_count, before + 1);
        cr_expect_eq(f.faulty.filters[before].fd, weir_event_set_fd(&f.set, 0, place, 0));
        cr_expect_str_eq(f.faulty.filters[before].text, "(a > 1) && (common_pid != 40)");
    }
    event_set_rig_fini(&f);
}

static int refuse_first_task(const struct faulty_open *attempt)
{
    return attempt->pid == FIRST ? -ESRCH : 0;
}

Test(event_filter, refused_filter_is_reported_with_its_event)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "sched:sched_switch", 0);
    event_set_rig_expect_open(&f);
    f.faulty.filter_error = -EINVAL;
    const pid_t tids[] = {40};
    cr_assert_eq(weir_event_set_exclude_tasks(&f.set, tids, 1, &f.err), -EINVAL);
    cr_assert_str_eq(f.err.what, "cannot set filter 'common_pid != 40' on event sched:sched_switch: Invalid argument");
    cr_assert_eq(f.faulty.filter_count, 1);
    event_set_rig_fini(&f);
}

struct filter_case {
    pid_t tids[6];
    size_t count;
    const char *text;
};

static const struct filter_case filter_cases[] = {
    {{40}, 1, "common_pid != 40"},
    {{41, 40}, 2, "(common_pid < 40 || common_pid > 41)"},
    {{40, 42}, 2, "common_pid != 40 && common_pid != 42"},
    {{12, 10, 11, 10}, 4, "(common_pid < 10 || common_pid > 12)"},
    {{7, 7}, 2, "common_pid != 7"},
    {{30, 5, 31, 9, 32, 6},
     6,
     "(common_pid < 5 || common_pid > 6) && common_pid != 9 && (common_pid < 30 || common_pid > 32)"},
};

Test(event_filter, tasks_are_kept_out_by_ranges_of_their_ids)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(filter_cases); i++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "sched:sched_switch", 0);
        event_set_rig_expect_open(&f);
        cr_assert_eq(weir_event_set_exclude_tasks(&f.set, filter_cases[i].tids, filter_cases[i].count, &f.err), 0);
        cr_assert_eq(f.faulty.filter_count, CPUS);
        cr_assert_str_eq(f.faulty.filters[0].text, filter_cases[i].text);
        event_set_rig_fini(&f);
    }
}

Test(event_filter, only_tracepoints_of_tasks_that_are_there_get_filters)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,sched:sched_switch", 2);
    f.faulty.refuse = refuse_first_task;
    event_set_rig_expect_open(&f);
    const pid_t tids[] = {40};
    cr_assert_eq(weir_event_set_exclude_tasks(&f.set, tids, 1, &f.err), 0);
    cr_assert_eq(f.faulty.filter_count, CPUS);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        cr_assert_eq(f.faulty.filters[cpu].fd, weir_event_set_fd(&f.set, 1, cpu, 1));
    event_set_rig_fini(&f);
}

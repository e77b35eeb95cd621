/*
 * Which target wins, and what is said about it: each line was given to perf 6.1, whose warning is the one expected.
 */
#include "cli/event_options.h"
#include "cli/record_options.h"
#include "cli/target_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/cli/words.h"

static struct weir_record_arguments arguments;
static struct weir_error err;
static char notice[256]; /* the last one */
static unsigned notice_count;

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    cr_expect_eq(level, WEIR_NOTICE_WARNING);
    notice_count++;
    snprintf(notice, sizeof(notice), "%s", line);
}

static const struct weir_notice_sink sink = {.emit = keep_notice};

static void init(void)
{
    weir_record_arguments_init(&arguments);
}

static void fini(void)
{
    weir_record_arguments_fini(&arguments);
}

TestSuite(target_options, .init = init, .fini = fini);

/* What the engine is told; the words live until the next call. */
static struct weir_record_options target_of(const char *line)
{
    static struct words words;
    words_split(&words, line);
    fini();
    notice_count = 0;
    cr_assert_eq(weir_record_options_parse(&arguments, words.argv, NULL, &err), 0, "%s", err.what);
    cr_assert_eq(weir_record_options_resolve(&arguments, 4096, &sink, &err), 0, "%s", err.what);
    cr_assert_eq(weir_target_options_fill(&arguments, &err), 0, "%s", err.what);
    return arguments.options;
}

/* ---- errors ---- */

Test(target_options, unknown_user_is_refused)
{
    static const char *const unknown[] = {"no-such-user", "12x", "-1", "4294967295", "+5", " 5"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(unknown); i++) {
        arguments.options.targets.spec.kind = WEIR_TARGET_THREADS;
        arguments.user = unknown[i];
        cr_assert_eq(weir_target_options_fill(&arguments, &err), -ENOENT);
        char what[128];
        snprintf(what, sizeof(what), "there is no user '%s'", unknown[i]);
        cr_assert_str_eq(err.what, what);
        cr_assert_str_eq(err.hint, "getent passwd lists the users; a number need not be among them");
        cr_assert_eq(arguments.options.targets.spec.kind, WEIR_TARGET_THREADS, "outputs are untouched");
    }
}

/* ---- rules ---- */

#define NO_TASKS WEIR_TARGET_ALL

static const struct {
    const char *line;
    const char *warning; /* NULL: none */
    enum weir_target_kind kind;
    bool system_wide, has_cpus, per_thread, no_inherit;
} rules[] = {
    {"", NULL, NO_TASKS, .system_wide = true},
    {"-i", NULL, NO_TASKS, .system_wide = true, .no_inherit = true},
    {"-- true", NULL, NO_TASKS, .system_wide = false},
    {"-i -- true", NULL, NO_TASKS, .no_inherit = true},
    {"-C 0 -- true", NULL, NO_TASKS, .system_wide = true, .has_cpus = true},
    {"--per-thread -- true", NULL, NO_TASKS, .per_thread = true},
    {"--per-thread", "SYSTEM/CPU switch overriding PER-THREAD", NO_TASKS, .system_wide = true},
    {"--per-thread -a -- true", "SYSTEM/CPU switch overriding PER-THREAD", NO_TASKS, .system_wide = true},
    {"--per-thread -C 0 -- true", "SYSTEM/CPU switch overriding PER-THREAD", NO_TASKS, .system_wide = true,
     .has_cpus = true},
    {"-p 7", NULL, WEIR_TARGET_PROCESSES, .system_wide = false},
    {"-p 7 -a", "PID/TID switch overriding SYSTEM", WEIR_TARGET_PROCESSES, .system_wide = false},
    {"-p 7 -C 0", "PID/TID switch overriding CPU", WEIR_TARGET_PROCESSES, .system_wide = false},
    {"-p 7 -C 0 -a -u root", "PID/TID switch overriding CPU", WEIR_TARGET_PROCESSES, .system_wide = false},
    {"-p 7 -u root -a", "PID/TID switch overriding UID", WEIR_TARGET_PROCESSES, .system_wide = false},
    {"-p 7 -a --per-thread", "PID/TID switch overriding SYSTEM", WEIR_TARGET_PROCESSES, .per_thread = true},
    {"-p 7 -t 8", NULL, WEIR_TARGET_PROCESSES, .no_inherit = true},
    {"-t 7", NULL, WEIR_TARGET_THREADS, .no_inherit = true},
    {"-t 7 --inherit", NULL, WEIR_TARGET_THREADS, .no_inherit = false},
    {"--inherit -t 7", NULL, WEIR_TARGET_THREADS, .no_inherit = false},
    {"--inherit -i -t 7", NULL, WEIR_TARGET_THREADS, .no_inherit = true},
    {"-t 7 -C 0", "PID/TID switch overriding CPU", WEIR_TARGET_THREADS, .no_inherit = true},
    {"-t 7 -u root", "PID/TID switch overriding UID", WEIR_TARGET_THREADS, .no_inherit = true},
    {"-u root", NULL, WEIR_TARGET_USER, .system_wide = false},
    {"-u root -C 0", "UID switch overriding CPU", WEIR_TARGET_USER, .system_wide = false},
    {"-u root -a", "UID switch overriding SYSTEM", WEIR_TARGET_USER, .system_wide = false},
    {"-u root --per-thread -i", NULL, WEIR_TARGET_USER, .per_thread = true, .no_inherit = true},
};

Test(target_options, rules_are_perfs_with_its_first_warning)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rules); i++) {
        struct weir_record_options options = target_of(rules[i].line);
        cr_expect_eq(options.targets.spec.kind, rules[i].kind, "%s", rules[i].line);
        cr_expect_eq(options.targets.system_wide, rules[i].system_wide, "%s", rules[i].line);
        cr_expect_eq(options.targets.cpus != NULL, rules[i].has_cpus, "%s", rules[i].line);
        cr_expect_eq(options.targets.per_thread, rules[i].per_thread, "%s", rules[i].line);
        cr_expect_eq(options.targets.no_inherit, rules[i].no_inherit, "%s", rules[i].line);
        cr_expect_eq(notice_count, rules[i].warning != NULL, "%s", rules[i].line);
        if (rules[i].warning)
            cr_expect_str_eq(notice, rules[i].warning, "%s: %s", rules[i].line, notice);
    }
}

Test(target_options, cgroups_before_all_events_are_for_all_of_them)
{
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    target_of("-a -G a -e cs -e faults");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), 0, "%s", err.what);
    cr_assert_eq(events.count, 2);
    cr_expect_str_eq(events.events[0].cgroup, "a");
    cr_expect_str_eq(events.events[1].cgroup, "a");
    weir_event_list_fini(&events);

    target_of("-a -G a,b -e cs,faults");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), 0, "%s", err.what);
    cr_expect_str_eq(events.events[0].cgroup, "a");
    cr_expect_str_eq(events.events[1].cgroup, "b");
    weir_event_list_fini(&events);

    target_of("-a -G a");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), 0, "%s", err.what);
    cr_assert_eq(events.count, 1);
    cr_expect_str_eq(events.events[0].cgroup, "a");
    weir_event_list_fini(&events);

    target_of("-a -G a,b -e cs");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), -EINVAL);
    cr_expect_str_eq(err.what, "cgroup 'b' has no event");
    weir_event_list_fini(&events);
}

Test(target_options, units_and_containers_imply_whole_cpus)
{
    cr_expect(target_of("--unit a true").targets.system_wide);
    cr_expect(target_of("--container a,b -C 0").targets.system_wide);
    cr_expect(target_of("-G 'a*' true").targets.system_wide);
    cr_expect_eq(arguments.scope_count, 1);
}

Test(target_options, cgroups_are_for_the_events_before_them)
{
    target_of("-a -e cs -G a -e faults,migrations -G b,c");
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), 0, "%s", err.what);
    cr_assert_eq(events.count, 3);
    cr_expect_str_eq(events.events[0].cgroup, "a");
    cr_expect_str_eq(events.events[1].cgroup, "b");
    cr_expect_str_eq(events.events[2].cgroup, "c");
    weir_event_list_fini(&events);

    target_of("-C 0 -e cs,faults -G a -e migrations");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), 0, "%s", err.what);
    cr_expect_str_eq(events.events[1].cgroup, "a");
    cr_expect_null(events.events[2].cgroup);
    weir_event_list_fini(&events);

    target_of("-a -e cs -G a,b");
    cr_assert_eq(weir_event_options_collect(&arguments, &events, &err), -EINVAL);
    cr_expect_str_eq(err.what, "cgroup 'b' has no event");
    weir_event_list_fini(&events);
}

Test(target_options, delay_is_kept_and_taken_back)
{
    target_of("-D 10-20,30-40");
    cr_assert(arguments.options.schedule.given);
    cr_assert_eq(arguments.options.schedule.count, 2);
    target_of("-D 10 --no-delay");
    cr_assert_not(arguments.options.schedule.given);
    target_of("-D 10 -D -1");
    cr_assert_eq(arguments.options.schedule.count, 0);
}

Test(target_options, users_are_known_by_name_and_by_number)
{
    cr_assert_eq(target_of("-u root").targets.spec.uid, 0);
    cr_assert_eq(target_of("-u 0").targets.spec.uid, 0);
    cr_assert_eq(target_of("-u 4294967294").targets.spec.uid, 4294967294u, "no name is needed");
}

Test(target_options, lists_and_flags_reach_the_engine)
{
    struct weir_record_options options = target_of("-t 9,8 -t 7,6 -s");
    cr_assert_eq(options.targets.spec.id_count, 2);
    cr_assert_eq(options.targets.spec.ids[0], 7);
    cr_assert_eq(options.targets.spec.ids[1], 6);
    cr_assert(options.targets.inherit_stat);
    options = target_of("-s --no-stat -p 5");
    cr_assert_eq(options.targets.spec.ids[0], 5);
    cr_assert_not(options.targets.inherit_stat);
}

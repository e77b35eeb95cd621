/*
 * Which descriptors are opened where: groups, events of a PMU of few CPUs, a ring for each task. Fallbacks after a
 * refusal are in test_event_set.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/event_set_rig.h"

#define ATTEMPTS_MAX 64

/* Tests run in processes of their own. */
static struct faulty_open attempts[ATTEMPTS_MAX];
static struct perf_event_attr attrs[ATTEMPTS_MAX];
static unsigned attempt_count;
static int group_error; /* for every member of a group */

static int note_attempt(const struct faulty_open *attempt)
{
    cr_assert_lt(attempt_count, ATTEMPTS_MAX);
    attempts[attempt_count] = *attempt;
    attrs[attempt_count++] = *attempt->attr;
    return attempt->group_fd >= 0 ? group_error : 0;
}

/* The first `members` events of the list become a group. */
static void init_group(struct event_set_rig *rig, const char *events, unsigned members, unsigned tasks)
{
    event_set_rig_init(rig, events, tasks);
    rig->faulty.refuse = note_attempt;
    for (unsigned i = 1; i < members; i++)
        rig->list.events[i].leader = 0;
}

static void limit_to_cpu(struct weir_event *event, const char *cpu)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_cpuset_parse(&event->pmu_cpus, cpu, &err), 0);
}

/* ---- refusals ---- */

Test(event_set_open, group_that_is_refused_is_an_error)
{
    struct event_set_rig rig;
    init_group(&rig, "cs,faults", 2, 0);
    group_error = -ENOSPC;
    event_set_rig_expect_refused(&rig, -ENOSPC);
    cr_assert_str_eq(rig.err.what, "cannot open event 'faults' on cpu 1: No space left on device");
    event_set_rig_fini(&rig);
}

Test(event_set_open, group_that_is_not_weak_is_not_broken_up)
{
    struct event_set_rig rig;
    init_group(&rig, "cs,faults:u", 2, 0);
    group_error = -EINVAL;
    event_set_rig_expect_refused(&rig, -EINVAL);
    /* Not that the kernel cannot leave out its own part: alone the event can be opened. */
    cr_assert_str_eq(rig.err.what, "cannot open event 'faults:u' on cpu 1: Invalid argument");
    cr_assert_not_null(strstr(rig.err.hint, "but not in its group"), "%s", rig.err.hint);
    cr_assert_eq(rig.notice_count, 0, "%s", rig.notices[0]); /* nor that it is too old for something else */
    event_set_rig_fini(&rig);
}

Test(event_set_open, event_of_a_pmu_without_a_recorded_cpu_is_an_error)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs,faults", 0);
    limit_to_cpu(&rig.list.events[1], "0,2-3");
    event_set_rig_expect_refused(&rig, -ENODEV);
    cr_assert_str_eq(rig.err.what, "event 'faults' cannot be opened on any of the recorded CPUs");
    cr_assert_str_eq(rig.err.hint, "its PMU counts on CPUs 0,2-3 only: give one of them with -C, or leave out -C");
    cr_assert_eq(rig.faulty.opens, 0);
    event_set_rig_fini(&rig);
}

static int refuse_all_gone(const struct faulty_open *attempt)
{
    (void)attempt;
    return -ESRCH;
}

Test(event_set_open, every_task_gone_is_an_error_with_a_ring_for_each_too)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 3);
    rig.per_thread = true;
    rig.faulty.refuse = refuse_all_gone;
    event_set_rig_expect_refused(&rig, -ESRCH);
    cr_assert_str_eq(rig.err.what, "all target tasks ended before they could be attached to");
    event_set_rig_fini(&rig);
}

Test(event_set_open, out_of_memory_for_places_leaves_nothing_open)
{
    for (unsigned successes = 0; successes < 2; successes++) { /* places, descriptors */
        struct event_set_rig rig;
        event_set_rig_init(&rig, "cs", 2);
        rig.per_thread = true;
        failing_alloc_after(successes);
        int result = event_set_rig_open(&rig);
        failing_alloc_never();
        cr_assert_eq(result, -ENOMEM);
        cr_assert_eq(rig.faulty.open_now, 0);
        event_set_rig_fini(&rig);
    }
}

/* ---- groups ---- */

Test(event_set_open, members_are_opened_with_the_descriptor_of_their_leader)
{
    struct event_set_rig rig;
    init_group(&rig, "cs,faults,migrations", 2, 2);
    event_set_rig_expect_open(&rig);
    cr_assert_eq(attempt_count, 4 * CPUS * 2);
    for (unsigned i = 0; i < attempt_count; i++) { /* events first, as perf; then CPUs, then tasks */
        unsigned event = i / (CPUS * 2), place = i / 2 % CPUS, task = i % 2;
        cr_assert_eq(attempts[i].cpu, place ? 5 : 1);
        cr_assert_eq(attempts[i].pid, task ? SECOND : FIRST);
        int leader_fd = event == 1 ? weir_event_set_fd(&rig.set, 0, place, task) : -1;
        cr_assert_eq(attempts[i].group_fd, leader_fd, "attempt %u", i);
    }
    event_set_rig_fini(&rig);
}

Test(event_set_open, members_count_when_their_leader_does)
{
    struct event_set_rig rig;
    init_group(&rig, "cs,faults,migrations", 2, 1);
    rig.config.enable_on_exec = true;
    event_set_rig_expect_open(&rig);
    const bool leads[] = {true, false, true, true};
    for (unsigned i = 0; i < attempt_count; i++) {
        cr_assert_eq(attrs[i].disabled, leads[i / CPUS]);
        cr_assert_eq(attrs[i].enable_on_exec, leads[i / CPUS]);
    }
    weir_event_set_enable(&rig.set, false);
    cr_assert_eq(rig.faulty.enables, 2 * CPUS);

    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_event_set_map_ring(&rig.set, 0, false, 4096, &ring), 0);
    const struct weir_sim_sample sample = {.time_ns = 7};
    int member = weir_event_set_fd(&rig.set, 1, 0, 0);
    cr_assert(weir_sim_kernel_sample(rig.faulty.sim, member, &sample));
    weir_event_set_disable(&rig.set);
    cr_assert_eq(rig.faulty.disables, 3 * CPUS);
    cr_assert_not(weir_sim_kernel_sample(rig.faulty.sim, member, &sample));
    weir_ring_unmap(&ring);
    event_set_rig_fini(&rig);
}

Test(event_set_open, weak_group_that_is_refused_is_opened_one_by_one)
{
    const int codes[] = {-EINVAL, -EBADF};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(codes); i++) {
        struct event_set_rig rig;
        init_group(&rig, "cs,faults,migrations", 3, 0);
        rig.list.events[0].weak_group = true;
        group_error = codes[i];
        event_set_rig_expect_open(&rig);
        for (unsigned event = 0; event < 4; event++) {
            cr_assert_eq(rig.list.events[event].leader, event);
            cr_assert_eq(rig.list.events[event].attr.disabled, event < 3, "the sideband event counts at once");
        }
        cr_assert_eq(rig.faulty.open_now, 4 * CPUS);
        cr_assert_eq(rig.notice_count, 1);
        cr_assert_eq(rig.levels[0], WEIR_NOTICE_VERBOSE);
        cr_assert_str_eq(rig.notices[0], "the kernel refuses the group of cs (3 events); opening them one by one");
        event_set_rig_fini(&rig);
    }
}

/* ---- PMUs of few CPUs ---- */

Test(event_set_open, event_is_opened_on_the_cpus_of_its_pmu)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs,faults", 0);
    limit_to_cpu(&rig.list.events[0], "5");
    event_set_rig_expect_open(&rig);
    cr_assert_eq(weir_event_set_fd(&rig.set, 0, 0, 0), -1);
    cr_assert_geq(weir_event_set_fd(&rig.set, 0, 1, 0), 0);
    cr_assert_eq(rig.faulty.open_now, 3 * CPUS - 1);

    unsigned count;
    cr_assert_eq(*weir_event_set_poll_fds(&rig.set, 0, false, &count), weir_event_set_fd(&rig.set, 1, 0, 0));
    cr_assert_eq(*weir_event_set_poll_fds(&rig.set, 1, false, &count), weir_event_set_fd(&rig.set, 0, 1, 0));
    event_set_rig_fini(&rig);
}

Test(event_set_open, member_of_a_group_is_opened_where_its_leader_is)
{
    struct event_set_rig rig;
    init_group(&rig, "cs,faults", 2, 0);
    limit_to_cpu(&rig.list.events[0], "5");
    event_set_rig_expect_open(&rig);
    cr_assert_eq(weir_event_set_fd(&rig.set, 1, 0, 0), -1);
    cr_assert_geq(weir_event_set_fd(&rig.set, 1, 1, 0), 0);
    event_set_rig_fini(&rig);
}

Test(event_set_open, cpu_without_any_event_has_no_data_ring)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 0);
    limit_to_cpu(&rig.list.events[0], "1");
    event_set_rig_expect_open(&rig);
    cr_assert(weir_event_set_has_ring(&rig.set, 0, false));
    cr_assert(weir_event_set_has_ring(&rig.set, 0, true));
    cr_assert_not(weir_event_set_has_ring(&rig.set, 1, false));
    cr_assert(weir_event_set_has_ring(&rig.set, 1, true));
    event_set_rig_fini(&rig);
}

/* ---- cgroups ---- */

Test(event_set_open, event_of_a_cgroup_is_opened_with_its_folder)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs,faults", 0);
    rig.faulty.refuse = note_attempt;
    rig.list.events[1].cgroup = strdup("a");
    rig.list.events[1].cgroup_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    event_set_rig_expect_open(&rig);
    for (unsigned i = 0; i < attempt_count; i++) {
        bool of_cgroup = i / CPUS == 1;
        cr_assert_eq(attempts[i].pid, of_cgroup ? rig.list.events[1].cgroup_fd : -1);
        cr_assert_eq(attempts[i].flags, PERF_FLAG_FD_CLOEXEC | (of_cgroup ? PERF_FLAG_PID_CGROUP : 0));
        cr_assert_eq(attempts[i].cpu, i % CPUS ? 5 : 1);
    }
    event_set_rig_fini(&rig);
}

/* ---- a ring for each task ---- */

Test(event_set_open, per_thread_every_task_is_a_place_on_any_cpu)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs,faults", 3);
    rig.per_thread = true;
    rig.faulty.refuse = note_attempt;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(rig.set.place_count, 3);
    cr_assert_eq(rig.set.task_count, 1);
    cr_assert_eq(attempt_count, 3 * 3);
    for (unsigned i = 0; i < attempt_count; i++) {
        cr_assert_eq(attempts[i].cpu, -1);
        cr_assert_eq(attempts[i].pid, rig.tids[i % 3]);
        cr_assert_eq(rig.set.places[i % 3].task, rig.tids[i % 3]);
        const struct weir_id_entry *entry = weir_id_map_find(&rig.set.id_map, rig.set.ids[i]);
        cr_assert_eq(entry->event, i / 3);
        cr_assert_eq(entry->place, i % 3);
    }
    event_set_rig_fini(&rig);
}

Test(event_set_open, per_thread_each_task_has_rings_of_its_own)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs,faults", 2);
    rig.per_thread = true;
    event_set_rig_expect_open(&rig);
    struct weir_ring rings[2] = {WEIR_RING_INIT, WEIR_RING_INIT};
    for (unsigned place = 0; place < 2; place++)
        cr_assert_eq(weir_event_set_map_ring(&rig.set, place, false, 4096, &rings[place]), 0);
    weir_event_set_enable(&rig.set, false);
    const struct weir_sim_sample sample = {.time_ns = 7};
    cr_assert(weir_sim_kernel_sample(rig.faulty.sim, weir_event_set_fd(&rig.set, 1, 1, 0), &sample));
    cr_assert(weir_ring_is_drained(&rings[0]));
    cr_assert_not(weir_ring_is_drained(&rings[1]));
    for (unsigned place = 0; place < 2; place++)
        weir_ring_unmap(&rings[place]);
    event_set_rig_fini(&rig);
}

static int refuse_second(const struct faulty_open *attempt)
{
    return attempt->pid == SECOND ? -ESRCH : 0;
}

Test(event_set_open, per_thread_task_that_is_gone_has_no_rings)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 3);
    rig.per_thread = true;
    rig.faulty.refuse = refuse_second;
    event_set_rig_expect_open(&rig);
    for (unsigned place = 0; place < 3; place++) {
        for (int sideband = 0; sideband < 2; sideband++)
            cr_assert_eq(weir_event_set_has_ring(&rig.set, place, sideband), place != 1);
    }
    cr_assert_eq(rig.faulty.opens_failed, 1);
    event_set_rig_fini(&rig);
}

/* ---- text pokes ---- */

/* Changes of the kernel's code are of no task: one descriptor on each CPU, for all of them, in the sideband ring. */
Test(event_set_open, text_pokes_are_opened_for_all_tasks_beside_events_of_some)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 2);
    rig.config.text_pokes = true;
    cr_assert_eq(weir_event_list_add_text_pokes(&rig.list), 0);
    rig.faulty.refuse = note_attempt;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(attempt_count, 2 * CPUS * 2 + CPUS);
    cr_assert_eq(weir_event_set_sideband(&rig.set), 1);
    for (unsigned i = 0; i < attempt_count; i++) {
        bool pokes = i >= 2 * CPUS * 2, side = i >= CPUS * 2;
        cr_expect_eq(attrs[i].text_poke, pokes, "attempt %u", i);
        cr_expect_eq(attrs[i].ksymbol, pokes, "attempt %u", i);
        cr_expect_eq(attrs[i].mmap, side && !pokes, "attempt %u", i);
        cr_expect_eq(attempts[i].pid == -1, pokes, "attempt %u", i);
    }
    cr_expect_eq(attempts[attempt_count - 2].cpu, 1);
    cr_expect_eq(attempts[attempt_count - 1].cpu, 5);

    struct weir_ring ring;
    cr_assert_eq(weir_event_set_map_ring(&rig.set, 0, true, 4096, &ring), 0);
    cr_expect_eq(rig.faulty.redirect_count, 2, "the second task's side event and that of text pokes");
    cr_expect_eq(rig.faulty.redirects[1].fd, weir_event_set_fd(&rig.set, 2, 0, 0));
    cr_expect_eq(rig.faulty.redirects[1].ring_fd, weir_event_set_fd(&rig.set, 1, 0, 0));
    weir_ring_unmap(&ring);
    event_set_rig_fini(&rig);
}

/* Before the command is executed, when its own side event does not count yet: the kernel is copied then. */
Test(event_set_open, text_pokes_count_from_their_opening)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 1);
    rig.config.text_pokes = true;
    rig.config.enable_on_exec = true;
    cr_assert_eq(weir_event_list_add_text_pokes(&rig.list), 0);
    rig.faulty.refuse = note_attempt;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(attempt_count, 3 * CPUS);
    cr_expect(attrs[CPUS].disabled && attrs[CPUS].enable_on_exec);
    cr_expect(!attrs[2 * CPUS].disabled && !attrs[2 * CPUS].enable_on_exec && !attrs[2 * CPUS].inherit);
    event_set_rig_fini(&rig);
}

Test(event_set_open, text_pokes_come_with_the_side_event_where_all_tasks_are_recorded)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 0);
    rig.config.text_pokes = true;
    rig.faulty.refuse = note_attempt;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(attempt_count, 2 * CPUS);
    cr_expect(attrs[CPUS].text_poke && attrs[CPUS].ksymbol && attrs[CPUS].mmap && !attrs[CPUS].disabled);
    event_set_rig_fini(&rig);
}

/* Events of CPUs that come online while recording: what is opened, kept, redirected and counted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/base/failing_alloc.h"
#include "tests/engine/event_set_rig.h"

static struct event_set_rig rig;
static struct weir_ring rings[2];

static int refuse_late(const struct faulty_open *attempt)
{
    return attempt->number >= 2 * CPUS ? -ENOMEM : 0;
}

/* Place 0 is CPU 1: both of its rings are mapped, all is enabled. */
static void set_up(const char *events)
{
    event_set_rig_init(&rig, events, 0);
    cr_assert_eq(weir_cpuset_add(&rig.late_cpus, 9), 0);
    event_set_rig_expect_open(&rig);
    for (int sideband = 0; sideband < 2; sideband++)
        cr_assert_eq(weir_event_set_map_ring(&rig.set, 0, sideband, 8192, &rings[sideband]), 0);
    weir_event_set_enable(&rig.set, true);
    weir_event_set_enable(&rig.set, false);
}

static void tear_down(void)
{
    weir_ring_unmap(&rings[0]);
    weir_ring_unmap(&rings[1]);
    event_set_rig_fini(&rig);
}

static void produce(unsigned place, unsigned times)
{
    int fd = weir_event_set_fd(&rig.set, weir_event_set_sideband(&rig.set), place, 0);
    for (unsigned i = 0; i < times; i++)
        weir_sim_kernel_comm(rig.faulty.sim, fd, 1, "a", 1);
}

/* Nothing has changed: descriptors, ids, what is known. */
static void expect_as_before(int fd, uint64_t id, unsigned open_before)
{
    cr_assert_eq(weir_event_set_fd(&rig.set, 0, 0, 0), fd);
    cr_assert_eq(rig.set.ids[0], id);
    cr_assert_eq(rig.set.retired_count, 0);
    cr_assert_eq(rig.faulty.open_now, open_before);
}

Test(event_set_reopen, refused_open_leaves_the_set_as_it_was)
{
    set_up("cs");
    int fd = weir_event_set_fd(&rig.set, 0, 0, 0);
    uint64_t id = rig.set.ids[0];
    unsigned open_before = rig.faulty.open_now;
    rig.faulty.refuse = refuse_late;
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), -ENOMEM);
    cr_assert_eq(rig.err.code, -ENOMEM);
    expect_as_before(fd, id, open_before);
    tear_down();
}

Test(event_set_reopen, redirect_or_id_that_fails_leaves_the_set_as_it_was)
{
    set_up("cs");
    int fd = weir_event_set_fd(&rig.set, 0, 0, 0);
    uint64_t id = rig.set.ids[0];
    unsigned open_before = rig.faulty.open_now;
    rig.faulty.fail_redirect_at = rig.faulty.redirect_count + 2;
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), -EINVAL);
    expect_as_before(fd, id, open_before);
    rig.faulty.fail_id_at = rig.faulty.ids_read + 2;
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), -EIO);
    expect_as_before(fd, id, open_before);
    tear_down();
}

Test(event_set_reopen, out_of_memory_at_any_allocation_leaves_the_set_as_it_was)
{
    set_up("cs");
    int fd = weir_event_set_fd(&rig.set, 0, 0, 0);
    uint64_t id = rig.set.ids[0];
    unsigned open_before = rig.faulty.open_now;
    for (unsigned successes = 0;; successes++) {
        failing_alloc_after(successes);
        int result = weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err);
        failing_alloc_never();
        if (result == 0)
            break;
        cr_assert_eq(result, -ENOMEM);
        expect_as_before(fd, id, open_before);
    }
    cr_assert_eq(rig.set.retired_count, 2);
    tear_down();
}

/* Nothing that works is made weaker for a CPU that is not there. */
static int refuse_offline(const struct faulty_open *attempt)
{
    return attempt->cpu == 9 ? -ENOENT : 0;
}

Test(event_set_reopen, task_event_that_an_offline_cpu_refuses_is_open_on_the_others)
{
    event_set_rig_init(&rig, NULL, 2);
    cr_assert_eq(weir_cpuset_add(&rig.late_cpus, 9), 0);
    rig.faulty.refuse = refuse_offline;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(rig.list.events[0].attr.type, PERF_TYPE_HARDWARE, "no fall-back");
    cr_assert_eq(rig.faulty.open_now, 2 * CPUS * 2);
    cr_assert_not(weir_event_set_has_ring(&rig.set, 2, false));
    cr_assert_eq(rig.set.file_ids[weir_event_set_slot(&rig.set, 0, 2, 0)], 0);
    event_set_rig_fini(&rig);
}

/* The kernel opens them there, and children inherit them; a CPU that comes needs nothing but a ring. */
Test(event_set_reopen, events_of_tasks_are_open_on_offline_cpus_and_stay)
{
    event_set_rig_init(&rig, "cs", 2);
    cr_assert_eq(weir_cpuset_add(&rig.late_cpus, 9), 0);
    weir_sim_kernel_set_cpu(rig.faulty.sim, 9, false);
    event_set_rig_expect_open(&rig);
    cr_assert_not(weir_event_set_follows_cpus(&rig.set));
    cr_assert_not(weir_event_set_reopens(&rig.set));
    cr_assert_eq(rig.set.place_count, CPUS + 1);
    cr_assert(rig.set.places[2].late);
    cr_assert_eq(rig.faulty.open_now, 2 * (CPUS + 1) * 2);
    for (unsigned task = 0; task < 2; task++) {
        size_t slot = weir_event_set_slot(&rig.set, 0, 2, task);
        cr_assert_neq(rig.set.ids[slot], 0);
        cr_assert_eq(rig.set.file_ids[slot], rig.set.ids[slot]);
        cr_assert_eq(weir_event_set_file_id(&rig.set, weir_id_map_find(&rig.set.id_map, rig.set.ids[slot])),
                     rig.set.ids[slot], "two tasks are two events");
    }
    unsigned enables = rig.faulty.enables;
    weir_event_set_enable_place(&rig.set, 2);
    cr_assert_eq(rig.faulty.enables, enables, "they are as they were");
    event_set_rig_fini(&rig);
}

Test(event_set_reopen, event_of_all_tasks_beside_those_of_tasks_is_opened_when_the_cpu_comes)
{
    event_set_rig_init(&rig, "cs", 2);
    cr_assert_eq(weir_event_list_add_text_pokes(&rig.list), 0);
    cr_assert_eq(weir_cpuset_add(&rig.late_cpus, 9), 0);
    weir_sim_kernel_set_cpu(rig.faulty.sim, 9, false);
    event_set_rig_expect_open(&rig);
    cr_assert(weir_event_set_reopens(&rig.set));
    unsigned opens = rig.faulty.open_now;
    weir_sim_kernel_set_cpu(rig.faulty.sim, 9, true);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 2, &rig.limits, &rig.err), 0, "%s", rig.err.what);
    cr_assert_eq(rig.faulty.open_now, opens + 1);
    cr_assert_eq(rig.set.retired_count, 0);
    event_set_rig_fini(&rig);
}

/* Whatever is opened there and how often: also where nothing was at the start. */
Test(event_set_reopen, the_file_has_one_id_for_each_event_on_each_cpu)
{
    set_up("cs,faults");
    size_t slots = (size_t)rig.set.event_count * rig.set.place_count;
    uint64_t named[9];
    cr_assert_eq(slots, 9);
    memcpy(named, rig.set.file_ids, sizeof(named));
    for (size_t i = 0; i < slots; i++) {
        cr_assert_neq(named[i], 0);
        for (size_t other = 0; other < i; other++)
            cr_assert_neq(named[i], named[other]);
    }
    for (unsigned times = 0; times < 3; times++) {
        for (unsigned place = 0; place < 3; place += 2) {
            cr_assert_eq(weir_event_set_reopen(&rig.set, place, &rig.limits, &rig.err), 0, "%s", rig.err.what);
            for (unsigned event = 0; event < 3; event++) {
                size_t slot = weir_event_set_slot(&rig.set, event, place, 0);
                const struct weir_id_entry *entry = weir_id_map_find(&rig.set.id_map, rig.set.ids[slot]);
                cr_assert_neq(rig.set.ids[slot], named[slot]);
                cr_assert_eq(weir_event_set_file_id(&rig.set, entry), named[slot]);
                entry = weir_id_map_find(&rig.set.id_map, named[slot]);
                cr_assert(entry && entry->event == event && entry->place == place);
            }
        }
    }
    cr_assert_arr_eq(rig.set.file_ids, named, sizeof(named));
    tear_down();
}

/* Late CPUs have places and nothing else. */
Test(event_set_reopen, late_cpu_is_opened_when_it_comes)
{
    set_up("cs");
    cr_assert_eq(rig.set.place_count, CPUS + 1);
    cr_assert_eq(rig.set.late_from, CPUS);
    cr_assert_eq(rig.faulty.open_now, 2 * CPUS);
    cr_assert_not(weir_event_set_has_ring(&rig.set, 2, false));
    cr_assert_eq(weir_event_set_reopen(&rig.set, 2, &rig.limits, &rig.err), 0, "%s", rig.err.what);
    cr_assert_eq(rig.faulty.open_now, 2 * CPUS + 2);
    cr_assert_eq(rig.set.retired_count, 0);
    cr_assert_eq(rig.faulty.redirect_count, 0, "it has no ring yet");
    cr_assert_eq(weir_id_map_find(&rig.set.id_map, rig.set.ids[2])->place, 2);
    tear_down();
}

/* The old events of the rings stay open, because they are their rings; the ring of samples is of one of two events. */
Test(event_set_reopen, cpu_that_comes_back_gets_new_events_in_its_old_rings)
{
    set_up("cs,faults");
    unsigned place_fds = 3, opens = rig.faulty.open_now;
    int ring_fds[] = {weir_event_set_fd(&rig.set, 0, 0, 0), weir_event_set_fd(&rig.set, 2, 0, 0)};
    uint64_t old_ids[] = {rig.set.ids[0], rig.set.ids[3], rig.set.ids[6]};
    unsigned count;
    const int *poll_fds = weir_event_set_poll_fds(&rig.set, 0, false, &count);
    produce(0, 5);
    weir_sim_kernel_set_cpu(rig.faulty.sim, 1, false);
    weir_sim_kernel_set_cpu(rig.faulty.sim, 1, true);
    produce(0, 100); /* dead events count nothing */

    unsigned redirects = rig.faulty.redirect_count;
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), 0, "%s", rig.err.what);
    weir_event_set_enable_place(&rig.set, 0);
    cr_assert_eq(rig.faulty.open_now, opens + place_fds - 1, "all but the event without a ring of its own stay");
    cr_assert_eq(rig.faulty.redirect_count, redirects + place_fds);
    for (unsigned event = 0; event < 3; event++) {
        const struct faulty_redirect *redirect = &rig.faulty.redirects[redirects + event];
        cr_assert_eq(redirect->fd, weir_event_set_fd(&rig.set, event, 0, 0));
        cr_assert_eq(redirect->ring_fd, ring_fds[event == 2]);
        cr_assert_eq(weir_id_map_find(&rig.set.id_map, rig.set.ids[3 * event])->event, event);
        cr_assert_eq(weir_id_map_find(&rig.set.id_map, old_ids[event])->event, event, "its records are still to come");
    }
    cr_assert_eq(*poll_fds, ring_fds[0], "the reader polls what it has polled");

    cr_assert_eq(rig.set.retired_count, 3);
    cr_assert_eq(rig.set.retired[2].event, 2);
    cr_assert_eq(rig.set.retired[2].count.value, 5);
    cr_assert_eq(rig.set.retired[2].count.id, old_ids[2]);
    produce(0, 7);
    struct weir_event_count now;
    cr_assert_eq(weir_event_set_read(&rig.set, 2, 0, 0, &now), 0);
    cr_assert_eq(now.value, 7);
    tear_down();
}

/* -D, or a control command, may have switched samples off; the members of a group follow their leader. */
Test(event_set_reopen, events_are_switched_as_those_of_other_cpus)
{
    set_up("{cs,faults}");
    weir_event_set_disable_samples(&rig.set);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), 0);
    unsigned enables = rig.faulty.enables;
    weir_event_set_enable_place(&rig.set, 0);
    cr_assert_eq(rig.faulty.enables, enables + 1, "the sideband event only");
    weir_event_set_enable(&rig.set, false);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), 0);
    enables = rig.faulty.enables;
    weir_event_set_enable_place(&rig.set, 0);
    cr_assert_eq(rig.faulty.enables, enables + 2, "and the leader");
    tear_down();
}

Test(event_set_reopen, event_that_was_switched_off_alone_stays_off_on_a_cpu_that_comes_back)
{
    set_up("cs,faults");
    weir_event_set_toggle(&rig.set, 1, false);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), 0);
    unsigned enables = rig.faulty.enables;
    weir_event_set_enable_place(&rig.set, 0);
    cr_assert_eq(rig.faulty.enables, enables + 2, "the sideband event and the one that is on");

    weir_event_set_disable_samples(&rig.set);
    weir_event_set_toggle(&rig.set, 1, true);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), 0);
    enables = rig.faulty.enables;
    weir_event_set_enable_place(&rig.set, 0);
    cr_assert_eq(rig.faulty.enables, enables + 2, "the sideband event and the one that was switched on");
    tear_down();
}

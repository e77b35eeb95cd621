/*
 * Opening events on a kernel that refuses: which refusals are worked round, what is then opened and said, and that
 * nothing stays open after one that is not. Then rings, filters, and switching on and off.
 */
#include "engine/events/event_set.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/event_set_rig.h"

#define SIDEBAND 1 /* with one event before it */

/* ---- refusals that end it ---- */

static unsigned refused_number; /* which attempt is refused; tests run in processes of their own */
static int refused_code;

static int refuse_one(const struct faulty_open *attempt)
{
    return attempt->number == refused_number ? refused_code : 0;
}

Test(event_set, failure_at_any_open_leaves_nothing_open)
{
    const int codes[] = {-ENOMEM, -EMFILE, -ENFILE, -EBUSY, -ENOSPC};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(codes); i++) {
        refused_code = codes[i];
        for (refused_number = 0; refused_number <= 3 * CPUS * 2; refused_number++) {
            struct event_set_rig f;
            event_set_rig_init(&f, "cs,faults", 2);
            f.faulty.refuse = refuse_one;
            if (refused_number < 3 * CPUS * 2)
                event_set_rig_expect_refused(&f, codes[i]);
            else
                event_set_rig_expect_open(&f);
            cr_assert_eq(f.faulty.opens, weir_min_u64(refused_number + 1, 3 * CPUS * 2));
            event_set_rig_fini(&f);
        }
    }
}

Test(event_set, failure_to_read_any_id_leaves_nothing_open)
{
    for (unsigned number = 1; number <= 2 * CPUS; number++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs", 0);
        f.faulty.fail_id_at = number;
        event_set_rig_expect_refused(&f, -EIO);
        char expected[96];
        snprintf(expected, sizeof(expected), "cannot read the id of event %s on cpu %u: Input/output error",
                 number <= CPUS ? "cs" : "dummy:u", number % CPUS ? 1 : 5);
        cr_assert_str_eq(f.err.what, expected);
        event_set_rig_fini(&f);
    }
}

Test(event_set, out_of_memory_at_any_allocation_leaves_nothing_open)
{
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs", 2);
        failing_alloc_after(failures);
        result = event_set_rig_open(&f);
        if (result != 0) {
            cr_assert_eq(result, -ENOMEM, "after %u", failures);
            /* The kernel's own want of memory is told of the event that it was opening. */
            if (f.faulty.opens_failed)
                cr_assert_eq(strncmp(f.err.what, "cannot open event '", 19), 0, "%s", f.err.what);
            else
                cr_assert_str_eq(f.err.what, "cannot open 2 events on 2 CPUs: Cannot allocate memory");
            cr_assert_eq(f.faulty.open_now, 0, "after %u", failures);
        }
        event_set_rig_fini(&f);
    }
    cr_assert_geq(failures, 6); /* cpus, fds, ids, gone, id map, and the last time round nothing */
}

static int refuse_all_noent(const struct faulty_open *attempt)
{
    (void)attempt;
    return -ENOENT;
}

Test(event_set, event_with_no_substitute_is_refused_at_once)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "instructions", 0);
    f.faulty.refuse = refuse_all_noent;
    event_set_rig_expect_refused(&f, -ENOENT);
    cr_assert_eq(f.faulty.opens, 1);
    cr_assert_eq(f.notice_count, 0);
    event_set_rig_fini(&f);
}

Test(event_set, when_the_substitute_is_refused_too_it_ends)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cycles", 0);
    f.faulty.refuse = refuse_all_noent;
    event_set_rig_expect_refused(&f, -ENOENT);
    cr_assert_eq(f.faulty.opens, 2);
    event_set_rig_fini(&f);
}

static int refuse_all_inval(const struct faulty_open *attempt)
{
    (void)attempt;
    return -EINVAL;
}

Test(event_set, ladder_has_an_end)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 0);
    f.faulty.refuse = refuse_all_inval;
    event_set_rig_expect_refused(&f, -EINVAL);
    cr_assert_eq(f.faulty.opens, 4, "a sampling event has three things that may be dropped");
    cr_assert_eq(f.notice_count, 3);
    event_set_rig_fini(&f);
}

static int refuse_kernel(const struct faulty_open *attempt)
{
    return attempt->attr->exclude_kernel ? 0 : -EACCES;
}

Test(event_set, kernel_is_not_left_out_of_what_the_user_named)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cycles:k", 1);
    f.faulty.refuse = refuse_kernel;
    event_set_rig_expect_refused(&f, -EACCES);
    cr_assert_eq(f.faulty.opens, 1);
    event_set_rig_fini(&f);
}

/* Without privileges all tasks of a CPU may not be looked at in user space either. */
Test(event_set, kernel_is_not_left_out_of_whole_cpus)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cycles", 0);
    f.faulty.refuse = refuse_kernel;
    event_set_rig_expect_refused(&f, -EACCES);
    cr_assert_eq(f.faulty.opens, 1);
    event_set_rig_fini(&f);
}

/* ---- refusals that are worked round ---- */

static int refuse_hardware(const struct faulty_open *attempt)
{
    return attempt->attr->type == PERF_TYPE_HARDWARE ? refused_code : 0;
}

Test(event_set, cycles_become_cpu_clock_without_a_pmu)
{
    const int codes[] = {-ENOENT, -ENODEV, -ENXIO, -EOPNOTSUPP};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(codes); i++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs,cycles", 0);
        f.faulty.refuse = refuse_hardware;
        refused_code = codes[i];
        event_set_rig_expect_open(&f);
        cr_assert_str_eq(f.list.events[1].name, "cpu-clock");
        cr_assert_eq(f.list.events[1].attr.type, PERF_TYPE_SOFTWARE);
        cr_assert_eq(f.list.events[1].attr.config, PERF_COUNT_SW_CPU_CLOCK);
        cr_assert_eq(f.list.events[1].attr.sample_period, 1000);
        cr_assert_eq(f.notice_count, 1);
        cr_assert_eq(f.levels[0], WEIR_NOTICE_WARNING);
        cr_assert_str_eq(f.notices[0], "the cycles event is not supported here (no hardware PMU); recording cpu-clock "
                                       "instead");
        cr_assert_eq(f.faulty.opens, CPUS + 1 + 2 * CPUS, "what was open before stays open");
        cr_assert_eq(f.faulty.open_now, 3 * CPUS);
        event_set_rig_fini(&f);
    }
}

static int refuse_precise(const struct faulty_open *attempt)
{
    return attempt->attr->precise_ip > 1 ? -EOPNOTSUPP : 0;
}

Test(event_set, default_event_is_opened_at_the_precision_that_there_is)
{
    struct event_set_rig f;
    event_set_rig_init(&f, NULL, 0);
    f.faulty.refuse = refuse_precise;
    event_set_rig_expect_open(&f);
    cr_assert_eq(f.list.events[0].attr.precise_ip, 1);
    cr_assert_eq(f.list.events[0].attr.type, PERF_TYPE_HARDWARE);
    cr_assert_eq(f.faulty.opens, 2 + 2 * CPUS);
    cr_assert_eq(f.notice_count, 0);
    event_set_rig_fini(&f);
}

Test(event_set, default_event_loses_its_precision_before_it_is_replaced)
{
    struct event_set_rig f;
    event_set_rig_init(&f, NULL, 0);
    f.faulty.refuse = refuse_hardware;
    refused_code = -ENOENT;
    event_set_rig_expect_open(&f);
    cr_assert_str_eq(f.list.events[0].name, "cpu-clock");
    cr_assert_eq(f.list.events[0].attr.precise_ip, 0);
    cr_assert_eq(f.faulty.opens, 4 + 2 * CPUS); /* at precision 3, 2, 1 and 0 */
    event_set_rig_fini(&f);
}

Test(event_set, kernel_is_left_out_of_own_tasks_where_it_is_forbidden)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cycles,faults", 1);
    f.faulty.refuse = refuse_kernel;
    event_set_rig_expect_open(&f);
    for (unsigned event = 0; event < 2; event++) {
        cr_assert_str_eq(f.list.events[event].name, event == 0 ? "cycles:u" : "faults:u");
        cr_assert_eq(f.list.events[event].attr.exclude_kernel, 1);
        cr_assert_eq(f.list.events[event].attr.exclude_hv, 1);
    }
    cr_assert_eq(f.notice_count, 2);
    cr_assert_eq(f.levels[0], WEIR_NOTICE_WARNING);
    cr_assert_str_eq(f.notices[0], "kernel.perf_event_paranoid=2 forbids recording the kernel; recording cycles:u, "
                                   "user space only");
    cr_assert_eq(f.faulty.open_now, 3 * CPUS);
    event_set_rig_fini(&f);
}

static int refuse_count_of_losses(const struct faulty_open *attempt)
{
    return attempt->attr->read_format & PERF_FORMAT_LOST ? refused_code : 0;
}

Test(event_set, attrs_lose_what_a_kernel_before_6_0_refuses)
{
    const int codes[] = {-EINVAL, -E2BIG};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(codes); i++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs", 0);
        f.faulty.refuse = refuse_count_of_losses;
        refused_code = codes[i];
        event_set_rig_expect_open(&f);
        cr_assert_eq(f.list.events[0].attr.read_format, PERF_FORMAT_ID);
        cr_assert_eq(f.list.events[SIDEBAND].attr.read_format, PERF_FORMAT_ID);
        cr_assert_eq(f.list.events[SIDEBAND].attr.ksymbol, 1);
        cr_assert_eq(f.notice_count, 1);
        cr_assert_eq(f.levels[0], WEIR_NOTICE_VERBOSE);
        event_set_rig_fini(&f);
    }
}

static int refuse_bpf_records(const struct faulty_open *attempt)
{
    return attempt->attr->ksymbol || attempt->attr->bpf_event ? -EINVAL : 0;
}

Test(event_set, attrs_lose_what_a_kernel_before_5_1_refuses)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 0);
    f.faulty.refuse = refuse_bpf_records;
    event_set_rig_expect_open(&f);
    cr_assert_eq(f.list.events[SIDEBAND].attr.ksymbol, 0);
    cr_assert_eq(f.list.events[SIDEBAND].attr.bpf_event, 0);
    cr_assert_eq(f.list.events[SIDEBAND].attr.mmap2, 1);
    cr_assert_eq(f.list.events[0].attr.read_format, PERF_FORMAT_ID);
    cr_assert_eq(f.notice_count, 2);
    cr_assert_eq(f.faulty.opens, 3 * CPUS + 2 + CPUS); /* events on all CPUs thrice, two refusals, sideband */
    event_set_rig_fini(&f);
}

/* ---- tasks that are gone ---- */

static unsigned gone_from; /* the attempt from which on SECOND does not exist */

static int refuse_gone_task(const struct faulty_open *attempt)
{
    return attempt->pid == SECOND && attempt->number >= gone_from ? -ESRCH : 0;
}

/* Whenever it goes: what was opened of it stays, nothing more is tried. */
Test(event_set, task_that_ends_meanwhile_is_passed_over)
{
    for (gone_from = 0; gone_from < 2 * CPUS * 3; gone_from++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs", 3);
        f.faulty.refuse = refuse_gone_task;
        event_set_rig_expect_open(&f);
        unsigned opened = 0, second_opened = 0;
        for (unsigned event = 0; event < 2; event++) {
            for (unsigned cpu = 0; cpu < CPUS; cpu++) {
                for (unsigned task = 0; task < 3; task++) {
                    size_t at = (event * CPUS + cpu) * 3 + task;
                    int fd = weir_event_set_fd(&f.set, event, cpu, task);
                    cr_assert_eq(fd >= 0, f.set.ids[at] != 0);
                    opened += fd >= 0;
                    second_opened += fd >= 0 && task == 1;
                }
            }
        }
        cr_assert_eq(second_opened, (gone_from + 1) / 3, "gone from %u", gone_from);
        cr_assert_eq(opened, 2 * CPUS * 2 + second_opened);
        cr_assert_eq(f.faulty.open_now, opened);
        cr_assert_eq(f.faulty.opens, weir_min_u64(opened + 1, 2 * CPUS * 3));
        event_set_rig_fini(&f);
    }
}

/* The first time round everything opens but the sideband event; when all is opened again, SECOND is gone. */
static int refuse_bpf_then_gone(const struct faulty_open *attempt)
{
    if (attempt->attr->read_format & PERF_FORMAT_LOST)
        return attempt->attr->ksymbol ? -EINVAL : 0;
    return attempt->pid == SECOND ? -ESRCH : 0;
}

Test(event_set, ids_of_an_earlier_try_do_not_outlive_it)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 2);
    f.faulty.refuse = refuse_bpf_then_gone;
    event_set_rig_expect_open(&f);
    for (unsigned event = 0; event < 2; event++) {
        for (unsigned cpu = 0; cpu < CPUS; cpu++) {
            size_t at = (event * CPUS + cpu) * 2 + 1;
            cr_assert_eq(f.set.fds[at], -1);
            cr_assert_eq(f.set.ids[at], 0, "event %u, cpu %u", event, cpu);
        }
    }
    event_set_rig_fini(&f);
}

static int refuse_all_gone(const struct faulty_open *attempt)
{
    return attempt->number >= gone_from ? -ESRCH : 0;
}

Test(event_set, no_task_left_is_an_error)
{
    for (gone_from = 0; gone_from < 2 * CPUS * 2 - 1; gone_from++) {
        struct event_set_rig f;
        event_set_rig_init(&f, "cs", 2);
        f.faulty.refuse = refuse_all_gone;
        event_set_rig_expect_refused(&f, -ESRCH);
        cr_assert_str_eq(f.err.what, "all target tasks ended before they could be attached to");
        event_set_rig_fini(&f);
    }
}

/* ---- what is open ---- */

Test(event_set, close_takes_null_and_is_idempotent)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 0);
    weir_event_set_close(NULL);
    event_set_rig_expect_open(&f);
    weir_event_set_close(&f.set);
    weir_event_set_close(&f.set);
    event_set_rig_fini(&f);
}

Test(event_set, every_event_is_open_on_every_cpu_and_known_by_its_id)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 2);
    event_set_rig_expect_open(&f);
    cr_assert_eq(f.set.event_count, 3);
    cr_assert_eq(f.set.place_count, CPUS);
    cr_assert_eq(f.set.task_count, 2);
    cr_assert_eq(f.set.places[0].cpu, 1);
    cr_assert_eq(f.set.places[1].cpu, 5);
    cr_assert_eq(weir_event_set_sideband(&f.set), 2);
    cr_assert_eq(f.faulty.open_now, 3 * CPUS * 2);
    for (unsigned event = 0; event < 3; event++) {
        for (unsigned cpu = 0; cpu < CPUS; cpu++) {
            for (unsigned task = 0; task < 2; task++) {
                uint64_t id = f.set.ids[(event * CPUS + cpu) * 2 + task];
                const struct weir_id_entry *entry = weir_id_map_find(&f.set.id_map, id);
                cr_assert_not_null(entry);
                cr_assert_eq(entry->event, event);
                cr_assert_eq(entry->place, cpu);
            }
        }
    }
    event_set_rig_fini(&f);
}

/* ---- rings ---- */

static void expect_redirect(const struct event_set_rig *f, unsigned number, int fd, int ring_fd)
{
    cr_assert_eq(f->faulty.redirects[number].fd, fd, "redirect %u", number);
    cr_assert_eq(f->faulty.redirects[number].ring_fd, ring_fd, "redirect %u", number);
}

Test(event_set, failed_redirection_unmaps_the_ring)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 0);
    event_set_rig_expect_open(&f);
    f.faulty.fail_redirect_at = 1;
    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_event_set_map_ring(&f.set, 0, false, 4096, &ring), -EINVAL);
    cr_assert_null(ring.page);
    cr_assert_eq(f.faulty.maps_now, 0);
    event_set_rig_fini(&f);
}

Test(event_set, ring_of_a_cpu_takes_all_events_but_sideband)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 2);
    event_set_rig_expect_open(&f);
    struct weir_ring data = WEIR_RING_INIT, side = WEIR_RING_INIT;
    cr_assert_eq(weir_event_set_map_ring(&f.set, 1, false, 4096, &data), 0);
    cr_assert_eq(f.faulty.redirect_count, 3);
    int owner = weir_event_set_fd(&f.set, 0, 1, 0);
    expect_redirect(&f, 0, weir_event_set_fd(&f.set, 0, 1, 1), owner);
    expect_redirect(&f, 1, weir_event_set_fd(&f.set, 1, 1, 0), owner);
    expect_redirect(&f, 2, weir_event_set_fd(&f.set, 1, 1, 1), owner);

    cr_assert_eq(weir_event_set_map_ring(&f.set, 1, true, 4096, &side), 0);
    cr_assert_eq(f.faulty.redirect_count, 4);
    expect_redirect(&f, 3, weir_event_set_fd(&f.set, 2, 1, 1), weir_event_set_fd(&f.set, 2, 1, 0));
    weir_ring_unmap(&data);
    weir_ring_unmap(&side);
    event_set_rig_fini(&f);
}

Test(event_set, user_parts_of_call_chains_go_to_the_ring_of_the_samples)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 0);
    cr_assert_eq(weir_event_list_add_deferred(&f.list), 0);
    event_set_rig_expect_open(&f);
    cr_expect_eq(weir_event_set_sideband(&f.set), 1);
    cr_expect_eq(weir_event_set_deferred_event(&f.set), 2);
    struct weir_ring data = WEIR_RING_INIT;
    cr_assert_eq(weir_event_set_map_ring(&f.set, 1, false, 4096, &data), 0);
    cr_assert_eq(f.faulty.redirect_count, 1);
    expect_redirect(&f, 0, weir_event_set_fd(&f.set, 2, 1, 0), weir_event_set_fd(&f.set, 0, 1, 0));
    weir_ring_unmap(&data);
    event_set_rig_fini(&f);
}

static int refuse_first_task(const struct faulty_open *attempt)
{
    return attempt->pid == FIRST ? -ESRCH : 0;
}

Test(event_set, ring_is_of_the_first_task_that_is_there)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 3);
    f.faulty.refuse = refuse_first_task;
    event_set_rig_expect_open(&f);
    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_event_set_map_ring(&f.set, 0, false, 4096, &ring), 0);
    cr_assert_eq(f.faulty.redirect_count, 1);
    expect_redirect(&f, 0, weir_event_set_fd(&f.set, 0, 0, 2), weir_event_set_fd(&f.set, 0, 0, 1));

    unsigned count;
    const int *fds = weir_event_set_poll_fds(&f.set, 0, false, &count);
    cr_assert_eq(count, 3);
    cr_assert_eq(fds[0], -1);
    cr_assert_eq(fds[1], weir_event_set_fd(&f.set, 0, 0, 1));
    cr_assert_eq(fds[2], weir_event_set_fd(&f.set, 0, 0, 2));
    weir_ring_unmap(&ring);
    event_set_rig_fini(&f);
}

Test(event_set, poll_descriptors_are_those_of_the_ring)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 2);
    event_set_rig_expect_open(&f);
    unsigned count;
    const int *fds = weir_event_set_poll_fds(&f.set, 1, true, &count);
    cr_assert_eq(count, 2);
    cr_assert_eq(fds[0], weir_event_set_fd(&f.set, 2, 1, 0));
    cr_assert_eq(fds[1], weir_event_set_fd(&f.set, 2, 1, 1));
    event_set_rig_fini(&f);
}

/* ---- enabling, disabling, reading ---- */

Test(event_set, side_events_are_enabled_apart)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 0);
    event_set_rig_expect_open(&f);
    weir_event_set_enable(&f.set, true);
    cr_assert_eq(f.faulty.enables, CPUS);
    weir_event_set_enable(&f.set, false);
    cr_assert_eq(f.faulty.enables, 3 * CPUS);
    weir_event_set_disable(&f.set);
    cr_assert_eq(f.faulty.disables, 3 * CPUS);
    event_set_rig_fini(&f);
}

/* The simulated kernel knows no tasks: what a child that is forked meanwhile would do to the first of two is not seen.
 */
Test(event_set, inherited_events_are_toggled_twice)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 2);
    f.config.inherit = true;
    event_set_rig_expect_open(&f);
    weir_event_set_enable(&f.set, true);
    cr_assert_eq(f.faulty.enables, 2 * 2 * CPUS, "tasks, each twice");
    weir_event_set_enable(&f.set, false);
    cr_assert_eq(f.faulty.enables, 3 * 2 * 2 * CPUS);
    weir_event_set_toggle(&f.set, 0, false);
    cr_assert_eq(f.faulty.disables, 2 * 2 * CPUS);
    cr_assert_eq(f.set.disables, 1, "an event that is off is not cut off again");
    weir_event_set_end(&f.set);
    cr_assert_eq(f.faulty.disables, 4 * 2 * 2 * CPUS);
    event_set_rig_fini(&f);

    event_set_rig_init(&f, "cs,faults", 0);
    f.config.inherit = true;
    event_set_rig_expect_open(&f);
    weir_event_set_enable(&f.set, false);
    cr_assert_eq(f.faulty.enables, 2 * CPUS, "events of CPUs are inherited by nobody");
    event_set_rig_fini(&f);
}

static int refuse_uninherited(const struct faulty_open *attempt)
{
    return attempt->attr->inherit ? 0 : -EMFILE;
}

/* Contexts of which one has an event that is not inherited are not exchanged, and with them no counts. */
Test(event_set, with_counts_of_threads_targets_have_an_event_that_nothing_inherits)
{
    struct event_set_rig f;
    for (unsigned inherit = 0; inherit < 2; inherit++) {
        event_set_rig_init(&f, "cs,faults", 2);
        f.config.inherit = inherit;
        f.config.inherit_stat = true;
        event_set_rig_expect_open(&f);
        cr_assert_eq(f.faulty.open_now, 3 * 2 * CPUS + (inherit ? 2 : 0));
        event_set_rig_fini(&f);
    }
    event_set_rig_init(&f, "cs,faults", 2);
    f.config.inherit = f.config.inherit_stat = true;
    f.faulty.refuse = refuse_uninherited;
    event_set_rig_expect_refused(&f, -EMFILE);
    event_set_rig_fini(&f);
}

/* What the ledger goes by: each time may leave events that were counted without a sample. */
Test(event_set, disables_of_events_that_can_count_are_counted)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 0);
    event_set_rig_expect_open(&f);
    weir_event_set_enable(&f.set, true);
    weir_event_set_disable_samples(&f.set);
    cr_assert_eq(f.set.disables, 0, "none was on but the sideband event");
    weir_event_set_toggle(&f.set, 1, true);
    weir_event_set_disable_samples(&f.set);
    cr_assert_eq(f.set.disables, 1, "one was on");
    weir_event_set_toggle(&f.set, 1, false);
    weir_event_set_disable(&f.set);
    cr_assert_eq(f.set.disables, 1, "all were off");
    event_set_rig_fini(&f);
}

/* They are enabled by execve(2) of the workload; nobody calls weir_event_set_enable(). */
Test(event_set, disable_of_events_that_an_exec_enables_is_counted)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 1);
    f.config.enable_on_exec = true;
    event_set_rig_expect_open(&f);
    weir_event_set_disable(&f.set);
    cr_assert_eq(f.set.disables, 1);
    event_set_rig_fini(&f);

    event_set_rig_init(&f, "cs,faults", 1);
    f.config.enable_on_exec = f.config.starts_disabled = true;
    event_set_rig_expect_open(&f);
    weir_event_set_disable(&f.set);
    cr_assert_eq(f.set.disables, 0, "-D: the exec enables nothing");
    event_set_rig_fini(&f);
}

/* What a child does that the kernel has left its events belongs to no recording. */
Test(event_set, counts_and_rings_stay_at_the_end_as_they_are_whatever_goes_on)
{
    struct event_set_rig f;
    struct weir_ring ring;
    struct weir_event_count count;
    const struct weir_sim_sample sample = {.pid = 1, .tid = 1};
    event_set_rig_init(&f, "cs", 0);
    event_set_rig_expect_open(&f);
    cr_assert_eq(weir_event_set_map_ring(&f.set, 0, false, 8192, &ring), 0);
    weir_event_set_enable(&f.set, false);
    int fd = weir_event_set_fd(&f.set, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        cr_assert(weir_sim_kernel_sample(f.faulty.sim, fd, &sample));
    weir_event_set_end(&f.set);
    cr_assert_eq(f.faulty.disables, 2 * CPUS);

    f.set.kernel->ops->event_enable(f.set.kernel->ctx, fd);
    weir_event_set_pause(&f.set, WEIR_PAUSE_FULL_DISK, false); /* a disk that has room again */
    cr_assert_not(weir_sim_kernel_sample(f.faulty.sim, fd, &sample), "the ring takes it");
    cr_assert_eq(weir_event_set_read(&f.set, 0, 0, 0, &count), 0);
    cr_assert_eq(count.value, 3);
    cr_assert_eq(count.lost, 0);
    cr_assert_eq(count.id, f.set.ids[0]);
    weir_ring_unmap(&ring);
    event_set_rig_fini(&f);
}

Test(event_set, counts_that_there_is_no_memory_for_are_read_when_they_are_asked_for)
{
    struct event_set_rig f;
    struct weir_event_count count;
    event_set_rig_init(&f, "cs", 0);
    event_set_rig_expect_open(&f);
    failing_alloc_after(0);
    weir_event_set_end(&f.set);
    failing_alloc_never();
    cr_assert_null(f.set.last_counts);
    cr_assert_eq(weir_event_set_read(&f.set, 0, 1, 0, &count), 0);
    cr_assert_eq(count.id, f.set.ids[1]);
    event_set_rig_fini(&f);
}

/* What the side event has lost is no sample. */
Test(event_set, losses_of_each_event_place_and_task_are_summed_once)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 2);
    event_set_rig_expect_open(&f);
    weir_event_set_end(&f.set);
    cr_assert_eq(weir_event_set_read_lost(&f.set), 0);
    for (unsigned i = 0; i < 3 * CPUS * 2; i++)
        f.set.last_counts[i].lost = 1ull << i;
    cr_assert_eq(weir_event_set_read_lost(&f.set), (1u << 2 * CPUS * 2) - 1);
    event_set_rig_fini(&f);
}

/* One whose PMU stopped by itself: it is on as far as the kernel knows, so that to enable it would do nothing. */
Test(event_set, event_is_restarted_at_one_place_for_each_task)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs,faults", 2);
    event_set_rig_expect_open(&f);
    weir_event_set_enable(&f.set, false);
    unsigned enables = f.faulty.enables, disables = f.set.disables;
    weir_event_set_restart_at(&f.set, 1, 0);
    cr_assert_eq(f.faulty.disables, 2);
    cr_assert_eq(f.faulty.enables - enables, 2);
    cr_assert_eq(f.set.disables - disables, 1, "the ledger is not told");
    event_set_rig_fini(&f);
}

Test(event_set, counts_of_a_task_that_was_gone_are_not_there)
{
    struct event_set_rig f;
    event_set_rig_init(&f, "cs", 2);
    f.faulty.refuse = refuse_first_task;
    event_set_rig_expect_open(&f);
    struct weir_event_count count;
    cr_assert_eq(weir_event_set_read(&f.set, 0, 0, 0, &count), -ENOENT);
    cr_assert_eq(weir_event_set_read(&f.set, 0, 0, 1, &count), 0);
    cr_assert_eq(count.id, f.set.ids[1]);
    cr_assert_eq(count.value, 0);
    event_set_rig_fini(&f);
}

Test(event_set, timer_that_interrupts_each_cpu_all_the_time_is_found)
{
    static const struct {
        const char *events;
        unsigned tasks;
        const char *storm;
    } cases[] = {
        {"cpu-clock/freq=100000/", 0, "cpu-clock/freq=100000/"},
        {"task-clock/period=10000/", 0, "task-clock/period=10000/"},
        {"cpu-clock/freq=50000/", 0, NULL},
        {"cpu-clock/period=10001/", 0, NULL},
        {"page-faults/period=1/", 0, NULL},
        {"cpu-clock/freq=100000/", 1, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct event_set_rig rig;
        event_set_rig_init(&rig, cases[i].events, cases[i].tasks);
        event_set_rig_expect_open(&rig);
        const char *found = weir_event_set_timer_storm(&rig.set);
        cr_expect(cases[i].storm ? found && strcmp(found, cases[i].storm) == 0 : !found, "%s: %s", cases[i].events,
                  found ? found : "none");
        event_set_rig_fini(&rig);
    }
}

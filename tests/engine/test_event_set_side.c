/* Places and tasks with side events only: CPUs outside of -C, and siblings of the recorded threads. */
#include <criterion/criterion.h>

#include "engine/sim/sim_kernel.h"
#include "tests/engine/event_set_rig.h"

#define SAMPLES  0u /* index of the event */
#define SIDEBAND 1u

static struct event_set_rig rig;

/* CPUs 1 and 5 are recorded, CPU 2 is not, and CPU 9 may come. */
static void open_beside(bool late_is_side_only)
{
    event_set_rig_init(&rig, "cs", 0);
    cr_assert_eq(weir_cpuset_add(&rig.side_cpus, 2), 0);
    cr_assert_eq(weir_cpuset_add(&rig.late_cpus, 9), 0);
    rig.late_are_side_only = late_is_side_only;
    rig.config.samples.switch_events = true;
    rig.config.sideband_watermark_bytes = 4096;
    rig.config.side_only_watermark_bytes = 1024;
    weir_sim_kernel_set_cpu(rig.faulty.sim, 9, false);
    event_set_rig_expect_open(&rig);
}

Test(event_set_side, cpu_beside_the_recorded_ones_has_a_sideband_ring_only)
{
    open_beside(true);
    cr_assert_eq(rig.set.place_count, 4);
    cr_assert_eq(rig.set.late_from, 3);
    cr_assert_eq(rig.faulty.open_now, 2 * CPUS + 1);
    cr_assert_eq(rig.set.places[2].cpu, 2);
    cr_assert(rig.set.places[2].side_only);
    cr_assert_not(weir_event_set_has_ring(&rig.set, 2, false));
    cr_assert(weir_event_set_has_ring(&rig.set, 2, true));
    cr_assert_eq(rig.set.file_ids[weir_event_set_slot(&rig.set, SAMPLES, 2, 0)], 0);
    cr_assert_neq(rig.set.file_ids[weir_event_set_slot(&rig.set, SIDEBAND, 2, 0)], 0);
    event_set_rig_fini(&rig);
}

Test(event_set_side, cpu_that_comes_beside_the_recorded_ones_gets_side_events_only)
{
    open_beside(true);
    unsigned opens = rig.faulty.open_now;
    weir_sim_kernel_set_cpu(rig.faulty.sim, 9, true);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 3, &rig.limits, &rig.err), 0, "%s", rig.err.what);
    cr_assert_eq(rig.faulty.open_now, opens + 1);
    cr_assert_not(weir_event_set_has_ring(&rig.set, 3, false));
    cr_assert(weir_event_set_has_ring(&rig.set, 3, true));
    event_set_rig_fini(&rig);
}

Test(event_set_side, cpu_that_comes_to_a_recording_of_all_cpus_gets_all_events)
{
    open_beside(false);
    unsigned opens = rig.faulty.open_now;
    weir_sim_kernel_set_cpu(rig.faulty.sim, 9, true);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 3, &rig.limits, &rig.err), 0, "%s", rig.err.what);
    cr_assert_eq(rig.faulty.open_now, opens + 2);
    cr_assert(weir_event_set_has_ring(&rig.set, 3, false));
    event_set_rig_fini(&rig);
}

static struct perf_event_attr sideband_on_5, sideband_on_2;

static int note_attr(const struct faulty_open *attempt)
{
    if (attempt->attr->config == PERF_COUNT_SW_DUMMY && attempt->cpu == 5)
        sideband_on_5 = *attempt->attr;
    if (attempt->attr->config == PERF_COUNT_SW_DUMMY && attempt->cpu == 2)
        sideband_on_2 = *attempt->attr;
    return 0;
}

Test(event_set_side, cpu_beside_the_recorded_ones_has_no_context_switches_and_an_early_wake_up)
{
    event_set_rig_init(&rig, "cs", 0);
    rig.faulty.refuse = note_attr;
    cr_assert_eq(weir_cpuset_add(&rig.side_cpus, 2), 0);
    rig.config.samples.switch_events = true;
    rig.config.sideband_watermark_bytes = 4096;
    rig.config.side_only_watermark_bytes = 1024;
    event_set_rig_expect_open(&rig);
    cr_assert(sideband_on_5.context_switch && sideband_on_5.mmap2);
    cr_assert(!sideband_on_2.context_switch && sideband_on_2.mmap2);
    cr_assert_eq(sideband_on_5.wakeup_watermark, 4096);
    cr_assert_eq(sideband_on_2.wakeup_watermark, 1024);
    event_set_rig_fini(&rig);
}

/* FIRST is recorded, SECOND and THIRD are threads of the same process. */
static void add_siblings(void)
{
    rig.targets.count = 1;
    rig.targets.sibling_count = 2;
}

Test(event_set_side, sibling_has_side_events_on_each_cpu)
{
    event_set_rig_init(&rig, "cs", 3);
    add_siblings();
    event_set_rig_expect_open(&rig);
    cr_assert_eq(rig.set.task_count, 3);
    cr_assert_eq(rig.set.sampled_tasks, 1);
    cr_assert_eq(rig.faulty.open_now, CPUS + 3 * CPUS);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        cr_assert_eq(weir_event_set_fd(&rig.set, SAMPLES, cpu, 1), -1);
        cr_assert_geq(weir_event_set_fd(&rig.set, SIDEBAND, cpu, 2), 0);
    }
    event_set_rig_fini(&rig);
}

Test(event_set_side, sibling_is_a_place_without_a_data_ring_where_rings_belong_to_tasks)
{
    event_set_rig_init(&rig, "cs", 3);
    add_siblings();
    rig.per_thread = true;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(rig.set.place_count, 3);
    cr_assert_eq(rig.faulty.open_now, 1 + 3);
    cr_assert_not(rig.set.places[0].side_only);
    for (unsigned place = 1; place < 3; place++) {
        cr_assert(rig.set.places[place].side_only);
        cr_assert_not(weir_event_set_has_ring(&rig.set, place, false));
        cr_assert(weir_event_set_has_ring(&rig.set, place, true));
    }
    event_set_rig_fini(&rig);
}

/* Plans of machines that are only described: no test asks the kernel. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"
#include "engine/drain/chunk.h"
#include "engine/events/event_parse.h"
#include "engine/plan/recording_plan.h"
#include "engine/plan/recording_plan_internal.h"

#define MIB (1ull << 20)

static struct weir_event_list events;
static struct weir_record_options options;
static struct weir_machine_facts machine;
static struct weir_recording_plan plan;

static void describe(const char *topology)
{
    struct weir_error err = {0};
    weir_topology_free(machine.topology);
    machine.topology = NULL;
    cr_assert_eq(weir_topology_load_synthetic(&machine.topology, topology, &err), 0, "%s", err.what);
}

static void set_up(void)
{
    struct weir_error err = {0};
    events = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    options = (struct weir_record_options){.events = &events, .targets.system_wide = true, .output.path = "perf.data"};
    machine = (struct weir_machine_facts){
        .limits = {.page_bytes = 4096,
                   .mlock_kb = 516,
                   .max_sample_rate_hz = 1000,
                   .nofile = 1024,
                   .cap_perfmon = true,
                   .cap_ipc_lock = true},
        .memory_limit.bytes = 4096 * MIB,
        .free_bytes = UINT64_MAX,
    };
    plan = (struct weir_recording_plan){.options = &options, .machine = &machine};
    describe("numa:1(memory=32GB) core:4 pu:1");
    cr_assert_eq(weir_event_list_parse(&events, "cpu-clock", NULL, &err), 0, "%s", err.what);
}

static void tear_down(void)
{
    weir_recording_plan_fini(&plan);
    weir_event_list_fini(&events);
    weir_machine_facts_fini(&machine);
}

TestSuite(recording_plan, .init = set_up, .fini = tear_down);

static int make(struct weir_error *err)
{
    return weir_recording_plan_make(&plan, &options, &machine, NULL, err);
}

/* ---- refused ---- */

Test(recording_plan, cpu_that_is_not_online_is_refused)
{
    struct weir_cpuset cpus = WEIR_CPUSET_INIT;
    struct weir_error err = {0};
    cr_assert_eq(weir_cpuset_parse(&cpus, "1,7", &err), 0);
    options.targets.cpus = &cpus;
    cr_assert_eq(make(&err), -ENODEV);
    cr_assert_str_eq(err.what, "cpu 7 is not online");
    cr_assert_str_eq(err.hint, "online CPUs: 0-3");
    weir_cpuset_fini(&cpus);
}

Test(recording_plan, frequency_above_the_limit_is_refused_only_when_strict)
{
    struct weir_error err = {0};
    options.rate.freq_hz = 4000;
    options.rate.strict = true;
    cr_assert_eq(make(&err), -EINVAL);
    cr_assert_str_eq(err.what, "maximum frequency rate (1000 Hz) exceeded");
}

Test(recording_plan, frequency_above_the_limit_is_lowered_to_it)
{
    struct weir_error err = {0};
    options.rate.freq_hz = 4000;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert_eq(plan.config.freq_hz, 1000);
}

Test(recording_plan, period_leaves_no_frequency_and_no_limit_of_it)
{
    struct weir_error err = {0};
    options.rate.period = 100;
    options.rate.strict = true;
    machine.limits.max_sample_rate_hz = 1; /* of the default frequency */
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert_eq(plan.config.period, 100);
    cr_assert_eq(plan.config.freq_hz, 0);
}

Test(recording_plan, name_without_room_for_the_time_of_a_rotation_is_refused)
{
    struct weir_error err = {0};
    char path[256];
    for (size_t i = 0; i < sizeof(path) - 1; i++)
        path[i] = 'x';
    path[240] = '\0';
    options.output.path = path;
    options.rotation.enabled = true;
    cr_assert_eq(make(&err), -ENAMETOOLONG);
}

/* ---- derived ---- */

Test(recording_plan, cpus_outside_the_list_get_small_sideband_rings_and_are_told)
{
    struct weir_cpuset cpus = WEIR_CPUSET_INIT;
    struct weir_error err = {0};
    const struct weir_targets none = {0};
    cr_assert_eq(weir_cpuset_parse(&cpus, "1", &err), 0);
    cr_assert_eq(weir_cpuset_add(&machine.late_cpus, 9), 0);
    options.targets.cpus = &cpus;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert_eq(weir_recording_plan_places(&plan), 1);
    cr_assert_eq(weir_cpuset_count(&plan.side_cpus), 3);
    cr_assert_eq(weir_recording_plan_side_only_cpus(&plan), 4); /* with the one that may come */
    cr_assert_eq(plan.side_only_ring_bytes, weir_min_u64(128 << 10, plan.sideband_ring_bytes));
    cr_assert_eq(plan.config.side_only_watermark_bytes, plan.side_only_ring_bytes / 4);
    /* An event and its sideband event on CPU 1, the latter on four more; 2 for the reader, 64 for all else. */
    cr_assert_eq(weir_recording_plan_fds_needed(&plan, &none), 2 + 4 + 2 + 64);
    weir_cpuset_fini(&cpus);
}

Test(recording_plan, threads_beside_the_target_take_descriptors_for_side_events)
{
    struct weir_error err = {0};
    options.targets.spec.kind = WEIR_TARGET_THREADS;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    const struct weir_targets targets = {.count = 1, .sibling_count = 10};
    cr_assert_eq(weir_recording_plan_fds_needed(&plan, &targets), 4 * (1 + 11) + 2 * 4 + 64);
}

Test(recording_plan, whole_machine_gets_a_reader_and_a_place_for_each_cpu)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_cpuset_add(&machine.late_cpus, 9), 0);
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert_eq(weir_cpuset_count(&plan.cpus), 4);
    cr_assert_eq(plan.placement.reader_count, 4);
    cr_assert_eq(weir_recording_plan_places(&plan), 5); /* with the one that may come */
    cr_assert_eq(plan.config.watermark_bytes, plan.ring_bytes / 4);
    cr_assert_not(plan.config.enable_on_exec);
}

Test(recording_plan, command_alone_is_recorded_without_ids_unless_files_rotate)
{
    struct weir_error err = {0};
    options.targets.system_wide = false;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert(plan.config.without_ids);
    cr_assert(plan.config.enable_on_exec);
}

Test(recording_plan, rotation_repeats_side_records_so_records_carry_ids)
{
    struct weir_error err = {0};
    options.targets.system_wide = false;
    options.rotation.enabled = options.rotation.timestamp = true;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert(weir_modes_rotate(&plan.modes));
    cr_assert_not(plan.config.without_ids);
}

Test(recording_plan, file_that_is_continued_decides_on_ids)
{
    struct weir_error err = {0};
    bool without_ids = false;
    options.targets.system_wide = false;
    cr_assert_eq(weir_recording_plan_make(&plan, &options, &machine, &without_ids, &err), 0, "%s", err.what);
    cr_assert_not(plan.config.without_ids);
}

Test(recording_plan, samples_in_memory_let_a_snapshot_of_the_pair_end_its_file)
{
    struct weir_error err = {0};
    options.memory.retained_bytes = 64 * MIB;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert(weir_modes_pair_ends_files(&plan.modes));
    cr_assert(weir_modes_rotate(&plan.modes));
    cr_assert_not(plan.grow_pool);
}

Test(recording_plan, modes_that_exclude_one_another_are_refused_whoever_asks)
{
    struct weir_error err = {0};
    options.memory.retained_bytes = 64 * MIB;
    options.memory.overwrite = true;
    cr_assert_eq(make(&err), -EINVAL);
    cr_assert_str_eq(err.what, "option '--overwrite' cannot be used with '--memory'");
}

Test(recording_plan, more_samples_than_a_quarter_of_memory_are_refused)
{
    struct weir_error err = {0};
    options.memory.retained_bytes = 2048 * MIB;
    cr_assert_eq(make(&err), -EINVAL);
    cr_assert_str_eq(err.what, "cannot keep 2048 MiB in memory: its cgroup has 4096 MiB");
}

Test(recording_plan, registers_that_go_with_the_stacks_are_refused)
{
    struct weir_error err = {0};
    options.samples.call_graph = (struct weir_call_graph_request){WEIR_CALL_GRAPH_DWARF, 8192, .unwinds = true};
    options.samples.user_regs = 1;
    int result = make(&err);
    cr_assert_eq(result, -EINVAL);
    cr_assert_str_eq(err.what, "option '--user-regs' cannot be used with '--call-graph=dwarf,unwind'");
}

/* ---- the stage ---- */

Test(recording_plan, stacks_are_unwound_before_equal_samples_become_one)
{
    struct weir_error err = {0};
    options.samples.call_graph = (struct weir_call_graph_request){WEIR_CALL_GRAPH_DWARF, 8192, .unwinds = true};
    options.samples.aggregate.interval_ns = WEIR_NS_PER_S;
    options.rate.freq_hz = 99;
    describe("numa:1(memory=32GB) core:32 pu:1");
    int result = make(&err);
    if (result == -ENOTSUP)
        cr_skip("%s", err.what);
    cr_assert_eq(result, 0, "%s", err.what);
    cr_assert_eq(weir_recording_plan_stage(&plan, NULL).rewriter_count, 2);
    cr_assert_eq(weir_recording_plan_stage(&plan, NULL).workers, 4);
    cr_assert_eq(weir_recording_plan_tables_bytes(&plan), 64 * MIB, "a part of the cgroup's 4 GiB");
    cr_assert_not(weir_modes_make_marks(&plan.modes));
    machine.memory_limit.bytes = UINT64_MAX;
    cr_assert_eq(weir_recording_plan_tables_bytes(&plan), 4 * 64 * MIB);
    const struct weir_event *event = &events.events[0];
    cr_assert(event->attr.sample_type & PERF_SAMPLE_STACK_USER);
    cr_assert_not(event->attr.sample_type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC));
    struct perf_event_attr in_file = weir_event_file_attr(event, &plan.config);
    cr_assert_eq(in_file.sample_type,
                 event->attr.sample_type & ~(uint64_t)(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER));
    cr_assert_not(events.events[1].attr.mmap_data, "nobody unwinds by maps without code");
}

/* ---- sizes ---- */

Test(recording_plan, rings_shrink_by_halves_down_to_a_page)
{
    plan.ring_bytes = 16384;
    plan.sideband_ring_bytes = 4096;
    cr_assert(weir_recording_plan_shrink_rings(&plan));
    cr_assert(weir_recording_plan_shrink_rings(&plan));
    cr_assert_eq(plan.ring_bytes, 4096);
    cr_assert_eq(plan.sideband_ring_bytes, 4096);
    cr_assert_eq(plan.config.watermark_bytes, 1024);
    cr_assert_not(weir_recording_plan_shrink_rings(&plan));
}

Test(recording_plan, ring_size_that_was_named_does_not_shrink)
{
    options.memory.ring_bytes = plan.ring_bytes = 65536;
    cr_assert_not(weir_recording_plan_shrink_rings(&plan));
    cr_assert_eq(plan.ring_bytes, 65536);
}

Test(recording_plan, pool_takes_a_quarter_of_a_small_disk_where_files_make_room)
{
    struct weir_error err = {0};
    options.output.on_full = WEIR_RECORD_ON_FULL_ROTATE;
    options.rotation.enabled = options.rotation.timestamp = true;
    machine.free_bytes = 80 * MIB;
    cr_assert_eq(make(&err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, 20 * MIB);
}

/* ---- AUX areas ---- */

static void set_up_aux(void)
{
    set_up();
    struct weir_error err = {0};
    cr_assert_eq(weir_cpuset_parse(&plan.cpus, "0-1", &err), 0);
    plan.placement.reader_count = 2;
    plan.aux.mode = WEIR_AUX_SNAPSHOT;
    weir_modes_add(&plan.modes, WEIR_MODE_AUX);
    weir_modes_add(&plan.modes, WEIR_MODE_AUX_SNAPSHOT);
    plan.aux.snapshot_bytes = plan.aux.area_bytes = 4 * MIB;
}

static void tear_down_aux(void)
{
    plan.placement.reader_count = 0;
    tear_down();
}

TestSuite(recording_plan_aux, .init = set_up_aux, .fini = tear_down_aux);

/* The pool that 2 readers get without AUX. */
static uint64_t plain_pool_bytes(void)
{
    return weir_pool_default_bytes(weir_topology_memory_bytes(machine.topology), 2);
}

Test(recording_plan_aux, pool_gets_room_for_a_snapshot_of_all_areas_at_once)
{
    struct weir_error err = {0};
    plan.aux.snapshot_bytes = 400 * MIB;
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, (2 * 402 + 2 * 8) * MIB);
}

Test(recording_plan_aux, pool_that_is_larger_anyhow_stays)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, plain_pool_bytes());
    plan.aux.snapshot_bytes = 400 * MIB;
    plan.aux.mode = WEIR_AUX_FULL; /* pieces of which may be cut */
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, plain_pool_bytes());
}

Test(recording_plan_aux, each_task_has_an_area_where_rings_are_of_tasks)
{
    struct weir_error err = {0};
    weir_modes_add(&plan.modes, WEIR_MODE_PER_THREAD);
    plan.tasks = 140;
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, (140 * 6 + 2 * 8) * MIB);
}

Test(recording_plan_aux, pool_for_snapshots_does_not_shrink_for_the_sake_of_a_small_disk)
{
    struct weir_error err = {0};
    weir_modes_add(&plan.modes, WEIR_MODE_FULL_ROTATES);
    machine.free_bytes = 80 * MIB;
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, plain_pool_bytes());
    plan.aux.mode = WEIR_AUX_FULL;
    weir_modes_remove(&plan.modes, WEIR_MODE_AUX_SNAPSHOT);
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, 20 * MIB);
}

Test(recording_plan_aux, size_that_was_named_and_is_too_small_is_refused)
{
    struct weir_error err = {0};
    options.memory.buffer_bytes = 8 * MIB;
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), -EINVAL);
    cr_assert_str_eq(err.what, "the buffer takes no snapshot of all AUX areas: that is 28 MiB");
    cr_assert_str_eq(err.hint, "-S with a size below 4096 KiB, smaller areas (-m ,SIZE), fewer CPUs (-C), or "
                               "--buffer-size 29M");
    options.memory.buffer_bytes = 28 * MIB;
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), 0, "%s", err.what);
    cr_assert_eq(plan.buffer_bytes, 28 * MIB);
}

Test(recording_plan_aux, more_than_the_machine_can_spare_is_refused)
{
    struct weir_error err = {0};
    plan.aux.snapshot_bytes = 1024 * MIB;
    cr_assert_eq(weir_recording_plan_choose_sizes(&plan, &err), -EINVAL);
}

Test(recording_plan_aux, areas_shrink_with_rings_unless_their_size_was_named)
{
    plan.ring_bytes = 65536;
    cr_assert(weir_recording_plan_shrink_rings(&plan));
    cr_assert_eq(plan.aux.area_bytes, 2 * MIB);
    cr_assert_eq(plan.aux.snapshot_bytes, 2 * MIB);
    options.aux.area_bytes = 2 * MIB;
    cr_assert(weir_recording_plan_shrink_rings(&plan));
    cr_assert_eq(plan.aux.area_bytes, 2 * MIB);
}

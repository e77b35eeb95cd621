/* Placement plans on synthetic, saved and narrowed machines. */
#include "topology/plan.h"

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/topology/fixture.h"
#include "tests/topology/saved_topology.h"
#include "topology/thread_affinity.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_FAILURE UINT_MAX

struct notices {
    unsigned count;
    enum weir_notice_level level;
    char line[1024]; /* the last one */
};

static void count_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    struct notices *notices = ctx;
    notices->count++;
    notices->level = level;
    snprintf(notices->line, sizeof(notices->line), "%s", line);
}

static struct weir_topology *machine(const char *description)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load_synthetic(&topology, description, &err), 0, "%s", err.what);
    return topology;
}

/* The CPUs of a list, or all online ones for NULL. */
static struct weir_cpuset cpus_of(const struct weir_topology *topology, const char *list)
{
    struct weir_cpuset cpus = WEIR_CPUSET_INIT;
    if (list)
        cr_assert_eq(weir_cpuset_parse(&cpus, list, NULL), 0);
    else
        cr_assert_eq(weir_cpuset_copy(&cpus, weir_topology_online(topology)), 0);
    return cpus;
}

/* Makes the plan, expects no notice, and expects its description. */
static void expect_plan(const struct weir_topology *topology, const char *recorded, const char *spec,
                        const char *description)
{
    struct weir_cpuset cpus = cpus_of(topology, recorded);
    struct notices notices = {0};
    struct weir_notice_sink sink = {count_notice, &notices};
    struct weir_plan plan;
    struct weir_error err = {0};
    cr_assert_eq(weir_plan_make(&plan, topology, &cpus, spec, &sink, &err), 0, "%s", err.what);
    cr_expect_eq(notices.count, 0);

    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(&plan, &text);
    cr_expect_eq(weir_buf_error(&text), 0);
    cr_expect_str_eq(weir_buf_str(&text), description);
    weir_buf_fini(&text);
    weir_plan_fini(&plan);
    weir_cpuset_fini(&cpus);
}

static void expect_refusal(const char *description, const char *recorded, const char *spec, const char *what,
                           const char *hint)
{
    struct weir_topology *topology = machine(description);
    struct weir_cpuset cpus = cpus_of(topology, recorded);
    struct weir_plan plan = {NULL, 77};
    struct weir_error err = {0};
    cr_expect_eq(weir_plan_make(&plan, topology, &cpus, spec, NULL, &err), -EINVAL);
    cr_expect_eq(err.code, -EINVAL);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
    cr_expect_eq(plan.reader_count, 77); /* untouched */
    weir_cpuset_fini(&cpus);
    weir_topology_free(topology);
}

Test(plan, no_cpu_to_record_is_refused)
{
    expect_refusal("pu:4", "", "cpu", "no CPU to record", "");
}

Test(plan, recorded_cpu_that_is_not_online_is_refused)
{
    expect_refusal("pu:3(indexes=0,2,5)", "0-2", "cpu", "CPUs to record: CPU 1 is not online", "online are CPUs 0,2,5");
}

Test(plan, bad_grammar_is_refused)
{
    expect_refusal("pu:4", NULL, "sockets", "--threads=sockets: unknown layout",
                   "layouts are cpu, core, package, numa, or masks <cpus>/<affinity>:...");
}

Test(plan, mask_with_a_cpu_that_is_not_online_is_refused)
{
    expect_refusal("pu:4", NULL, "0-3/0:4/0", "--threads: CPU 4 is not online", "online are CPUs 0-3");
}

Test(plan, affinity_with_a_cpu_that_is_not_online_is_refused)
{
    expect_refusal("pu:4", NULL, "0-3/0,9", "--threads: CPU 9 is not online", "online are CPUs 0-3");
}

Test(plan, mask_without_a_recorded_cpu_is_refused)
{
    expect_refusal("pu:8", "0-3", "0-3/0-3:4-7/4-7",
                   "--threads: the mask at column 9 drains CPUs 4-7, none of which is recorded",
                   "recorded are CPUs 0-3 (-C)");
}

Test(plan, recorded_cpus_that_no_mask_drains_are_refused)
{
    expect_refusal("pu:8", NULL, "0-2/0:6/1", "--threads: no mask drains CPUs 3-5,7",
                   "add a mask for them, or record only the others with -C");
}

Test(plan, overlapping_masks_are_refused)
{
    expect_refusal("pu:4", NULL, "0-2/0:2-3/1",
                   "--threads=0-2/0:2-3/1: CPU 2 is drained twice, again by the mask at column 7",
                   "each CPU to record belongs into one mask; affinities may overlap");
}

Test(plan, each_allocation_failing_in_turn_is_reported)
{
    static const struct {
        const char *spec;
        unsigned allocations;
    } cases[] = {{"cpu", 27}, {"numa", 9}, {"0-3/0:4-7/1", 21}};
    struct weir_topology *topology = machine("numa:2 core:2 pu:2");
    struct weir_cpuset cpus = cpus_of(topology, NULL);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_plan plan;
        struct weir_error err;
        unsigned failures = 0;
        failing_alloc_after(failures);
        while (weir_plan_make(&plan, topology, &cpus, cases[i].spec, NULL, &err) < 0) {
            cr_expect_eq(err.code, -ENOMEM);
            failing_alloc_after(++failures);
        }
        failing_alloc_after(NO_FAILURE);
        cr_expect_eq(failures, cases[i].allocations, "%s: %u", cases[i].spec, failures);
        weir_plan_fini(&plan);
    }
    weir_cpuset_fini(&cpus);
    weir_topology_free(topology);
}

Test(plan, null_and_empty_plans_are_released)
{
    weir_plan_fini(NULL);
    struct weir_plan plan = {NULL, 0};
    weir_plan_fini(&plan);
}

Test(plan, default_is_one_reader_per_cpu)
{
    struct weir_topology *topology = machine("numa:2 pu:2");
    static const char expected[] = "reader 0: cpus 0, runs on 0, node 0\n"
                                   "reader 1: cpus 1, runs on 1, node 0\n"
                                   "reader 2: cpus 2, runs on 2, node 1\n"
                                   "reader 3: cpus 3, runs on 3, node 1\n";
    expect_plan(topology, NULL, NULL, expected);
    expect_plan(topology, NULL, "", expected);
    expect_plan(topology, NULL, "cpu", expected);
    weir_topology_free(topology);
}

Test(plan, core_layout_joins_hardware_threads)
{
    struct weir_topology *topology = machine("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
    expect_plan(topology, NULL, "core",
                "reader 0: cpus 0,4, runs on 0,4, node 0\n"
                "reader 1: cpus 1,5, runs on 1,5, node 0\n"
                "reader 2: cpus 2,6, runs on 2,6, node 0\n"
                "reader 3: cpus 3,7, runs on 3,7, node 0\n");
    weir_topology_free(topology);
}

Test(plan, package_layout_joins_packages_whose_cpu_numbers_alternate)
{
    struct weir_topology *topology = machine("package:2 [numa] core:2 pu:1(indexes=0,2,1,3)");
    expect_plan(topology, NULL, "package",
                "reader 0: cpus 0,2, runs on 0,2, node 0\n"
                "reader 1: cpus 1,3, runs on 1,3, node 1\n");
    weir_topology_free(topology);
}

Test(plan, numa_layout_joins_nodes)
{
    struct weir_topology *topology = machine("package:2 numa:2 core:2 pu:1");
    expect_plan(topology, NULL, "numa",
                "reader 0: cpus 0-1, runs on 0-1, node 0\n"
                "reader 1: cpus 2-3, runs on 2-3, node 1\n"
                "reader 2: cpus 4-5, runs on 4-5, node 2\n"
                "reader 3: cpus 6-7, runs on 6-7, node 3\n");
    weir_topology_free(topology);
}

Test(plan, layouts_of_1024_cpus_have_one_reader_per_unit)
{
    static const struct {
        const char *spec;
        unsigned readers, cpus_each;
    } cases[] = {{"cpu", 1024, 1}, {"core", 512, 2}, {"package", 2, 512}, {"numa", 8, 128}};
    struct weir_topology *topology = machine("package:2 numa:4 core:64 pu:2");
    struct weir_cpuset cpus = cpus_of(topology, NULL);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_plan plan;
        cr_assert_eq(weir_plan_make(&plan, topology, &cpus, cases[i].spec, NULL, NULL), 0);
        cr_assert_eq(plan.reader_count, cases[i].readers);
        for (unsigned r = 0; r < plan.reader_count; r++) {
            const struct weir_plan_reader *reader = &plan.readers[r];
            unsigned first = r * cases[i].cpus_each;
            cr_expect_eq(weir_cpuset_count(&reader->cpus), cases[i].cpus_each);
            cr_expect_eq(weir_cpuset_next(&reader->cpus, 0), (int)first);
            cr_expect(weir_cpuset_has(&reader->cpus, first + cases[i].cpus_each - 1));
            cr_expect(weir_cpuset_equal(&reader->cpus, &reader->affinity));
            cr_expect_eq(reader->node, (int)(first / 128));
        }
        weir_plan_fini(&plan);
    }
    weir_cpuset_fini(&cpus);
    weir_topology_free(topology);
}

Test(plan, units_without_a_recorded_cpu_have_no_reader)
{
    struct weir_topology *topology = machine("package:2 core:4 pu:1");
    expect_plan(topology, "1,6-7", "package",
                "reader 0: cpus 1, runs on 1, node 0\n"
                "reader 1: cpus 6-7, runs on 6-7, node 0\n");
    expect_plan(topology, "5", "core", "reader 0: cpus 5, runs on 5, node 0\n");
    weir_topology_free(topology);
}

Test(plan, gaps_in_cpu_numbers_are_planned_over)
{
    struct weir_topology *topology = machine("core:2 pu:2(indexes=0,3,64,200)");
    expect_plan(topology, NULL, "core",
                "reader 0: cpus 0,3, runs on 0,3, node 0\n"
                "reader 1: cpus 64,200, runs on 64,200, node 0\n");
    weir_topology_free(topology);
}

Test(plan, masks_are_taken_as_written_and_ordered_by_first_cpu)
{
    struct weir_topology *topology = machine("numa:2 pu:4");
    expect_plan(topology, NULL, "1,5-7/5-7:0,2-4/2-4",
                "reader 0: cpus 0,2-4, runs on 2-4, node 0\n"
                "reader 1: cpus 1,5-7, runs on 5-7, node 1\n");
    weir_topology_free(topology);
}

Test(plan, masks_are_filtered_by_the_recorded_cpus_affinities_are_not)
{
    struct weir_topology *topology = machine("numa:2 pu:4");
    expect_plan(topology, "4-5", "0-7/0-1", "reader 0: cpus 4-5, runs on 0-1, node 0\n");
    weir_topology_free(topology);
}

Test(plan, affinity_on_several_nodes_takes_the_node_of_most_cpus)
{
    struct weir_topology *topology = machine("numa:2 pu:4");
    expect_plan(topology, NULL, "0-7/3-5", "reader 0: cpus 0-7, runs on 3-5, node 1\n");
    expect_plan(topology, NULL, "0-7/2-5", "reader 0: cpus 0-7, runs on 2-5, node 0\n");
    weir_topology_free(topology);
}

/* Loads a saved machine. */
static struct weir_topology *saved_machine(const struct fixture *fixture, const struct saved_topology *saved)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/machine.xml", fixture->path);
    saved_topology_use(saved, path);
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load(&topology, &err), 0, "%s", err.what);
    return topology;
}

Test(plan, memoryless_node_has_its_reader_with_memory_of_the_nearest)
{
    struct fixture fixture;
    fixture_init(&fixture);
    struct weir_topology *topology = saved_machine(
        &fixture, &(struct saved_topology){.description = "package:2 numa:2 pu:2", .memoryless_nodes = 1u << 2});
    expect_plan(topology, NULL, "numa",
                "reader 0: cpus 0-1, runs on 0-1, node 0\n"
                "reader 1: cpus 2-3, runs on 2-3, node 1\n"
                "reader 2: cpus 4-5, runs on 4-5, node 3\n"
                "reader 3: cpus 6-7, runs on 6-7, node 3\n");
    weir_topology_free(topology);
    fixture_fini(&fixture);
}

Test(plan, node_without_cpus_has_no_reader)
{
    struct fixture fixture;
    fixture_init(&fixture);
    struct weir_topology *topology =
        saved_machine(&fixture, &(struct saved_topology){.description = "numa:3 pu:2", .cpuless_nodes = 1u << 1});
    expect_plan(topology, NULL, "numa",
                "reader 0: cpus 0-1, runs on 0-1, node 0\n"
                "reader 1: cpus 4-5, runs on 4-5, node 2\n");
    weir_topology_free(topology);
    fixture_fini(&fixture);
}

/* Loads a synthetic machine that passes for this one, while the process is held to CPU 0. */
static struct weir_topology *narrowed_machine(const char *description)
{
    struct weir_cpuset first = WEIR_CPUSET_INIT;
    weir_cpuset_add(&first, 0);
    if (weir_thread_pin(&first) < 0)
        cr_skip_test("needs CPU 0 online and within the cpuset");
    weir_cpuset_fini(&first);
    setenv("HWLOC_SYNTHETIC", description, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load(&topology, &err), 0, "%s", err.what);
    return topology;
}

static void expect_narrowed(const char *spec, unsigned warnings, const char *line, const char *description)
{
    struct weir_topology *topology = narrowed_machine("numa:2 pu:2");
    struct notices notices = {0};
    struct weir_notice_sink sink = {count_notice, &notices};
    struct weir_plan plan;
    cr_assert_eq(weir_plan_make(&plan, topology, weir_topology_online(topology), spec, &sink, NULL), 0);
    cr_expect_eq(notices.count, warnings);
    cr_expect_str_eq(notices.line, line);
    cr_expect_eq(notices.level, WEIR_NOTICE_WARNING);

    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(&plan, &text);
    cr_expect_str_eq(weir_buf_str(&text), description);
    weir_buf_fini(&text);
    weir_plan_fini(&plan);
    weir_topology_free(topology);
}

Test(plan, readers_that_lose_all_their_cpus_run_anywhere_with_one_warning_in_all)
{
    expect_narrowed("cpu", 1,
                    "3 of 4 readers cannot run on the CPUs planned for them: this process is held to CPUs 0 "
                    "(see taskset(1), cpuset(7)); they run on any of those",
                    "reader 0: cpus 0, runs on 0, node 0\n"
                    "reader 1: cpus 1, runs anywhere, node 0\n"
                    "reader 2: cpus 2, runs anywhere, node 1\n"
                    "reader 3: cpus 3, runs anywhere, node 1\n");
}

Test(plan, readers_that_keep_some_of_their_cpus_are_narrowed_without_warning)
{
    expect_narrowed("0-1/0-1:2-3/0,3", 0, "",
                    "reader 0: cpus 0-1, runs on 0, node 0\n"
                    "reader 1: cpus 2-3, runs on 0, node 0\n");
}

Test(plan, description_of_a_plan_without_readers_is_empty)
{
    struct weir_plan plan = {NULL, 0};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(&plan, &text);
    cr_expect_str_eq(weir_buf_str(&text), "");
    weir_buf_fini(&text);
}

Test(plan, readers_for_rings_of_tasks_are_as_many_as_wanted_and_one_at_least)
{
    struct weir_topology *topology = machine("core:4 pu:1");
    struct weir_cpuset cpus = cpus_of(topology, NULL);
    struct weir_plan plan;
    cr_assert_eq(weir_plan_make(&plan, topology, &cpus, NULL, NULL, NULL), 0);
    weir_plan_keep(&plan, 9);
    cr_expect_eq(plan.reader_count, 4);
    weir_plan_keep(&plan, 3);
    cr_expect_eq(plan.reader_count, 3);
    weir_plan_keep(&plan, 0);
    cr_expect_eq(plan.reader_count, 1);
    cr_expect(weir_cpuset_has(&plan.readers[0].cpus, 0));
    weir_plan_fini(&plan);
    weir_cpuset_fini(&cpus);
    weir_topology_free(topology);
}

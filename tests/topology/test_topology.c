/* Topologies: synthetic, saved and this machine's; what hwloc would pass over in silence is an error here. */
#include "topology/topology.h"

#include "tests/topology/fixture.h"
#include "tests/topology/saved_topology.h"
#include "topology/thread_affinity.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture);
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_THISSYSTEM");
}

static void teardown(void)
{
    fixture_fini(&fixture);
}

TestSuite(topology, .init = setup, .fini = teardown);

static struct weir_topology *load(void)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load(&topology, &err), 0, "%s", err.what);
    return topology;
}

static struct weir_topology *load_synthetic(const char *description)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load_synthetic(&topology, description, &err), 0, "%s", err.what);
    return topology;
}

static void expect_list(const struct weir_cpuset *set, const char *list)
{
    char text[256];
    weir_cpuset_format(set, text, sizeof(text));
    cr_expect_str_eq(text, list);
}

static void expect_cpu(const struct weir_topology *topology, struct weir_topology_cpu expected)
{
    const struct weir_topology_cpu *cpu = weir_topology_cpu(topology, expected.id);
    cr_assert_not_null(cpu, "CPU %u", expected.id);
    cr_expect_eq(cpu->id, expected.id);
    cr_expect_eq(cpu->core, expected.core, "CPU %u: core %u", cpu->id, cpu->core);
    cr_expect_eq(cpu->package, expected.package, "CPU %u: package %u", cpu->id, cpu->package);
    cr_expect_eq(cpu->home_node, expected.home_node, "CPU %u: home node %d", cpu->id, cpu->home_node);
    cr_expect_eq(cpu->node, expected.node, "CPU %u: node %d", cpu->id, cpu->node);
}

Test(topology, bad_synthetic_description_is_refused_and_named)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_expect_eq(weir_topology_load_synthetic(&topology, "package:x", &err), -EINVAL);
    cr_expect_null(topology);
    cr_expect_eq(err.code, -EINVAL);
    cr_expect_str_eq(err.what, "bad synthetic topology 'package:x'");
    cr_expect_str_eq(err.hint, "hwloc's grammar, for example 'package:2 numa:2 core:8 pu:2'; see lstopo(1), --input");
}

Test(topology, bad_synthetic_variable_is_refused_where_hwloc_would_load_this_machine)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    setenv("HWLOC_SYNTHETIC", "bogus", 1);
    cr_expect_eq(weir_topology_load(&topology, &err), -EINVAL);
    cr_expect_str_eq(err.what, "bad synthetic topology 'bogus'");
    cr_expect_null(topology);
}

Test(topology, missing_saved_file_is_refused_and_named)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    setenv("HWLOC_XMLFILE", "/nonexistent/machine.xml", 1);
    cr_expect_eq(weir_topology_load(&topology, &err), -EINVAL);
    cr_expect_str_eq(err.what, "cannot read HWLOC_XMLFILE=/nonexistent/machine.xml as a saved topology");
    cr_expect_null(topology);
}

Test(topology, saved_file_that_is_no_topology_is_refused)
{
    char path[2 * PATH_MAX];
    fixture_write(&fixture, "<?xml version=\"1.0\"?><topology version=\"2.0\"><object type=\"Nothing\"/></topology>\n",
                  "bad.xml");
    snprintf(path, sizeof(path), "%s/bad.xml", fixture.path);
    setenv("HWLOC_XMLFILE", path, 1);
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_expect_eq(weir_topology_load(&topology, &err), -EINVAL);
    cr_expect_null(topology);
    cr_expect_neq(err.what[0], '\0');
}

Test(topology, cpu_number_beyond_the_limit_is_refused)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_expect_eq(weir_topology_load_synthetic(&topology, "pu:2(indexes=0,65536)", &err), -EINVAL);
    cr_expect_str_eq(err.what, "CPU 65536 is beyond the 65536 CPUs that weir can handle");
    cr_expect_null(topology);
}

Test(topology, node_number_beyond_the_limit_is_refused)
{
    struct weir_topology *topology = NULL;
    struct weir_error err = {0};
    cr_expect_eq(weir_topology_load_synthetic(&topology, "numa:2(indexes=0,1024) pu:1", &err), -EINVAL);
    cr_expect_str_eq(err.what, "NUMA node 1024 is beyond the 1024 nodes that Linux has");
    cr_expect_null(topology);
}

Test(topology, null_is_freed)
{
    weir_topology_free(NULL);
}

Test(topology, machine_of_1024_cpus_is_numbered_in_order)
{
    struct weir_topology *topology = load_synthetic("package:2 numa:4 core:64 pu:2");
    cr_expect_not(weir_topology_is_this_machine(topology));
    expect_list(weir_topology_online(topology), "0-1023");
    expect_list(weir_topology_allowed(topology), "0-1023");
    cr_expect_eq(weir_topology_node_count(topology), 8);
    cr_expect_eq(weir_topology_node_limit(topology), 8);
    cr_expect_eq(weir_topology_memory_bytes(topology), 8ull << 30); /* 1 GiB a node is hwloc's default */

    unsigned count = 0;
    const struct weir_topology_cpu *cpus = weir_topology_cpus(topology, &count);
    cr_assert_eq(count, 1024);
    for (unsigned i = 0; i < count; i++) {
        int node = (int)(i / 128);
        cr_expect_eq(cpus[i].id, i);
        expect_cpu(topology, (struct weir_topology_cpu){i, i / 2, i / 512, node, node});
    }
    cr_expect_null(weir_topology_cpu(topology, 1024));
    weir_topology_free(topology);
}

Test(topology, gaps_in_cpu_numbers_are_kept)
{
    struct weir_topology *topology = load_synthetic("pu:3(indexes=0,2,5)");
    expect_list(weir_topology_online(topology), "0,2,5");
    cr_expect_null(weir_topology_cpu(topology, 1));
    cr_expect_null(weir_topology_cpu(topology, 3));
    weir_topology_free(topology);
}

Test(topology, without_cores_and_packages_each_cpu_is_a_core_of_one_package)
{
    struct weir_topology *topology = load_synthetic("pu:3(indexes=0,2,5)");
    expect_cpu(topology, (struct weir_topology_cpu){0, 0, 0, 0, 0});
    expect_cpu(topology, (struct weir_topology_cpu){2, 1, 0, 0, 0});
    expect_cpu(topology, (struct weir_topology_cpu){5, 2, 0, 0, 0});
    weir_topology_free(topology);
}

Test(topology, cpus_numbered_across_packages_are_listed_by_number)
{
    struct weir_topology *topology = load_synthetic("package:2 core:2 pu:1(indexes=0,2,1,3)");
    unsigned count = 0;
    const struct weir_topology_cpu *cpus = weir_topology_cpus(topology, &count);
    cr_assert_eq(count, 4);
    for (unsigned i = 0; i < count; i++) {
        cr_expect_eq(cpus[i].id, i);
        cr_expect_eq(cpus[i].package, i % 2);
    }
    weir_topology_free(topology);
}

Test(topology, gaps_in_node_numbers_count_for_the_limit_only)
{
    struct weir_topology *topology = load_synthetic("numa:2(indexes=0,8) pu:2");
    cr_expect_eq(weir_topology_node_count(topology), 2);
    cr_expect_eq(weir_topology_node_limit(topology), 9);
    cr_expect_eq(weir_topology_cpu(topology, 3)->node, 8);
    weir_topology_free(topology);
}

Test(topology, synthetic_variable_is_loaded)
{
    setenv("HWLOC_SYNTHETIC", "package:2 core:2 pu:2", 1);
    struct weir_topology *topology = load();
    cr_expect_not(weir_topology_is_this_machine(topology));
    expect_list(weir_topology_online(topology), "0-7");
    expect_cpu(topology, (struct weir_topology_cpu){6, 3, 1, 0, 0});
    weir_topology_free(topology);
}

Test(topology, empty_variables_count_as_unset)
{
    setenv("HWLOC_SYNTHETIC", "", 1);
    setenv("HWLOC_XMLFILE", "", 1);
    struct weir_topology *topology = load();
    cr_expect(weir_topology_is_this_machine(topology));
    weir_topology_free(topology);
}

/* Saves what is described and loads it back. */
static struct weir_topology *load_saved(const struct saved_topology *saved)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/machine.xml", fixture.path);
    saved_topology_use(saved, path);
    return load();
}

Test(topology, saved_machine_is_the_one_that_was_saved)
{
    struct weir_topology *topology =
        load_saved(&(struct saved_topology){.description = "package:2 numa:2 core:2 pu:2"});
    cr_expect_not(weir_topology_is_this_machine(topology));
    expect_list(weir_topology_allowed(topology), "0-15");
    cr_expect_eq(weir_topology_node_count(topology), 4);
    expect_cpu(topology, (struct weir_topology_cpu){13, 6, 1, 3, 3});
    weir_topology_free(topology);
}

Test(topology, memoryless_node_is_served_by_the_node_in_its_package)
{
    struct weir_topology *topology =
        load_saved(&(struct saved_topology){.description = "package:2 numa:2 pu:1", .memoryless_nodes = 1u << 2});
    expect_cpu(topology, (struct weir_topology_cpu){0, 0, 0, 0, 0});
    expect_cpu(topology, (struct weir_topology_cpu){1, 1, 0, 1, 1});
    expect_cpu(topology, (struct weir_topology_cpu){2, 2, 1, 2, 3});
    expect_cpu(topology, (struct weir_topology_cpu){3, 3, 1, 3, 3});
    cr_expect_eq(weir_topology_node_count(topology), 4);
    weir_topology_free(topology);
}

Test(topology, memoryless_node_is_served_by_the_node_of_least_distance)
{
    static const unsigned distances[] = {
        10, 20, 12, 30, //
        20, 10, 30, 12, //
        12, 30, 10, 20, //
        30, 12, 20, 10,
    };
    struct weir_topology *topology = load_saved(&(struct saved_topology){
        .description = "package:2 numa:2 pu:1",
        .memoryless_nodes = 1u << 2,
        .distances = distances,
        .distance_rows = 4,
    });
    expect_cpu(topology, (struct weir_topology_cpu){2, 2, 1, 2, 0});
    expect_cpu(topology, (struct weir_topology_cpu){3, 3, 1, 3, 3});
    weir_topology_free(topology);
}

Test(topology, machine_that_tells_no_memory_keeps_home_nodes)
{
    struct weir_topology *topology =
        load_saved(&(struct saved_topology){.description = "numa:2 pu:1", .memoryless_nodes = 3});
    expect_cpu(topology, (struct weir_topology_cpu){0, 0, 0, 0, 0});
    expect_cpu(topology, (struct weir_topology_cpu){1, 1, 0, 1, 1});
    cr_expect_eq(weir_topology_memory_bytes(topology),
                 (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    weir_topology_free(topology);
}

Test(topology, node_without_cpus_is_counted_and_serves_no_cpu)
{
    struct weir_topology *topology =
        load_saved(&(struct saved_topology){.description = "numa:3 pu:2", .cpuless_nodes = 1u << 1});
    expect_list(weir_topology_online(topology), "0-1,4-5");
    cr_expect_eq(weir_topology_node_count(topology), 3);
    cr_expect_eq(weir_topology_cpu(topology, 1)->node, 0);
    cr_expect_eq(weir_topology_cpu(topology, 4)->node, 2);
    weir_topology_free(topology);
}

Test(topology, this_machine_agrees_with_the_kernel)
{
    struct weir_topology *topology = load();
    struct weir_cpuset affinity = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_thread_affinity(&affinity), 0);

    cr_expect(weir_topology_is_this_machine(topology));
    cr_expect_eq(weir_cpuset_count(weir_topology_online(topology)), (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    cr_expect(weir_cpuset_equal(weir_topology_allowed(topology), &affinity));
    unsigned count = 0;
    weir_topology_cpus(topology, &count);
    cr_expect_eq(count, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    weir_cpuset_fini(&affinity);
    weir_topology_free(topology);
}

Test(topology, loading_leaves_the_affinity_as_it_was)
{
    struct weir_cpuset one = WEIR_CPUSET_INIT, after = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_thread_affinity(&after), 0);
    weir_cpuset_add(&one, (unsigned)weir_cpuset_next(&after, 0));
    cr_assert_eq(weir_thread_pin(&one), 0);
    weir_topology_free(load());
    cr_assert_eq(weir_thread_affinity(&after), 0);
    cr_expect(weir_cpuset_equal(&after, &one));
    weir_cpuset_fini(&one);
    weir_cpuset_fini(&after);
}

Test(topology, narrowed_affinity_narrows_allowed_but_not_online)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        cr_skip_test("needs 2 CPUs");
    struct weir_cpuset one = WEIR_CPUSET_INIT, all = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_thread_affinity(&all), 0);
    weir_cpuset_add(&one, (unsigned)weir_cpuset_next(&all, 0));
    cr_assert_eq(weir_thread_pin(&one), 0);

    struct weir_topology *topology = load();
    cr_expect(weir_cpuset_equal(weir_topology_allowed(topology), &one));
    cr_expect_eq(weir_cpuset_count(weir_topology_online(topology)), (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    weir_topology_free(topology);
    weir_cpuset_fini(&one);
    weir_cpuset_fini(&all);
}

/* hwloc with an empty file system, as in a container without /sys. */
Test(topology, without_sysfs_cpus_nodes_and_memory_come_from_sysconf)
{
    setenv("HWLOC_FSROOT", fixture.path, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    struct weir_topology *topology = load();
    unsigned count = 0;
    weir_topology_cpus(topology, &count);
    cr_expect_eq(count, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    expect_cpu(topology, (struct weir_topology_cpu){0, 0, 0, 0, 0});
    cr_expect_eq(weir_topology_node_count(topology), 1);
    cr_expect_eq(weir_topology_node_limit(topology), 1);
    cr_expect_eq(weir_topology_memory_bytes(topology),
                 (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    weir_topology_free(topology);
}

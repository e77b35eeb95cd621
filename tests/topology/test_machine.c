/* Machine descriptions: of trees that the tests build, and of this machine against what the C library says. */
#include "topology/machine.h"

#include "tests/base/failing_alloc.h"
#include "tests/topology/fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NO_FAILURE UINT_MAX
#define CPU_DIR    "sys/devices/system/cpu"
#define NODE_DIR   "sys/devices/system/node"

static struct fixture fixture;
static struct weir_topology *topology;
static struct weir_machine machine;

static void setup(void)
{
    fixture_init(&fixture);
    cr_assert_eq(weir_topology_load_synthetic(&topology, "package:2 core:2 pu:2", NULL), 0);
}

static void teardown(void)
{
    weir_machine_fini(&machine);
    weir_topology_free(topology);
    fixture_fini(&fixture);
}

TestSuite(machine, .init = setup, .fini = teardown);

static void collect(void)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_machine_collect(&machine, topology, fixture.path, &err), 0, "%s", err.what);
}

static void write_cache(unsigned cpu, unsigned index, unsigned level, const char *type, const char *size,
                        const char *shared)
{
    char text[32];
    snprintf(text, sizeof(text), "%u\n", level);
    fixture_write(&fixture, text, CPU_DIR "/cpu%u/cache/index%u/level", cpu, index);
    fixture_write(&fixture, type, CPU_DIR "/cpu%u/cache/index%u/type", cpu, index);
    fixture_write(&fixture, size, CPU_DIR "/cpu%u/cache/index%u/size", cpu, index);
    fixture_write(&fixture, shared, CPU_DIR "/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
    fixture_write(&fixture, "64\n", CPU_DIR "/cpu%u/cache/index%u/coherency_line_size", cpu, index);
    fixture_write(&fixture, "512\n", CPU_DIR "/cpu%u/cache/index%u/number_of_sets", cpu, index);
    fixture_write(&fixture, "8\n", CPU_DIR "/cpu%u/cache/index%u/ways_of_associativity", cpu, index);
}

/* The CPUs of a server of 2 packages with 2 cores of 2 threads: threads of a core are n and n + 4; 5 is offline. */
static void write_cpus(void)
{
    static const char *const package_lists[] = {"0-1,4\n", "2-3,6-7\n"};
    static const char *const core_lists[] = {"0,4\n", "1\n", "2,6\n", "3,7\n"};
    fixture_write(&fixture, "0-4,6-7\n", CPU_DIR "/online");
    fixture_write(&fixture, "0-7\n", CPU_DIR "/present");
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        unsigned core = cpu % 4, package = core / 2;
        char number[16];
        if (cpu == 5)
            continue;
        snprintf(number, sizeof(number), "%u\n", core % 2 * 8);
        fixture_write(&fixture, number, CPU_DIR "/cpu%u/topology/core_id", cpu);
        snprintf(number, sizeof(number), "%u\n", package);
        fixture_write(&fixture, number, CPU_DIR "/cpu%u/topology/physical_package_id", cpu);
        fixture_write(&fixture, "0\n", CPU_DIR "/cpu%u/topology/die_id", cpu);
        fixture_write(&fixture, package_lists[package], CPU_DIR "/cpu%u/topology/package_cpus_list", cpu);
        fixture_write(&fixture, package_lists[package], CPU_DIR "/cpu%u/topology/die_cpus_list", cpu);
        fixture_write(&fixture, core_lists[core], CPU_DIR "/cpu%u/topology/core_cpus_list", cpu);
        write_cache(cpu, 0, 1, "Data\n", "48K\n", core_lists[core]);
        write_cache(cpu, 1, 1, "Instruction\n", "32K\n", core_lists[core]);
        write_cache(cpu, 2, 3, "Unified\n", "32768K\n", package_lists[package]);
    }
}

/* Node 0 and 1 with the packages, node 2 with memory only; node 1 has no free memory. */
static void write_memory(void)
{
    fixture_write(&fixture, "MemTotal:       99000000 kB\nMemFree:        12000000 kB\n", "proc/meminfo");
    fixture_write(&fixture, "8000000\n", "sys/devices/system/memory/block_size_bytes");
    fixture_write(&fixture, "0-2\n", NODE_DIR "/online");
    fixture_write(&fixture, "Node 0 MemTotal:       33000000 kB\nNode 0 MemFree:         2000000 kB\n",
                  NODE_DIR "/node0/meminfo");
    fixture_write(&fixture, "Node 1 MemTotal:       34000000 kB\nNode 1 MemFree:               0 kB\n",
                  NODE_DIR "/node1/meminfo");
    fixture_write(&fixture, "Node 2 MemTotal:       32000000 kB\nNode 2 MemFree:        10000000 kB\n",
                  NODE_DIR "/node2/meminfo");
    fixture_write(&fixture, "0-1,4\n", NODE_DIR "/node0/cpulist");
    fixture_write(&fixture, "2-3,6-7\n", NODE_DIR "/node1/cpulist");
    fixture_write(&fixture, "\n", NODE_DIR "/node2/cpulist");
    fixture_mkdir(&fixture, NODE_DIR "/node0/memory0");
    fixture_mkdir(&fixture, NODE_DIR "/node0/memory1");
    fixture_mkdir(&fixture, NODE_DIR "/node0/memory70");
    fixture_mkdir(&fixture, NODE_DIR "/node0/memory_side_cache");
    fixture_mkdir(&fixture, NODE_DIR "/node0/memory9x");
    fixture_mkdir(&fixture, NODE_DIR "/node1/memory64");
}

static void write_server(void)
{
    fixture_write(&fixture, "server1\n", "proc/sys/kernel/hostname");
    fixture_write(&fixture, "6.12.5-test\n", "proc/sys/kernel/osrelease");
    fixture_write(&fixture, "x86_64\n", "proc/sys/kernel/arch");
    fixture_write(&fixture,
                  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                  "model name\t: Intel(R)  Xeon(R)\tGold   6252 CPU @ 2.10GHz  \nstepping\t: 7\n\n"
                  "processor\t: 1\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 86\n",
                  "proc/cpuinfo");
    write_cpus();
    write_memory();
    fixture_write(&fixture, "1\n", "sys/bus/event_source/devices/software/type");
    fixture_write(&fixture, "4\n", "sys/bus/event_source/devices/cpu/type");
    fixture_write(&fixture, "skylake\n", "sys/bus/event_source/devices/cpu/caps/pmu_name");
    fixture_write(&fixture, "32\n", "sys/bus/event_source/devices/cpu/caps/branches");
    fixture_write(&fixture, "24\n", "sys/bus/event_source/devices/uncore_imc_1/type");
    fixture_write(&fixture, "10\n", "sys/bus/event_source/devices/uncore_imc_0/type");
    fixture_write(&fixture, "none\n", "sys/bus/event_source/devices/broken/type");
}

Test(machine, empty_tree_leaves_everything_empty_but_the_cpus_of_the_topology)
{
    collect();
    cr_expect_str_eq(machine.hostname, "");
    cr_expect_str_eq(machine.os_release, "");
    cr_expect_str_eq(machine.arch, "");
    cr_expect_str_eq(machine.cpu_desc, "");
    cr_expect_null(machine.cpuid);
    cr_expect_eq(machine.mem_total_kb, 0);
    cr_expect_eq(machine.memory_block_bytes, 0);
    cr_expect_eq(machine.cache_count, 0);
    cr_expect_eq(machine.node_count, 0);
    cr_expect_eq(machine.pmu_count, 0);
    cr_expect_eq(machine.cpus_online, 8);
    cr_expect_eq(machine.cpus_available, 8);
    cr_assert_eq(machine.cpu_count, 8);
    const struct weir_machine_cpu *cpu = &machine.cpus[6];
    cr_expect_eq(cpu->id, 6);
    cr_expect_eq(cpu->package_id, 1);
    cr_expect_eq(cpu->core_id, 3);
    cr_expect_eq(cpu->die_id, -1);
    cr_expect_str_eq(cpu->core_siblings, "4-7");
    cr_expect_str_eq(cpu->thread_siblings, "6-7");
    cr_expect_str_eq(cpu->die_siblings, "");
}

Test(machine, each_allocation_failing_in_turn_is_reported_and_leaves_the_output_alone)
{
    write_server();
    struct weir_error err;
    struct weir_machine collected = {.cpu_count = 77};
    unsigned failures = 0;
    failing_alloc_after(failures);
    while (weir_machine_collect(&collected, topology, fixture.path, &err) < 0) {
        cr_assert_eq(err.code, -ENOMEM);
        cr_assert_eq(collected.cpu_count, 77);
        failing_alloc_after(++failures);
    }
    failing_alloc_after(NO_FAILURE);
    cr_expect_eq(failures, 102, "%u", failures);
    weir_machine_fini(&collected);
}

Test(machine, null_and_empty_machines_are_released)
{
    weir_machine_fini(NULL);
    weir_machine_fini(&machine);
}

Test(machine, cpuid_with_an_unknown_part_is_none)
{
    fixture_write(&fixture, "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 85\nstepping\t: unknown\n",
                  "proc/cpuinfo");
    collect();
    cr_expect_null(machine.cpuid);
}

Test(machine, values_out_of_range_are_unknown)
{
    write_cpus();
    fixture_write(&fixture, "-1\n", CPU_DIR "/cpu0/topology/physical_package_id");
    fixture_write(&fixture, "99999999999\n", CPU_DIR "/cpu0/topology/core_id");
    fixture_write(&fixture, "-5\n", "sys/bus/event_source/devices/odd/type");
    fixture_write(&fixture, "-8\n", "sys/devices/system/memory/block_size_bytes");
    fixture_write(&fixture, "99999999999\n", CPU_DIR "/cpu0/cache/index0/number_of_sets");
    fixture_write(&fixture, "99\n", CPU_DIR "/cpu0/cache/index1/level");
    collect();
    cr_expect_eq(machine.cpus[0].package_id, -1);
    cr_expect_eq(machine.cpus[0].core_id, -1);
    cr_expect_eq(machine.pmu_count, 0);
    cr_expect_eq(machine.memory_block_bytes, 0);
    cr_expect_eq(machine.cache_count, 9);
    cr_expect_eq(machine.caches[0].sets, 0);
}

Test(machine, names_are_those_of_the_tree)
{
    write_server();
    collect();
    cr_expect_str_eq(machine.hostname, "server1");
    cr_expect_str_eq(machine.os_release, "6.12.5-test");
    cr_expect_str_eq(machine.arch, "x86_64");
    cr_expect_str_eq(machine.cpu_desc, "Intel(R) Xeon(R) Gold 6252 CPU @ 2.10GHz");
    cr_expect_str_eq(machine.cpuid, "GenuineIntel,6,85,7");
}

Test(machine, online_cpus_are_described_offline_ones_counted_as_available)
{
    static const unsigned ids[] = {0, 1, 2, 3, 4, 6, 7};
    write_server();
    collect();
    cr_expect_eq(machine.cpus_available, 8);
    cr_expect_eq(machine.cpus_online, 7);
    cr_assert_eq(machine.cpu_count, 7);
    for (size_t i = 0; i < machine.cpu_count; i++)
        cr_expect_eq(machine.cpus[i].id, ids[i]);

    const struct weir_machine_cpu *cpu = &machine.cpus[6];
    cr_expect_eq(cpu->package_id, 1);
    cr_expect_eq(cpu->die_id, 0);
    cr_expect_eq(cpu->core_id, 8);
    cr_expect_str_eq(cpu->core_siblings, "2-3,6-7");
    cr_expect_str_eq(cpu->die_siblings, "2-3,6-7");
    cr_expect_str_eq(cpu->thread_siblings, "3,7");
}

Test(machine, old_kernels_lists_are_found_under_their_old_names)
{
    fixture_write(&fixture, "0-1\n", CPU_DIR "/online");
    fixture_write(&fixture, "0-1\n", CPU_DIR "/cpu1/topology/core_siblings_list");
    fixture_write(&fixture, "1\n", CPU_DIR "/cpu1/topology/thread_siblings_list");
    collect();
    cr_assert_eq(machine.cpu_count, 2);
    cr_expect_eq(machine.cpus_available, 2); /* without "present" */
    cr_expect_str_eq(machine.cpus[1].core_siblings, "0-1");
    cr_expect_str_eq(machine.cpus[1].thread_siblings, "1");
    cr_expect_str_eq(machine.cpus[0].core_siblings, "");
    cr_expect_eq(machine.cpus[0].core_id, -1);
}

Test(machine, arm64_has_its_main_id_register_for_a_cpuid_and_no_dies)
{
    write_cpus();
    fixture_write(&fixture, "aarch64\n", "proc/sys/kernel/arch");
    fixture_write(&fixture, "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n", "proc/cpuinfo");
    fixture_write(&fixture, "0x00000000410fd0c0\n", CPU_DIR "/cpu1/regs/identification/midr_el1");
    collect();
    cr_expect_str_eq(machine.cpuid, "0x00000000410fd0c0");
    cr_expect_str_eq(machine.cpu_desc, "");
    cr_expect_eq(machine.cpus[0].die_id, -1);
    cr_expect_str_eq(machine.cpus[0].die_siblings, "");
}

static void expect_cache(size_t index, uint32_t level, const char *type, const char *size, const char *cpus)
{
    const struct weir_machine_cache *cache = &machine.caches[index];
    cr_expect_eq(cache->level, level, "cache %zu", index);
    cr_expect_str_eq(cache->type, type, "cache %zu", index);
    cr_expect_str_eq(cache->size, size, "cache %zu", index);
    cr_expect_str_eq(cache->cpus, cpus, "cache %zu", index);
    cr_expect_eq(cache->line_bytes, 64);
    cr_expect_eq(cache->sets, 512);
    cr_expect_eq(cache->ways, 8);
}

Test(machine, each_cache_is_there_once_by_level)
{
    write_server();
    collect();
    cr_assert_eq(machine.cache_count, 10);
    expect_cache(0, 1, "Data", "48K", "0,4");
    expect_cache(1, 1, "Instruction", "32K", "0,4");
    expect_cache(2, 1, "Data", "48K", "1");
    expect_cache(3, 1, "Instruction", "32K", "1");
    expect_cache(6, 1, "Data", "48K", "3,7");
    expect_cache(7, 1, "Instruction", "32K", "3,7");
    expect_cache(8, 3, "Unified", "32768K", "0-1,4");
    expect_cache(9, 3, "Unified", "32768K", "2-3,6-7");
}

Test(machine, cache_whose_list_leaves_its_cpu_out_is_kept)
{
    fixture_write(&fixture, "0-1\n", CPU_DIR "/online");
    write_cache(0, 0, 1, "Data\n", "48K\n", "0\n");
    write_cache(1, 0, 1, "Data\n", "48K\n", "0\n");
    collect();
    cr_expect_eq(machine.cache_count, 2);
}

Test(machine, cache_that_does_not_say_what_it_is_is_left_out)
{
    fixture_write(&fixture, "0\n", CPU_DIR "/online");
    fixture_write(&fixture, "0\n", CPU_DIR "/cpu0/cache/index0/shared_cpu_list");
    write_cache(0, 1, 2, "Unified\n", "1024K\n", "0\n");
    collect();
    cr_assert_eq(machine.cache_count, 1);
    expect_cache(0, 2, "Unified", "1024K", "0");
}

Test(machine, nodes_have_their_memory_cpus_and_blocks)
{
    write_server();
    collect();
    cr_expect_eq(machine.mem_total_kb, 99000000);
    cr_expect_eq(machine.memory_block_bytes, 128u << 20);
    cr_assert_eq(machine.node_count, 3);

    cr_expect_eq(machine.nodes[0].id, 0);
    cr_expect_eq(machine.nodes[0].mem_total_kb, 33000000);
    cr_expect_eq(machine.nodes[0].mem_free_kb, 2000000);
    cr_expect_str_eq(machine.nodes[0].cpus, "0-1,4");
    cr_expect_eq(machine.nodes[0].memory_block_bits, 71);
    cr_expect_eq(machine.nodes[0].memory_blocks[0], 3);
    cr_expect_eq(machine.nodes[0].memory_blocks[1], 1u << 6);

    cr_expect_eq(machine.nodes[1].mem_free_kb, 0);
    cr_expect_eq(machine.nodes[1].memory_block_bits, 65);
    cr_expect_eq(machine.nodes[1].memory_blocks[0], 0);
    cr_expect_eq(machine.nodes[1].memory_blocks[1], 1);
}

Test(machine, node_without_cpus_or_blocks_has_empty_ones)
{
    write_server();
    collect();
    cr_assert_eq(machine.node_count, 3);
    cr_expect_eq(machine.nodes[2].id, 2);
    cr_expect_eq(machine.nodes[2].mem_total_kb, 32000000);
    cr_expect_str_eq(machine.nodes[2].cpus, "");
    cr_expect_null(machine.nodes[2].memory_blocks);
    cr_expect_eq(machine.nodes[2].memory_block_bits, 0);
}

Test(machine, pmus_with_a_type_are_listed_by_type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } expected[] = {{1, "software"}, {4, "cpu"}, {10, "uncore_imc_0"}, {24, "uncore_imc_1"}};
    write_server();
    collect();
    cr_assert_eq(machine.pmu_count, 4);
    for (size_t i = 0; i < machine.pmu_count; i++) {
        cr_expect_eq(machine.pmus[i].type, expected[i].type);
        cr_expect_str_eq(machine.pmus[i].name, expected[i].name);
    }
}

Test(machine, capabilities_of_a_pmu_are_listed_by_name)
{
    write_server();
    collect();
    cr_assert_str_eq(machine.pmus[1].name, "cpu");
    cr_assert_eq(machine.pmus[1].cap_count, 2);
    cr_expect_str_eq(machine.pmus[1].caps[0].name, "branches");
    cr_expect_str_eq(machine.pmus[1].caps[0].value, "32");
    cr_expect_str_eq(machine.pmus[1].caps[1].name, "pmu_name");
    cr_expect_str_eq(machine.pmus[1].caps[1].value, "skylake");
    cr_expect_eq(machine.pmus[0].cap_count, 0);
}

Test(machine, core_pmus_of_several_kinds_have_their_cpus)
{
    write_server();
    fixture_write(&fixture, "11\n", "sys/bus/event_source/devices/cpu_core/type");
    fixture_write(&fixture, "0-15\n", "sys/bus/event_source/devices/cpu_core/cpus");
    fixture_write(&fixture, "12\n", "sys/bus/event_source/devices/cpu_atom/type");
    fixture_write(&fixture, "16-23\n", "sys/bus/event_source/devices/cpu_atom/cpus");
    fixture_write(&fixture, "0\n", "sys/bus/event_source/devices/uncore_imc_0/cpus"); /* no core's */
    collect();
    cr_assert_eq(machine.pmu_count, 6);
    cr_expect_null(machine.pmus[0].cpus);
    cr_expect_null(machine.pmus[1].cpus);
    cr_expect_null(machine.pmus[2].cpus); /* uncore_imc_0 */
    cr_expect_str_eq(machine.pmus[3].cpus, "0-15");
    cr_expect_str_eq(machine.pmus[4].cpus, "16-23");
}

Test(machine, this_machine_agrees_with_the_c_library)
{
    struct weir_topology *here = NULL;
    struct utsname names;
    cr_assert_eq(weir_topology_load(&here, NULL), 0);
    cr_assert_eq(uname(&names), 0);
    cr_assert_eq(weir_machine_collect(&machine, here, "", NULL), 0);

    cr_expect_str_eq(machine.hostname, names.nodename);
    cr_expect_str_eq(machine.os_release, names.release);
    cr_expect_str_eq(machine.arch, names.machine);
    cr_expect_eq(machine.cpus_online, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
    cr_expect_eq(machine.cpu_count, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
    cr_expect_eq(machine.mem_total_kb, (uint64_t)sysconf(_SC_PHYS_PAGES) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024));
    weir_topology_free(here);
}

/*
 * The description of a machine from copies of /proc and /sys (topology/machine.h). Input: the files in the order of the
 * table below, parted by FUZZ_SEPARATOR; those that are left out are empty.
 *
 * Whatever the files say, the description obeys base/machine.h: no string is missing, lists are in their order, counts
 * and numbers fit together. Files that list more CPUs or nodes than a run has time for are passed over.
 */
#include "topology/machine.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/cpuset.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define CPU_DIR    "sys/devices/system/cpu/"
#define NODE_DIR   "sys/devices/system/node/"
#define LISTED_MAX 24 /* each CPU costs some 30 files that are looked for */

static const char *const files[] = {
    CPU_DIR "online", /* the first two are looked at beforehand */
    NODE_DIR "online",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/arch",
    "proc/cpuinfo",
    CPU_DIR "present",
    CPU_DIR "cpu0/topology/core_id",
    CPU_DIR "cpu0/topology/die_id",
    CPU_DIR "cpu0/topology/core_cpus_list",
    CPU_DIR "cpu0/cache/index0/level",
    CPU_DIR "cpu0/cache/index0/size",
    CPU_DIR "cpu0/cache/index0/type",
    CPU_DIR "cpu0/cache/index0/shared_cpu_list",
    CPU_DIR "cpu0/cache/index1/level",
    CPU_DIR "cpu0/cache/index1/size",
    CPU_DIR "cpu0/cache/index1/type",
    CPU_DIR "cpu0/cache/index1/shared_cpu_list",
    CPU_DIR "cpu0/regs/identification/midr_el1",
    "proc/meminfo",
    "sys/devices/system/memory/block_size_bytes",
    NODE_DIR "node0/meminfo",
    NODE_DIR "node0/cpulist",
    "sys/bus/event_source/devices/cpu/type",
    "sys/bus/event_source/devices/software/type",
};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)

struct fixture {
    struct fuzz_tree tree;
    struct weir_topology *topology;
};

static void *init(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    fuzz_tree_create_all(&fixture->tree, files, FILE_COUNT);
    weir_assert(weir_topology_load_synthetic(&fixture->topology, "package:2 core:2 pu:1", NULL) == 0);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    fuzz_tree_fini(&fixture->tree);
    weir_topology_free(fixture->topology);
    free(fixture);
}

/* ---- what must hold ---- */

/* White space is folded: single spaces between words. */
static void check_cpu_desc(const char *desc)
{
    size_t length = strlen(desc);
    weir_assert(length == 0 || (desc[0] != ' ' && desc[length - 1] != ' '));
    for (size_t i = 0; i < length; i++)
        weir_assert(!isspace((unsigned char)desc[i]) || (desc[i] == ' ' && desc[i + 1] != ' '));
}

static void check_cpus(const struct weir_machine *machine)
{
    weir_assert(machine->cpu_count == machine->cpus_online && machine->cpus_online <= machine->cpus_available);
    for (size_t i = 0; i < machine->cpu_count; i++) {
        const struct weir_machine_cpu *cpu = &machine->cpus[i];
        weir_assert(cpu->id < machine->cpus_available && (i == 0 || cpu->id > machine->cpus[i - 1].id));
        weir_assert(cpu->core_id >= -1 && cpu->die_id >= -1 && cpu->package_id >= -1);
        weir_assert(cpu->core_siblings && cpu->die_siblings && cpu->thread_siblings);
    }
}

static void check_caches(const struct weir_machine *machine)
{
    for (size_t i = 0; i < machine->cache_count; i++) {
        const struct weir_machine_cache *cache = &machine->caches[i];
        weir_assert(cache->level >= 1 && (i == 0 || cache->level >= machine->caches[i - 1].level));
        weir_assert(cache->type[0] != '\0' && cache->size[0] != '\0' && cache->cpus);
    }
}

static void check_others(const struct weir_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++) {
        weir_assert(i == 0 || machine->nodes[i].id > machine->nodes[i - 1].id);
        weir_assert(machine->nodes[i].cpus && machine->nodes[i].memory_block_bits == 0);
    }
    for (size_t i = 0; i < machine->pmu_count; i++) {
        weir_assert(machine->pmus[i].name[0] != '\0');
        weir_assert(i == 0 || machine->pmus[i].type >= machine->pmus[i - 1].type);
    }
}

/* ---- runs ---- */

/* Whether a run has time for what the file lists; a file that is no list lists nothing. */
static bool is_short(struct fuzz_part file)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    char *list = fuzz_part_text(file);
    weir_cpuset_parse(&set, list, NULL);
    unsigned count = weir_cpuset_count(&set);
    weir_cpuset_fini(&set);
    free(list);
    return count <= LISTED_MAX;
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct fuzz_part parts[FILE_COUNT];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, FILE_COUNT);
    if (!is_short(parts[0]) || !is_short(parts[1]))
        return;
    for (size_t i = 0; i < FILE_COUNT; i++)
        fuzz_file_write(fixture->tree.fds[i], parts[i]);

    struct weir_machine machine;
    struct weir_error err = {0};
    weir_assert(weir_machine_collect(&machine, fixture->topology, fixture->tree.root, &err) == 0);
    weir_assert(machine.hostname && machine.os_release && machine.arch && machine.cpu_desc);
    weir_assert(!machine.cpuid || machine.cpuid[0] != '\0');
    check_cpu_desc(machine.cpu_desc);
    check_cpus(&machine);
    check_caches(&machine);
    check_others(&machine);
    weir_machine_fini(&machine);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};

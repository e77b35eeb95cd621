/*
 * The machine's CPUs, cores, packages and NUMA nodes.
 *
 * hwloc runs once, at load. weir copies what it needs into plain arrays and drops hwloc's tree, so that a loaded
 * topology is immutable data. Runs on the set-up thread.
 *
 * Source: hwloc 2.9, hwloc.h and "Topology Attributes: Distances, Memory Attributes and CPU Kinds" in its manual.
 */
#include "topology/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "topology/thread_affinity.h"

/*
 * INCLUDE_DISALLOWED: weir also records CPUs outside of its own cpuset. DONT_CHANGE_BINDING: hwloc's cpuid backend
 * would migrate this thread over every CPU, which disturbs the programs to be measured and finds nothing that sysfs
 * lacks.
 */
#define LOAD_FLAGS \
    (HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS)

/* The memory that a machine of unknown memory is assumed to have: little, so that rings and pool stay small. */
#define UNKNOWN_MEMORY_BYTES (1ull << 30)

struct weir_topology {
    struct weir_topology_cpu *cpus; /* owned; ascending by id */
    unsigned cpu_count;
    struct weir_cpuset online;
    struct weir_cpuset allowed;
    unsigned node_count;
    unsigned node_limit;
    uint64_t memory_bytes;
    bool is_this_machine;
};

/* hwloc's distance matrix of the NUMA nodes (the firmware's SLIT on a real machine); NULL where there is none. */
static struct hwloc_distances_s *latencies_get(hwloc_topology_t tree)
{
    struct hwloc_distances_s *latencies = NULL;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(tree, "NUMALatency", &count, &latencies, 0) < 0 || count == 0)
        return NULL;
    return latencies;
}

/* Returns the latency between two nodes. Without a matrix all nodes are equally far; a node outside of the matrix is
 * farther than all nodes in it. */
static hwloc_uint64_t latency_between(struct hwloc_distances_s *latencies, hwloc_obj_t from, hwloc_obj_t to)
{
    hwloc_uint64_t there, back;
    if (!latencies)
        return 0;
    return hwloc_distances_obj_pair_values(latencies, from, to, &there, &back) == 0 ? there : UINT64_MAX;
}

/* Returns the node of `nodes` that has memory and is nearest to home; among equals the one of least index. NULL: none.
 */
static hwloc_obj_t nearest_of(hwloc_topology_t tree, hwloc_const_nodeset_t nodes, hwloc_obj_t home,
                              struct hwloc_distances_s *latencies)
{
    hwloc_obj_t best = NULL;
    hwloc_uint64_t best_latency = 0;
    unsigned index;
    hwloc_bitmap_foreach_begin(index, nodes)
    {
        hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(tree, index);
        if (!node || node->attr->numanode.local_memory == 0)
            continue;
        hwloc_uint64_t latency = latency_between(latencies, home, node);
        if (!best || latency < best_latency) {
            best = node;
            best_latency = latency;
        }
    }
    hwloc_bitmap_foreach_end();
    return best;
}

/*
 * Returns the node whose memory serves CPUs of `home`: home, if it has memory; otherwise the nearest node by the
 * distance matrix. Without a matrix, the first node found in the smallest part of the machine that has memory. Without
 * any known memory (no sysfs), home.
 */
static hwloc_obj_t memory_node_of(hwloc_topology_t tree, hwloc_obj_t home, struct hwloc_distances_s *latencies)
{
    if (home->attr->numanode.local_memory > 0)
        return home;
    hwloc_obj_t found = NULL;
    hwloc_obj_t part = latencies ? hwloc_get_root_obj(tree) : home->parent;
    for (; part && !found; part = part->parent)
        found = nearest_of(tree, part->nodeset, home, latencies);
    return found ? found : home;
}

/*
 * Returns the NUMA node that pu belongs to. Of several nodes (high-bandwidth or far memory beside plain memory), the
 * one of least index: firmware lists plain memory first. NULL: hwloc sees no node at all.
 */
static hwloc_obj_t home_node_of(hwloc_topology_t tree, hwloc_obj_t pu)
{
    for (hwloc_obj_t part = pu; part; part = part->parent) {
        int index = part->nodeset ? hwloc_bitmap_first(part->nodeset) : -1;
        if (index >= 0)
            return hwloc_get_numanode_obj_by_os_index(tree, (unsigned)index);
    }
    return NULL;
}

/* Returns the number of the object of `type` that holds pu; `otherwise` for a PU outside of all such objects. */
static unsigned ancestor_number(hwloc_topology_t tree, hwloc_obj_t pu, hwloc_obj_type_t type, unsigned otherwise)
{
    hwloc_obj_t ancestor = hwloc_get_ancestor_obj_by_type(tree, type, pu);
    return ancestor ? ancestor->logical_index : otherwise;
}

static unsigned object_count(hwloc_topology_t tree, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(tree, type);
    return count > 0 ? (unsigned)count : 0;
}

static int compare_cpus(const void *a, const void *b)
{
    const struct weir_topology_cpu *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Fills the CPUs. Without cores each PU is a core of its own; without packages all PUs are in one package. */
static void fill_cpus(struct weir_topology *topology, hwloc_topology_t tree)
{
    unsigned cores = object_count(tree, HWLOC_OBJ_CORE);
    unsigned packages = object_count(tree, HWLOC_OBJ_PACKAGE);
    struct hwloc_distances_s *latencies = latencies_get(tree);

    for (unsigned i = 0; i < topology->cpu_count; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(tree, HWLOC_OBJ_PU, i);
        hwloc_obj_t home = home_node_of(tree, pu);
        topology->cpus[i] = (struct weir_topology_cpu){
            .id = pu->os_index,
            .core = ancestor_number(tree, pu, HWLOC_OBJ_CORE, cores + i),
            .package = ancestor_number(tree, pu, HWLOC_OBJ_PACKAGE, packages),
            .home_node = home ? (int)home->os_index : 0,
            .node = home ? (int)memory_node_of(tree, home, latencies)->os_index : 0,
        };
    }
    if (latencies)
        hwloc_distances_release(tree, latencies);
    qsort(topology->cpus, topology->cpu_count, sizeof(topology->cpus[0]), compare_cpus);
}

static int collect_cpus(struct weir_topology *topology, hwloc_topology_t tree, struct weir_error *err)
{
    topology->cpu_count = object_count(tree, HWLOC_OBJ_PU);
    weir_assert(topology->cpu_count > 0); /* hwloc guarantees one PU in a loaded topology */
    topology->cpus = calloc(topology->cpu_count, sizeof(topology->cpus[0]));
    if (!topology->cpus)
        return weir_error_set_errno(err, -ENOMEM, "cannot load the CPU topology");

    fill_cpus(topology, tree);
    for (unsigned i = 0; i < topology->cpu_count; i++) {
        int result = weir_cpuset_add(&topology->online, topology->cpus[i].id);
        if (result == -EINVAL)
            return weir_error_set(err, result, "CPU %u is beyond the %u CPUs that weir can handle",
                                  topology->cpus[i].id, WEIR_CPU_LIMIT);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot load the CPU topology");
    }
    return 0;
}

static int collect_nodes(struct weir_topology *topology, hwloc_topology_t tree, struct weir_error *err)
{
    unsigned count = object_count(tree, HWLOC_OBJ_NUMANODE);
    topology->node_count = count > 0 ? count : 1;
    topology->node_limit = 1;
    for (unsigned i = 0; i < count; i++) {
        unsigned index = hwloc_get_obj_by_type(tree, HWLOC_OBJ_NUMANODE, i)->os_index;
        if (index >= WEIR_NODE_LIMIT)
            return weir_error_set(err, -EINVAL, "NUMA node %u is beyond the %u nodes that Linux has", index,
                                  WEIR_NODE_LIMIT);
        topology->node_limit = (unsigned)weir_max_u64(topology->node_limit, index + 1);
    }
    return 0;
}

static uint64_t memory_bytes_of(hwloc_topology_t tree)
{
    uint64_t bytes = hwloc_get_root_obj(tree)->total_memory;
    if (bytes > 0)
        return bytes;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0)
        return (uint64_t)pages * (uint64_t)page_bytes;
    return UNKNOWN_MEMORY_BYTES;
}

/* sched_getaffinity(2) already applies the cpuset. If the call is refused, all online CPUs count as allowed. */
static int collect_allowed(struct weir_topology *topology, struct weir_error *err)
{
    struct weir_cpuset affinity = WEIR_CPUSET_INIT;
    int result = topology->is_this_machine ? weir_thread_affinity(&affinity) : -ENOSYS;
    if (result == 0)
        result = weir_cpuset_and(&topology->allowed, &topology->online, &affinity);
    else if (result != -ENOMEM)
        result = weir_cpuset_copy(&topology->allowed, &topology->online);
    weir_cpuset_fini(&affinity);
    return result < 0 ? weir_error_set_errno(err, result, "cannot load the CPU topology") : 0;
}

/* Opens hwloc's tree unloaded, and turns off the kinds of objects that weir does not use. */
static int tree_open(hwloc_topology_t *tree, unsigned long flags, struct weir_error *err)
{
    if (hwloc_topology_init(tree) < 0)
        return weir_error_set_errno(err, -ENOMEM, "cannot load the CPU topology");
    if (hwloc_topology_set_flags(*tree, flags) == 0 &&
        hwloc_topology_set_all_types_filter(*tree, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
        hwloc_topology_set_type_filter(*tree, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
        hwloc_topology_set_type_filter(*tree, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
        /* Without groups hwloc attaches every NUMA node that is not a package to the whole machine. */
        hwloc_topology_set_type_filter(*tree, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) == 0)
        return 0;
    hwloc_topology_destroy(*tree);
    return weir_error_set(err, -EINVAL, "this hwloc refuses the options that weir loads the CPU topology with");
}

static int tree_use_synthetic(hwloc_topology_t tree, const char *description, struct weir_error *err)
{
    if (hwloc_topology_set_synthetic(tree, description) == 0)
        return 0;
    weir_error_set(err, -EINVAL, "bad synthetic topology '%s'", description);
    weir_error_hint(err, "hwloc's grammar, for example 'package:2 numa:2 core:8 pu:2'; see lstopo(1), --input");
    return -EINVAL;
}

/* Checks the variables, because hwloc ignores a bad one in silence and loads this machine. hwloc prefers SYNTHETIC to
 * XMLFILE. */
static int tree_use_environment(hwloc_topology_t tree, struct weir_error *err)
{
    const char *synthetic = getenv("HWLOC_SYNTHETIC");
    const char *xml_path = getenv("HWLOC_XMLFILE");
    if (synthetic && synthetic[0])
        return tree_use_synthetic(tree, synthetic, err);
    if (!xml_path || !xml_path[0] || hwloc_topology_set_xml(tree, xml_path) == 0)
        return 0;
    weir_error_set(err, -EINVAL, "cannot read HWLOC_XMLFILE=%s as a saved topology", xml_path);
    weir_error_hint(err, "unset HWLOC_XMLFILE, or save one with: lstopo --of xml %s", xml_path);
    return -EINVAL;
}

static int tree_load(hwloc_topology_t tree, struct weir_error *err)
{
    errno = 0;
    if (hwloc_topology_load(tree) == 0)
        return 0;
    if (errno == ENOMEM)
        return weir_error_set_errno(err, -ENOMEM, "cannot load the CPU topology");
    weir_error_set(err, -EINVAL, "hwloc cannot load the CPU topology");
    weir_error_hint(err, "is HWLOC_XMLFILE, HWLOC_SYNTHETIC or HWLOC_FSROOT set? lstopo(1) shows what hwloc sees");
    return -EINVAL;
}

/* Copies what weir needs from a loaded tree. */
static int topology_from(struct weir_topology **out, hwloc_topology_t tree, struct weir_error *err)
{
    struct weir_topology *topology = calloc(1, sizeof(*topology));
    if (!topology)
        return weir_error_set_errno(err, -ENOMEM, "cannot load the CPU topology");

    topology->is_this_machine = hwloc_topology_is_thissystem(tree) != 0;
    topology->memory_bytes = memory_bytes_of(tree);
    int result = collect_nodes(topology, tree, err);
    if (result == 0)
        result = collect_cpus(topology, tree, err);
    if (result == 0)
        result = collect_allowed(topology, err);
    if (result < 0) {
        weir_topology_free(topology);
        return result;
    }
    *out = topology;
    return 0;
}

/* Loads a machine. description NULL: the machine that the environment names, otherwise this machine. */
static int topology_load(struct weir_topology **out, const char *description, struct weir_error *err)
{
    hwloc_topology_t tree;
    int result = tree_open(&tree, LOAD_FLAGS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS, err);
    if (result < 0)
        return result;
    result = description ? tree_use_synthetic(tree, description, err) : tree_use_environment(tree, err);
    if (result == 0)
        result = tree_load(tree, err);
    if (result == 0)
        result = topology_from(out, tree, err);
    hwloc_topology_destroy(tree);
    return result;
}

int weir_topology_load(struct weir_topology **out, struct weir_error *err)
{
    return topology_load(out, NULL, err);
}

int weir_topology_load_synthetic(struct weir_topology **out, const char *description, struct weir_error *err)
{
    return topology_load(out, description, err);
}

void weir_topology_free(struct weir_topology *topology)
{
    if (!topology)
        return;
    weir_cpuset_fini(&topology->online);
    weir_cpuset_fini(&topology->allowed);
    free(topology->cpus);
    free(topology);
}

bool weir_topology_is_this_machine(const struct weir_topology *topology)
{
    return topology->is_this_machine;
}

const struct weir_cpuset *weir_topology_online(const struct weir_topology *topology)
{
    return &topology->online;
}

const struct weir_cpuset *weir_topology_allowed(const struct weir_topology *topology)
{
    return &topology->allowed;
}

const struct weir_topology_cpu *weir_topology_cpus(const struct weir_topology *topology, unsigned *count)
{
    *count = topology->cpu_count;
    return topology->cpus;
}

const struct weir_topology_cpu *weir_topology_cpu(const struct weir_topology *topology, unsigned cpu)
{
    const struct weir_topology_cpu key = {.id = cpu};
    return bsearch(&key, topology->cpus, topology->cpu_count, sizeof(key), compare_cpus);
}

unsigned weir_topology_node_count(const struct weir_topology *topology)
{
    return topology->node_count;
}

unsigned weir_topology_node_limit(const struct weir_topology *topology)
{
    return topology->node_limit;
}

uint64_t weir_topology_memory_bytes(const struct weir_topology *topology)
{
    return topology->memory_bytes;
}

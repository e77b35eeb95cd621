/* Machines that hwloc's synthetic grammar cannot describe, made with hwloc's own editing functions. */
#include "tests/topology/saved_topology.h"

#include <criterion/criterion.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <stdlib.h>

#define NODES_MAX 32

static void add_distances(hwloc_topology_t tree, const unsigned *distances, unsigned rows)
{
    hwloc_obj_t nodes[NODES_MAX];
    hwloc_uint64_t values[NODES_MAX * NODES_MAX];
    for (unsigned i = 0; i < rows; i++)
        nodes[i] = hwloc_get_numanode_obj_by_os_index(tree, i);
    for (unsigned i = 0; i < rows * rows; i++)
        values[i] = distances[i];

    hwloc_distances_add_handle_t handle = hwloc_distances_add_create(
        tree, "NUMALatency", HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    cr_assert_not_null(handle);
    cr_assert_eq(hwloc_distances_add_values(tree, handle, rows, nodes, values, 0), 0);
    cr_assert_eq(hwloc_distances_add_commit(tree, handle, 0), 0);
}

static void take_memory(hwloc_topology_t tree, unsigned node_bits)
{
    for (unsigned i = 0; i < NODES_MAX; i++) {
        if (node_bits >> i & 1)
            hwloc_get_numanode_obj_by_os_index(tree, i)->attr->numanode.local_memory = 0;
    }
}

static void take_cpus(hwloc_topology_t tree, unsigned node_bits)
{
    hwloc_bitmap_t kept = hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(tree));
    for (unsigned i = 0; i < NODES_MAX; i++) {
        if (node_bits >> i & 1)
            hwloc_bitmap_andnot(kept, kept, hwloc_get_numanode_obj_by_os_index(tree, i)->cpuset);
    }
    cr_assert_eq(hwloc_topology_restrict(tree, kept, 0), 0);
    hwloc_bitmap_free(kept);
}

void saved_topology_use(const struct saved_topology *saved, const char *path)
{
    hwloc_topology_t tree;
    cr_assert_eq(hwloc_topology_init(&tree), 0);
    cr_assert_eq(hwloc_topology_set_synthetic(tree, saved->description), 0);
    cr_assert_eq(hwloc_topology_load(tree), 0);
    if (saved->distances)
        add_distances(tree, saved->distances, saved->distance_rows);
    take_memory(tree, saved->memoryless_nodes);
    if (saved->cpuless_nodes)
        take_cpus(tree, saved->cpuless_nodes);
    cr_assert_eq(hwloc_topology_export_xml(tree, path, 0), 0);
    hwloc_topology_destroy(tree);
    cr_assert_eq(setenv("HWLOC_XMLFILE", path, 1), 0);
}

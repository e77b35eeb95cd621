/*
 * The machine's CPUs, cores, packages and NUMA nodes, as hwloc sees them.
 *
 * hwloc's own environment variables apply (HWLOC_SYNTHETIC, HWLOC_XMLFILE: hwloc's manual, "Environment Variables"), so
 * that synthetic and saved machines drive the placement plan. Only this folder uses hwloc and libnuma. A loaded
 * topology is immutable, and any thread may read it.
 */
#ifndef WEIR_TOPOLOGY_TOPOLOGY_H
#define WEIR_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"

#define WEIR_NODE_LIMIT 1024u /* NUMA node indexes are below this: MAX_NUMNODES at the greatest CONFIG_NODES_SHIFT */

struct weir_topology_cpu {
    unsigned id;      /* the kernel's CPU number (hwloc's PU os_index) */
    unsigned core;    /* logical number of its core, machine-wide, from 0 */
    unsigned package; /* logical number of its package, from 0 */
    int home_node;    /* os index of the CPU's own NUMA node, which may have no memory; 0 without NUMA */
    int node;         /* os index of the nearest NUMA node with memory, mostly home_node; 0 without NUMA */
};

struct weir_topology; /* opaque */

/* Loads this machine, or the synthetic or saved one that the environment names. The caller owns *out. 0, -ENOMEM,
 * -EINVAL (bad HWLOC_SYNTHETIC or HWLOC_XMLFILE, CPU or node number beyond its limit). Blocks on sysfs reads. Without
 * sysfs (containers) the CPUs come from sysconf(3): each is a core of its own, in one package and one node. */
int weir_topology_load(struct weir_topology **out, struct weir_error *err);

/* Loads a machine from a synthetic description in hwloc's grammar ("package:2 core:4 pu:2"), for tests and `--dry-run`.
 */
int weir_topology_load_synthetic(struct weir_topology **out, const char *description, struct weir_error *err);

/* Frees a topology. NULL is allowed. */
void weir_topology_free(struct weir_topology *topology);

/* Returns false for synthetic and saved machines: threads and memory cannot be bound by such a topology. */
bool weir_topology_is_this_machine(const struct weir_topology *topology);

/* Returns the online CPUs. Borrowed. */
const struct weir_cpuset *weir_topology_online(const struct weir_topology *topology);

/* Returns the CPUs that the loading thread may run on: the online CPUs within its affinity mask and cpuset at load
 * time, which may be none. For a synthetic or saved machine, all online CPUs. Borrowed. */
const struct weir_cpuset *weir_topology_allowed(const struct weir_topology *topology);

/* Returns the online CPUs, ascending by id, and sets *count. Borrowed. */
const struct weir_topology_cpu *weir_topology_cpus(const struct weir_topology *topology, unsigned *count);

/* Returns the entry of one CPU, or NULL when it is not online. Borrowed. */
const struct weir_topology_cpu *weir_topology_cpu(const struct weir_topology *topology, unsigned cpu);

/* Return the number of NUMA nodes (at least 1, with those without CPUs or without memory), and the greatest index plus
 * one. */
unsigned weir_topology_node_count(const struct weir_topology *topology);
unsigned weir_topology_node_limit(const struct weir_topology *topology);

/* Returns the machine's memory in bytes, for sizing rings and pool; never 0. */
uint64_t weir_topology_memory_bytes(const struct weir_topology *topology);

#endif

/*
 * The machine's CPUs, cores, packages and NUMA nodes, as hwloc sees them.
 *
 * Honours hwloc's own environment (HWLOC_SYNTHETIC, HWLOC_XMLFILE: hwloc's manual, "Environment Variables"), so that
 * synthetic and saved machines drive the placement plan. hwloc and libnuma are used in this folder only.
 * A loaded topology is immutable and may be read by any thread.
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
    int home_node;    /* os index of the NUMA node that it belongs to, which may have no memory; 0 without NUMA */
    int node;         /* os index of the nearest NUMA node that has memory, mostly home_node; 0 without NUMA */
};

struct weir_topology; /* opaque */

/* Loads the machine (or the synthetic or saved one that the environment names). *out is owned by the caller.
 * 0, -ENOMEM, -EINVAL (bad HWLOC_SYNTHETIC or HWLOC_XMLFILE, CPU or node number beyond its limit). Blocks on sysfs
 * reads. Without sysfs (containers) the CPUs come from sysconf(3): each a core of its own, one package, one node. */
int weir_topology_load(struct weir_topology **out, struct weir_error *err);

/* The same from a synthetic description in hwloc's grammar ("package:2 core:4 pu:2"), for tests and `--dry-run`. */
int weir_topology_load_synthetic(struct weir_topology **out, const char *description, struct weir_error *err);

/*
 * Of a hybrid machine the online CPUs of the kind that saves most energy, which hwloc ranks by what the kernel tells:
 * capacities, core types, frequencies ("CPU kinds" in its manual). Replaces set; empty where all CPUs are of one kind
 * or nothing tells how they rank. Honours hwloc's environment as weir_topology_load() does, which leaves the kinds out:
 * they cost some reads of sysfs for each CPU. 0, -ENOMEM, -EINVAL, and then set is unchanged. Blocks on these reads.
 */
int weir_topology_efficient_cpus(struct weir_cpuset *set, struct weir_error *err);

/* NULL is allowed. */
void weir_topology_free(struct weir_topology *topology);

/* False for synthetic and saved machines: threads cannot be pinned nor memory bound by such a topology. */
bool weir_topology_is_this_machine(const struct weir_topology *topology);

/* CPUs that are online. Borrowed. */
const struct weir_cpuset *weir_topology_online(const struct weir_topology *topology);

/* CPUs that the loading thread may run on: online CPUs within its affinity mask and cpuset at load time (empty if those
 * have none in common). All online ones for a synthetic or saved machine. Borrowed. */
const struct weir_cpuset *weir_topology_allowed(const struct weir_topology *topology);

/* The online CPUs, ascending by id; *count is set. Borrowed. */
const struct weir_topology_cpu *weir_topology_cpus(const struct weir_topology *topology, unsigned *count);

/* The entry of one CPU, or NULL when it is not online. Borrowed. */
const struct weir_topology_cpu *weir_topology_cpu(const struct weir_topology *topology, unsigned cpu);

/* Number of NUMA nodes (at least 1), those without CPUs or without memory included, and the greatest index plus one. */
unsigned weir_topology_node_count(const struct weir_topology *topology);
unsigned weir_topology_node_limit(const struct weir_topology *topology);

/* Memory of the machine in bytes (for sizing rings and pool); never 0. */
uint64_t weir_topology_memory_bytes(const struct weir_topology *topology);

#endif

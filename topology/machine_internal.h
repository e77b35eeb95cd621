/* The parts of weir_machine_collect(); for topology/machine*.c. */
#ifndef WEIR_TOPOLOGY_MACHINE_INTERNAL_H
#define WEIR_TOPOLOGY_MACHINE_INTERNAL_H

#include "base/machine.h"
#include "topology/sysroot.h"
#include "topology/topology.h"

/*
 * Each function fills its fields of a zeroed *machine, and stops early once root->error is set. weir_machine_fini()
 * releases the fields in both cases.
 */

/* cpu_desc, cpuid, cpus_available, cpus_online, cpus, caches. Needs machine->arch. */
void weir_machine_collect_cpus(struct weir_machine *machine, const struct weir_topology *topology,
                               struct weir_sysroot *root);

/* caches. Needs machine->cpus. */
void weir_machine_collect_caches(struct weir_machine *machine, struct weir_sysroot *root);

/* mem_total_kb, memory_block_bytes, nodes. */
void weir_machine_collect_memory(struct weir_machine *machine, struct weir_sysroot *root);

#endif

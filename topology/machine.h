/* Collects base/machine.h's description from hwloc, uname(2), /proc and /sys. */
#ifndef WEIR_TOPOLOGY_MACHINE_H
#define WEIR_TOPOLOGY_MACHINE_H

#include "base/error.h"
#include "base/machine.h"
#include "topology/topology.h"

/*
 * Fills *machine; release it with weir_machine_fini(). Fields that no file describes stay empty: counts 0, strings ""
 * or NULL as base/machine.h says. Without sys/devices/system/cpu the CPUs come from topology (not NULL). Only -ENOMEM
 * fails, and leaves *machine unchanged.
 *
 * sysroot: "" for this machine, or a folder that holds copies of proc/ and sys/ (tests, recorded machines). Blocks on
 * reads, some 30 files per CPU; called once, off the data path.
 */
int weir_machine_collect(struct weir_machine *machine, const struct weir_topology *topology, const char *sysroot,
                         struct weir_error *err);

/* Releases the description and zeroes *machine. NULL is allowed. */
void weir_machine_fini(struct weir_machine *machine);

#endif

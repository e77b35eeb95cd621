/* Collects base/machine.h's description from hwloc, uname(2), /proc and /sys. */
#ifndef WEIR_TOPOLOGY_MACHINE_H
#define WEIR_TOPOLOGY_MACHINE_H

#include "base/error.h"
#include "base/machine.h"
#include "topology/topology.h"

/*
 * Fills *machine, to be freed with weir_machine_fini(). What a file system does not tell stays empty (counts 0,
 * strings "" or NULL as documented); only -ENOMEM fails. sysroot: "" for this machine, or a folder that holds copies of
 * proc/ and sys/ (tests, recorded machines). Blocks on reads; called once, off the data path.
 */
int weir_machine_collect(struct weir_machine *machine, const struct weir_topology *topology, const char *sysroot,
                         struct weir_error *err);
void weir_machine_fini(struct weir_machine *machine);

#endif

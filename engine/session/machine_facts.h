/*
 * What the machine offers a recording: everything that planning reads from the kernel, sysfs and file systems, read
 * once so that the plan itself is a function of options and facts (recording_plan.h).
 *
 * Coordinator thread. The facts are const after read(), but for the limit on descriptors, which the coordinator raises
 * before events are opened.
 */
#ifndef WEIR_ENGINE_SESSION_MACHINE_FACTS_H
#define WEIR_ENGINE_SESSION_MACHINE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "engine/events/sample_clock.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/kernel_limits.h"
#include "engine/session/record_options.h"
#include "topology/memory_limit.h"
#include "topology/topology.h"

struct weir_machine_facts {
    struct weir_topology *topology; /* owned */
    struct weir_kernel_limits limits;
    struct weir_memory_limit memory_limit; /* of the process's cgroups; none where the topology is only described */
    struct weir_cpuset quiet_cpus;         /* owned; isolcpus= and nohz_full=; empty where the topology is described */
    struct weir_cpuset efficient_cpus;     /* owned; with --reader-cpus=efficient */
    struct weir_cpuset late_cpus;          /* owned; offline, to be recorded when they come online */
    uint64_t interrupt_registers;          /* extended ones that the PMU samples (--intr-regs), PERF_REG_* as bits */
    uint64_t user_registers;               /* likewise (--user-regs) */
    struct weir_clock_reference clock_reference; /* of the clock of -k; zeros without -k */
    uint64_t free_bytes;    /* of the file system that the output is made on; UINT64_MAX: it does not say */
    const char *sysfs_root; /* borrowed; NULL: /sys */
};

/*
 * Reads the facts that the options need, all but late_cpus. *machine is all zeros. 0; -ENOMEM; -EINVAL: no such clock;
 * -errno of the topology. err says why. Release with fini() in any case. Blocks on small files of procfs and sysfs.
 */
int weir_machine_facts_read(struct weir_machine_facts *machine, const struct weir_record_options *options,
                            const struct weir_kernel *kernel, struct weir_error *err);

/* The memory in bytes that a recording has to share: the machine's, or the cgroup's where that is less. */
uint64_t weir_machine_facts_memory_bytes(const struct weir_machine_facts *machine);

void weir_machine_facts_fini(struct weir_machine_facts *machine);

#endif

/*
 * The facts of the machine that a recording depends on. All that planning needs from the kernel, sysfs and file systems
 * is read here, once. So the plan is a function of options and facts (recording_plan.h).
 *
 * Coordinator thread. The facts are const after weir_machine_facts_read(), except late_cpus and the limit on
 * descriptors. The coordinator lists the late CPUs while planning, and raises the limit before it opens events.
 */
#ifndef WEIR_ENGINE_PLAN_MACHINE_FACTS_H
#define WEIR_ENGINE_PLAN_MACHINE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "engine/events/sample_clock.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/kernel_limits.h"
#include "engine/plan/record_options.h"
#include "topology/memory_limit.h"
#include "topology/topology.h"

struct weir_machine_facts {
    struct weir_topology *topology; /* owned */
    struct weir_kernel_limits limits;
    struct weir_memory_limit memory_limit; /* of the process's cgroups; unlimited when the topology is only described */
    struct weir_cpuset quiet_cpus; /* owned; isolcpus= and nohz_full=; empty when the topology is only described */
    struct weir_cpuset late_cpus;  /* owned; offline CPUs to record once they come online */
    uint64_t interrupt_registers;  /* extended registers that the PMU samples (--intr-regs): PERF_REG_* as bits */
    uint64_t user_registers;       /* extended registers for --user-regs: PERF_REG_* as bits */
    struct weir_clock_reference clock_reference; /* of the clock of -k; zeros without -k */
    uint64_t free_bytes;                         /* free on the output's file system; UINT64_MAX: unknown */
    const char *sysfs_root;                      /* borrowed; NULL: /sys */
};

/*
 * Reads the facts that the options need, except late_cpus. *machine is all zeros before the call. Returns 0; -ENOMEM;
 * -EINVAL when the clock does not exist; or -errno of the topology. err says why. The caller calls
 * weir_machine_facts_fini() in any case. Blocks on small files of procfs and sysfs.
 */
int weir_machine_facts_read(struct weir_machine_facts *machine, const struct weir_record_options *options,
                            const struct weir_kernel *kernel, struct weir_error *err);

/* Returns the bytes of memory that a recording shares: the machine's, or the cgroup's where that is less. */
uint64_t weir_machine_facts_memory_bytes(const struct weir_machine_facts *machine);

void weir_machine_facts_fini(struct weir_machine_facts *machine);

#endif

/*
 * Plans for machines on which only some CPUs, the housekeeping CPUs, run readers.
 *
 * Two things narrow the machine to housekeeping CPUs:
 *     reader_cpus  --reader-cpus: the user names the CPUs that run all readers
 *     quiet        CPUs that the administrator keeps free of other work (kernel parameters isolcpus= and nohz_full=).
 *                  No reader runs there unless the user names them
 *
 * Housekeeping CPUs change a plan of weir_plan_make() as follows:
 *     no --threads         one reader for each housekeeping CPU. It drains its own CPU. The other CPUs go in turn to
 *                          the readers of their NUMA node, or to all readers if the node has none
 *     --threads=LAYOUT     the readers stay. Each runs on the housekeeping CPUs among its own CPUs; if there are none,
 *                          on those of its CPUs' nodes; if there are none, on any
 *     --threads=MASKS      stays unchanged, as the masks say where readers run. reader_cpus is an error
 *
 * Set-up thread; allocates.
 */
#ifndef WEIR_TOPOLOGY_PLAN_HOUSEKEEPING_H
#define WEIR_TOPOLOGY_PLAN_HOUSEKEEPING_H

#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "topology/plan.h"
#include "topology/topology.h"

struct weir_plan_housekeeping {
    const struct weir_cpuset *reader_cpus; /* borrowed; not empty; NULL: the option is not given */
    const struct weir_cpuset *quiet;       /* borrowed; NULL or empty: none */
};

/*
 * Replaces set by the CPUs that the kernel keeps free of other work: those of sys/devices/system/cpu/isolated and
 * nohz_full below `root` ("": this machine). Empty where neither file names any. 0 or -ENOMEM. Blocks on sysfs reads.
 */
int weir_quiet_cpus_read(struct weir_cpuset *set, const char *root);

/*
 * Makes a plan as weir_plan_make() does, and narrows it to the housekeeping CPUs.
 *
 * *housekeeping_cpus is replaced; the threads that are not readers should run there too. It is empty if nothing narrows
 * the machine, and, with a warning, if all CPUs that weir may use are quiet. A notice lists the CPUs that weir keeps
 * off.
 *
 * Results as weir_plan_make(); also -EINVAL for a CPU of reader_cpus that is not online, and for reader_cpus with
 * masks.
 */
int weir_plan_make_with_housekeeping(struct weir_plan *plan, struct weir_cpuset *housekeeping_cpus,
                                     const struct weir_topology *topology, const struct weir_cpuset *cpus,
                                     const char *spec, const struct weir_plan_housekeeping *housekeeping,
                                     const struct weir_notice_sink *sink, struct weir_error *err);

#endif

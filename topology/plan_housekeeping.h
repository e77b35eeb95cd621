/*
 * Where readers may run, as far as that is not where their CPUs are: housekeeping CPUs.
 *
 * Three things narrow the machine:
 *   reader_cpus  --reader-cpus: the user names the CPUs that are to do all the reading
 *   efficient    --reader-cpus=efficient: of a hybrid machine the cores that save energy, but for quiet ones
 *   quiet        CPUs that the administrator keeps free of other work (kernel parameters isolcpus= and nohz_full=); no
 *                reader runs there unless the user names them
 * The rest are the housekeeping CPUs. They change a plan of weir_plan_make() so:
 *   no --threads         one reader for each housekeeping CPU. It drains its own CPU, and the CPUs that are no
 *                        housekeeping CPUs are dealt out in turn to those of their NUMA node, or to all where their
 * node has none
 *   --threads=LAYOUT     the readers stay; each runs on the housekeeping CPUs among its own, else on those of the nodes
 *                        of its CPUs, else on any
 *   --threads=MASKS      stays as it is: the masks say where readers run. With the first two that is an error
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
    const struct weir_cpuset *reader_cpus; /* borrowed; NULL: not given; else not empty */
    const struct weir_cpuset *efficient;   /* borrowed; NULL: not asked for, and so with reader_cpus; empty: there are
                                            * none, which is told */
    const struct weir_cpuset *quiet;       /* borrowed; NULL or empty: none */
};

/*
 * The CPUs that the kernel of the machine below `root` ("": this one) was told to keep free: those of
 * sys/devices/system/cpu/isolated and nohz_full. Replaces set; empty where neither is told. 0 or -ENOMEM. Blocks on
 * sysfs reads.
 */
int weir_quiet_cpus_read(struct weir_cpuset *set, const char *root);

/*
 * weir_plan_make() with housekeeping. *housekeeping_cpus is replaced by the housekeeping CPUs, in which the threads
 * that are no readers should run too; it is empty where nothing narrows the machine, and where all of it is quiet,
 * which is then passed over with a warning, as is a machine without efficient CPUs that weir may run on. A notice tells
 * which CPUs are spared. As weir_plan_make(), and -EINVAL for a CPU of reader_cpus that is not online, and for
 * reader_cpus and efficient with masks.
 */
int weir_plan_make_with_housekeeping(struct weir_plan *plan, struct weir_cpuset *housekeeping_cpus,
                                     const struct weir_topology *topology, const struct weir_cpuset *cpus,
                                     const char *spec, const struct weir_plan_housekeeping *housekeeping,
                                     const struct weir_notice_sink *sink, struct weir_error *err);

#endif

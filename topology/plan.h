/*
 * The placement plan: which reader thread drains the rings of which CPUs, on which CPUs it may run, and on which NUMA
 * node its memory lies.
 *
 * --threads[=SPEC] has perf's grammar (perf-record(1), --threads):
 *     cpu | core | package | numa    one reader for each unit that has a CPU to record. The reader runs on the CPUs
 *                                    that it drains. perf's default is cpu
 *     MASKS                          <cpus>/<affinity>[:<cpus>/<affinity>]..., CPU lists in the kernel's form
 *
 * As in perf, <cpus> of masks may not overlap. -C filters them, and a mask without a CPU to record is an error. weir
 * differs from perf in two points:
 *
 * - A CPU to record that no mask names, and a CPU that is not online, are errors. perf would silently leave them out.
 *
 * - Affinities may overlap, and -C does not filter them. So a few housekeeping CPUs can run all readers.
 */
#ifndef WEIR_TOPOLOGY_PLAN_H
#define WEIR_TOPOLOGY_PLAN_H

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "topology/topology.h"

struct weir_plan_reader {
    struct weir_cpuset cpus; /* the CPUs whose rings the reader drains; not empty, no overlap between readers */
    struct weir_cpuset
        affinity; /* the CPUs that the reader may run on; empty: any (this process may use no CPU of the wish) */
    int node; /* for its chunks and stack: the node of most CPUs of affinity, or of cpus if affinity is empty; a node
                 with memory */
};

/* Immutable once made. Any thread may read it. */
struct weir_plan {
    struct weir_plan_reader *readers; /* owned; ordered by their first CPU */
    unsigned reader_count;
};

/*
 * Makes the plan for recording `cpus` (a subset of the online CPUs) by `spec` (NULL: "cpu").
 *
 * A reader's affinity is narrowed to the CPUs that this process may use. A reader without any such CPU may run
 * anywhere. sink then gets one warning for all such readers (taskset or cpuset narrower than the plan). sink and err
 * may be NULL. Call on the set-up thread; does not block.
 *
 * 0, -EINVAL (grammar, CPU that is not online, overlap, CPUs left out: err names the fault and its place) or -ENOMEM.
 * The caller owns *plan; it is unchanged on failure.
 */
int weir_plan_make(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                   const char *spec, const struct weir_notice_sink *sink, struct weir_error *err);

/* Drops all readers but the first `count` (at least one), for rings that do not belong to CPUs. */
void weir_plan_keep(struct weir_plan *plan, unsigned count);

/* NULL is allowed. */
void weir_plan_fini(struct weir_plan *plan);

/* Checks a spec without a machine: its grammar, and that no CPU is drained twice. 0, -EINVAL with err naming the column
 * (from 1), or -ENOMEM. */
int weir_plan_check_spec(const char *spec, struct weir_error *err);

/* Appends a line for each reader: "reader 0: cpus 0-7, runs on 0-7, node 0\n", or "..., runs anywhere, ...". */
void weir_plan_describe(const struct weir_plan *plan, struct weir_buf *text);

#endif

/*
 * The placement plan: which reader thread drains the rings of which CPUs, where it may run, and on which NUMA node
 * its memory lies.
 *
 * --threads[=SPEC] has perf's grammar (perf-record(1), --threads):
 *   cpu | core | package | numa          one reader for each that has a CPU to record; it runs on the CPUs it drains;
 *                                        perf's default is cpu
 *   MASKS                                <cpus>/<affinity>[:<cpus>/<affinity>]..., CPU lists in the kernel's form
 * As in perf, masks may not overlap in <cpus>, which are filtered by the CPUs to record (-C), and a mask of which
 * nothing is left is an error. Other than in perf:
 * - CPUs to record that no mask names, and CPUs that are not online, are errors: a silent hole is a loss.
 * - Affinities may overlap and are not filtered by -C, so that a few housekeeping CPUs can do all the reading.
 */
#ifndef WEIR_TOPOLOGY_PLAN_H
#define WEIR_TOPOLOGY_PLAN_H

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "topology/topology.h"

struct weir_plan_reader {
    struct weir_cpuset cpus;     /* the CPUs whose rings it drains; not empty, no overlap between readers */
    struct weir_cpuset affinity; /* the CPUs it may run on; empty: anywhere (nothing of the wish is allowed) */
    int node; /* for its chunks and stack: where most of affinity lies, or of cpus if that is empty; has memory */
};

/* Immutable once made; any thread may read it. */
struct weir_plan {
    struct weir_plan_reader *readers; /* owned; ordered by their first CPU */
    unsigned reader_count;
};

/*
 * Makes the plan for recording `cpus` (a subset of the online ones) by `spec` (NULL: "cpu").
 * A reader's affinity is narrowed to the CPUs that this process is allowed to use; where a reader loses its whole wish,
 * it may run anywhere allowed, and one warning in all goes to sink (taskset or cpuset narrower than the plan).
 * sink and err may be NULL. Call on the set-up thread; does not block.
 * 0, -EINVAL (grammar, CPU that is not online, overlap, CPUs left out: err says which and where) or -ENOMEM; *plan is
 * unchanged on failure, and owned by the caller otherwise.
 */
int weir_plan_make(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                   const char *spec, const struct weir_notice_sink *sink, struct weir_error *err);

/* Drops all but the first `count` (at least one) readers, for rings that are not of CPUs. */
void weir_plan_keep(struct weir_plan *plan, unsigned count);

/* NULL is allowed. */
void weir_plan_fini(struct weir_plan *plan);

/* Only what needs no machine, before anything is loaded: grammar, and that no CPU is drained twice.
 * 0, -EINVAL with err naming the column (from 1), or -ENOMEM. */
int weir_plan_check_spec(const char *spec, struct weir_error *err);

/* Appends one line per reader for people: "reader 0: cpus 0-7, runs on 0-7, node 0\n", or "..., runs anywhere, ...". */
void weir_plan_describe(const struct weir_plan *plan, struct weir_buf *text);

#endif

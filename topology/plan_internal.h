/* The parsed --threads argument, and the two halves of weir_plan_make(); for topology/plan*.c and their tests. */
#ifndef WEIR_TOPOLOGY_PLAN_INTERNAL_H
#define WEIR_TOPOLOGY_PLAN_INTERNAL_H

#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "topology/plan.h"

enum weir_plan_layout {
    WEIR_PLAN_LAYOUT_CPU,
    WEIR_PLAN_LAYOUT_CORE,
    WEIR_PLAN_LAYOUT_PACKAGE,
    WEIR_PLAN_LAYOUT_NUMA,
    WEIR_PLAN_LAYOUT_MASKS,
};

struct weir_plan_mask {
    struct weir_cpuset cpus;     /* as written; not empty; no overlap with other masks */
    struct weir_cpuset affinity; /* as written; not empty */
    unsigned column;             /* of the mask's first character in the argument, from 1 */
};

struct weir_plan_spec {
    enum weir_plan_layout layout;
    struct weir_plan_mask *masks; /* owned; in the order written; NULL unless the layout is MASKS */
    unsigned mask_count;
};

/* Parses text (NULL and "": cpu). 0, -EINVAL or -ENOMEM with err; *spec unchanged on failure. Allocates. */
int weir_plan_spec_parse(struct weir_plan_spec *spec, const char *text, struct weir_error *err);

void weir_plan_spec_fini(struct weir_plan_spec *spec);

/* Makes the readers with the CPUs that spec wishes for each: the first half of weir_plan_make(). */
int weir_plan_make_wishes(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                          const char *spec, struct weir_error *err);

/* Narrows the wishes to the CPUs that this process may use, and chooses nodes: the second half of weir_plan_make(). */
int weir_plan_fit(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_notice_sink *sink,
                  struct weir_error *err);

#endif

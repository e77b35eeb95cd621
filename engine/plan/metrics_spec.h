/* The argument of --metrics. Any thread. */
#ifndef WEIR_ENGINE_PLAN_METRICS_SPEC_H
#define WEIR_ENGINE_PLAN_METRICS_SPEC_H

#include <stdbool.h>

#include "base/error.h"

#define WEIR_METRICS_SUFFIX  ".prom" /* node_exporter reads no other files */
#define WEIR_METRICS_PER_CPU ",per-cpu"

/* "FILE.prom[,per-cpu]" */
struct weir_metrics_spec {
    char *path; /* owned; NULL: no metrics */
    bool per_cpu;
};

/* Parses text into *spec and frees the former content of *spec. Touches no file. 0, -EINVAL with err, or -ENOMEM; *spec
 * is untouched on failure. */
int weir_metrics_spec_parse(struct weir_metrics_spec *spec, const char *text, struct weir_error *err);

/* NULL-safe, idempotent. */
void weir_metrics_spec_fini(struct weir_metrics_spec *spec);

#endif

/*
 * The metrics of a recording as OpenMetrics 1.0 text (docs/metrics.md lists them). Reads the counters that readers,
 * writer and kernel keep anyway, as status.h does. No counter falls from one text to the next.
 *
 * The text also suits the parser of node_exporter, which reads the older text format. So the text has no info and no
 * state set, and no sample has a time.
 *
 * Coordinator thread. Allocates; makes no system call.
 */
#ifndef WEIR_ENGINE_SESSION_METRICS_TEXT_H
#define WEIR_ENGINE_SESSION_METRICS_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "engine/plan/record_result.h"
#include "engine/session/status.h"

struct weir_metrics_form {
    const char *recording; /* borrowed; value of the label `recording` of each metric */
    bool per_cpu;          /* a value for each CPU instead of each NUMA node */
};

/* Appends the text. result: NULL while data flows; at the end the outcome with its ledger, whose losses are exact. */
void weir_metrics_append(const struct weir_status_sources *sources, const struct weir_metrics_form *form,
                         const struct weir_record_result *result, struct weir_buf *out);

#endif

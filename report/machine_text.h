/*
 * What the features of a recording say of its machine, its command and its CPUs. Trusts no byte. One thread; allocates.
 */
#ifndef WEIR_REPORT_MACHINE_TEXT_H
#define WEIR_REPORT_MACHINE_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "format/perf_input.h"

/* Appends the text of a feature that is one string, as JSON; null without the feature. */
void weir_machine_text_append(struct weir_buf *out, struct weir_perf_input *input, unsigned feature);

/* Appends the number of CPUs that were online, or null. */
void weir_machine_online_append(struct weir_buf *out, struct weir_perf_input *input);

/* Appends the recorder's command line as a JSON list, or null. */
void weir_machine_command_append(struct weir_buf *out, struct weir_perf_input *input);

#define WEIR_PLACE_UNKNOWN (-1)

struct weir_cpu_place {
    int node, package, core; /* WEIR_PLACE_UNKNOWN */
};

/* Fills the places of CPUs 0 to count - 1, from NUMA_TOPOLOGY and CPU_TOPOLOGY. */
void weir_machine_places(struct weir_perf_input *input, struct weir_cpu_place *places, uint32_t count);

#endif

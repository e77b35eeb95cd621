/*
 * The feature sections that describe the machine, for the table in features.c.
 *
 * Each function appends one payload to out and returns true. It returns false and appends nothing if the machine
 * description lacks the data. Allocation errors stay in the buffer. Layouts: see features_machine.c.
 */
#ifndef WEIR_FORMAT_FEATURES_INTERNAL_H
#define WEIR_FORMAT_FEATURES_INTERNAL_H

#include "format/features.h"

/* Appends a perf string: u32 byte count, a multiple of 64, then text, its zero and padding of zeros. */
void weir_feature_append_string(struct weir_buf *out, const char *text);

bool weir_feature_append_hostname(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_os_release(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_version(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_arch(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_cpu_counts(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_cpu_desc(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_cpuid(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_total_mem(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_cpu_topology(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_numa_topology(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_pmu_mappings(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_cpu_pmu_caps(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_hybrid_topology(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_pmu_caps(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_cache(struct weir_buf *out, const struct weir_features_input *input);
bool weir_feature_append_mem_topology(struct weir_buf *out, const struct weir_features_input *input);

/* Appends the end of a stream's features: CPU_DOMAIN_INFO of version 0, without a domain of any CPU online. */
void weir_feature_append_end(struct weir_buf *out, const struct weir_features_input *input);

#endif

/* Selects records by type, CPU, process, event and time. Pure but for the names that it compares; any thread. */
#ifndef WEIR_FORMAT_DUMP_FILTER_H
#define WEIR_FORMAT_DUMP_FILTER_H

#include <stdbool.h>

#include "base/cpuset.h"
#include "format/perf_input.h"
#include "format/record_schema.h"

struct weir_dump_filter {
    bool by_type;
    bool types[WEIR_RECORD_TYPES];
    struct weir_cpuset cpus;    /* borrowed words; empty: all */
    const int *pids;            /* borrowed; process ids */
    size_t pid_count;           /* 0: all */
    const char *const *events;  /* borrowed; names, or patterns as fnmatch(3) has them */
    size_t event_count;         /* 0: all */
    uint64_t first_ns, last_ns; /* 0 and UINT64_MAX: all */
};

/*
 * Returns whether a record meets every condition that is set. A record without the value that a condition asks for (its
 * CPU, its time ...) does not meet it. A record belongs to a process if its sample_id or its own pid field names it,
 * and to an event if its id does.
 */
bool weir_dump_filter_wants(const struct weir_dump_filter *filter, struct weir_perf_input *input,
                            const struct weir_record_view *record);

/* Returns whether events[name] is, or matches, an event that input has named so far. */
bool weir_dump_filter_knows(const struct weir_dump_filter *filter, size_t name, const struct weir_perf_input *input);

#endif

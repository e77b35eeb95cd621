/*
 * User stacks that the kernel has copied into samples (--call-graph dwarf), unwound with the mappings of a recording as
 * of each sample's time.
 *
 * One thread per weir_copied_stacks; several may share a survey, which does not change any more. Files of mappings are
 * opened through the survey's objects: only with the recorded build id, and behind the gate of the command. Memory: the
 * tables' limit, and 8 MiB.
 */
#ifndef WEIR_REPORT_COPIED_STACKS_H
#define WEIR_REPORT_COPIED_STACKS_H

#include "report/survey.h"
#include "unwind/unwound_sample.h"

#define WEIR_COPIED_STACKS_TABLES_BYTES (256u << 20) /* limit of the tables, of all threads together */

struct weir_cached_mapping;

struct weir_copied_stacks {
    const struct weir_survey *survey; /* borrowed */
    struct weir_unwinder unwinder;
    struct weir_cached_mapping *cache; /* owned */
    uint32_t process;                  /* of the present sample */
    uint64_t time;                     /* of the present sample */
    struct weir_unwound_counts counts;
};

/* survey: its machine is known. tables_bytes: limit of the tables. 0 or -ENOMEM. stacks must stay in place until
 * weir_copied_stacks_fini(), which may also follow a failure, or zeros. */
int weir_copied_stacks_init(struct weir_copied_stacks *stacks, const struct weir_survey *survey, size_t tables_bytes);
void weir_copied_stacks_fini(struct weir_copied_stacks *stacks);

/* Unwinds a sample of a process (number in the history; WEIR_PROCESS_NONE: it has mapped nothing) at a time of the
 * survey's clock. chain: without frames if the sample has no user registers of 64 bits. A file that is new blocks. */
void weir_copied_stacks_unwind(struct weir_copied_stacks *stacks, const struct weir_sample_layout *layout,
                               const struct weir_sample *sample, uint32_t process, uint64_t time,
                               struct weir_unwind_chain *chain);

#endif

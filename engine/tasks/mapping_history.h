/*
 * The history of mappings: which file was mapped where, in each process and at each time of the last half minute.
 *
 * The sideband thread puts records in as it takes them from the tees, before their order is proven (sideband.h). Each
 * record has its time. So an answer depends on the records alone, not on the order in which they came. Stage workers
 * ask while they unwind stacks (engine/drain/unwind_source.h).
 *
 * A process has two parts. Its log holds recent changes in the order of time. Its maps are the state before them,
 * shared with the children that it has forked (task_mappings.h). The newest change up to a time that covers an address
 * says what was mapped there:
 *
 *     MMAP, MMAP2   the mapping. A mapping of data, which the log has with -d only, leaves no code there
 *     exec          nothing: COMM with the exec bit covers all addresses
 *     FORK          as in the parent at the time of the fork; it covers all addresses, too
 *     none          as in the maps
 *
 * The kernel does not report munmap(2), so a mapping lasts until a newer one covers it, or exec. Synthesized records,
 * without a time, are older than all others.
 *
 * A change that is older than the newest record by the span moves from the log into the maps. Each map keeps the time
 * of its record. So an answer for an earlier time is right, or "not known". A process whose first thread has ended, and
 * of which nothing was heard or asked since, goes after the same span.
 *
 * Bounds:
 *   - the span is WEIR_MAPPING_HISTORY_SPAN_NS. Chunks reach the stage within seconds (rounds.h), or later while the
 *     output stands still: samples that have waited longer get mappings that have not changed since;
 *   - WEIR_MAPPING_LOG_MAX changes in a log: beyond that its older half moves into the maps;
 *   - WEIR_TASK_MAPS_BYTES_MAX of memory in all. Near that, the span is halved as often as needed, down to a second.
 *     A change without room makes its process unknown from that time to its next exec or fork; counted;
 *   - WEIR_MAPPING_FORKS_MAX forks without an exec between a process and the one that mapped the file, within the span.
 *
 *     (history-shard) A rwlock for each share of the processes, by pid. The one writer holds it for one change, a
 *         worker for the search in one process. No thread holds two of them. The writer reads without it.
 *
 * Readers of rings never come here.
 */
#ifndef WEIR_ENGINE_TASKS_MAPPING_HISTORY_H
#define WEIR_ENGINE_TASKS_MAPPING_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/tasks/task_mappings.h"
#include "format/side_record.h"
#include "unwind/unwinder.h"

#define WEIR_MAPPING_HISTORY_SPAN_NS 30000000000ull
#define WEIR_MAPPING_LOG_MAX         1024u
#define WEIR_MAPPING_FORKS_MAX       64u
#define WEIR_MAPPING_NO_FILE         UINT32_MAX

struct weir_mapping_history;

struct weir_mapping_history_counts {
    uint64_t changes; /* taken in */
    uint64_t refused; /* changes without room */
    uint64_t processes;
    uint64_t bytes; /* of memory */
};

/* 0 or -ENOMEM. Free it when no reader is left. */
int weir_mapping_history_new(struct weir_mapping_history **made);
void weir_mapping_history_free(struct weir_mapping_history *history); /* NULL-safe */

/*
 * Takes in a record: FORK, EXIT, COMM, and MMAP and MMAP2 of user space; ignores others. file: the number of the mapped
 * file, which find() returns as its key; WEIR_MAPPING_NO_FILE: memory without one. The writer; allocates.
 */
void weir_mapping_history_apply(struct weir_mapping_history *history, const struct weir_side_record *record,
                                uint32_t file);

/* Finds the mapping that covered an address of process pid at time_ns, as find() of struct weir_unwind_source; history
 * is its ctx. Any thread; waits for a change under way at most. */
bool weir_mapping_history_find(void *history, pid_t pid, uint64_t time_ns, uint64_t address,
                               struct weir_unwind_mapping *mapping);

/* The writer, or any thread when that has ended. */
struct weir_mapping_history_counts weir_mapping_history_count(const struct weir_mapping_history *history);

#endif

/*
 * What unwinding while recording needs of the sideband thread: the history of mappings, and mapped files that other
 * threads open. A worker with an address that the history does not have yet rings a bell. unwind_supply is the source
 * of engine/drain/unwind_source.h.
 *
 *     sideband thread                                      stage worker
 *     begin(): the number of looks asked for               asks for a look: a number
 *     takes all records from the tees (note())             rings: wakes the thread
 *     end(): the number is answered, workers are woken     waits until its number is answered
 *
 *     (supply-look) One lock guards the numbers. A reader fills its tee before it hands over a chunk. So a look that
 *         begins after a worker has asked takes all side records that were drained before the worker's chunk.
 *
 * A worker waits for WEIR_UNWIND_SUPPLY_TIMEOUT_MS at most. When a worker has waited in vain, no worker waits until the
 * thread has ended a look. The sideband thread looks at no tee while it writes the beginning of an output.
 *
 * The thread may miss the bell when another thread holds its lock. So a worker rings again while it waits, and the
 * thread asks is_asked() before it sleeps.
 */
#ifndef WEIR_ENGINE_TASKS_UNWIND_SUPPLY_H
#define WEIR_ENGINE_TASKS_UNWIND_SUPPLY_H

#include <stdbool.h>

#include "engine/drain/unwind_source.h"
#include "engine/tasks/file_opener.h"
#include "engine/tasks/mapped_files.h"
#include "engine/tasks/mapping_history.h"

#define WEIR_UNWIND_SUPPLY_TIMEOUT_MS 100u

struct weir_unwind_supply;

struct weir_unwind_supply_bell {
    void (*ring)(void *ctx); /* wakes the thread that looks, if that is possible without waiting. Any thread */
    void *ctx;               /* borrowed */
};

/* Makes the supply. 0 or -ENOMEM. Free it when the stage has ended, and the sideband thread. The
 * thread ends first, and has noted all by then. */
int weir_unwind_supply_new(struct weir_unwind_supply **made, const struct weir_file_opener_setup *opener);
void weir_unwind_supply_free(struct weir_unwind_supply *supply); /* NULL-safe; does not wait for hanging files */

/* Starts the threads that open files. Signals must be blocked. 0 or -errno of pthread_create(3). */
int weir_unwind_supply_start(struct weir_unwind_supply *supply);

/* As weir_file_opener_tids(). */
unsigned weir_unwind_supply_tids(const struct weir_unwind_supply *supply, pid_t tids[WEIR_FILE_OPENER_THREADS]);

/* The source, which lives as long as the supply. Its ctx is the supply. */
struct weir_unwind_source weir_unwind_supply_source(struct weir_unwind_supply *supply);

struct weir_unwind_supply_counts {
    struct weir_mapping_history_counts history;
    uint64_t looks, late; /* that workers asked for; those that did not come in time */
};

/* When stage and sideband thread have ended. */
struct weir_unwind_supply_counts weir_unwind_supply_count(const struct weir_unwind_supply *supply);

/* ---- sideband thread ---- */

/* Sets who is woken for a look. NULL: nobody any more; no call is under way then. */
void weir_unwind_supply_set_bell(struct weir_unwind_supply *supply, const struct weir_unwind_supply_bell *bell);

/* Begins a look at the tees; returns its number, for end(). */
uint64_t weir_unwind_supply_begin(struct weir_unwind_supply *supply);

/* Takes in a side record. index: of the file in files that an MMAP or MMAP2 record of code maps; negative: none. */
void weir_unwind_supply_note(struct weir_unwind_supply *supply, const struct weir_side_record *record,
                             const struct weir_mapped_files *files, int64_t index);

#define WEIR_UNWIND_SUPPLY_LAST_LOOK UINT64_MAX /* no more records come: nobody waits any more */

/* Ends a look: all records are noted. */
void weir_unwind_supply_end(struct weir_unwind_supply *supply, uint64_t look);

/* Whether a worker waits for another look. */
bool weir_unwind_supply_is_asked(struct weir_unwind_supply *supply);

/* Notes that a build id was read, and stands in files. Any thread that may read files. */
void weir_unwind_supply_note_id(struct weir_unwind_supply *supply, const struct weir_mapped_files *files,
                                uint32_t index);

#endif

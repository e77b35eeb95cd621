/*
 * Continues a recording (-A): opens the existing file, checks it, and says whether a new recording may follow in it.
 *
 * Nobody writes to the old file. weir_output_copy_in() puts the old data behind the head of a new file without a name.
 * The two files share blocks where the file system can do so; else the kernel copies the data. Two FINISHED_ROUND
 * records follow, so that consumers deliver all old records first; then comes the new data. Once all of the new file is
 * on disk, rename(2) puts it in the place of the old file. Until then the old file stays unchanged, however the
 * recording ends.
 *
 * With --sync the new file has a name while recording: the name of the old file and WEIR_APPEND_SUFFIX. Its checkpoints
 * survive a crash of the machine. After a crash it is an unfinished recording of the old data and of the new data up to
 * the last checkpoint.
 *
 * Rejected: writing behind the old features and changing the head in place. The new data has to begin where the old
 * features lie. So one write would have to cover the features with the header of a padding record, and another one to
 * change the head. Between the two writes the file is neither the old recording nor the new one.
 *
 * Coordinator. To check the records, weir reads the whole old file once.
 */
#ifndef WEIR_ENGINE_FILES_APPEND_H
#define WEIR_ENGINE_FILES_APPEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/event_desc.h"
#include "format/features.h"
#include "format/perf_input.h"
#include "io/output.h"

#define WEIR_APPEND_SUFFIX ".appending"

struct weir_append {
    struct weir_perf_input input; /* the old file; open until free() */
    int lock_fd;                  /* owned; the old file, locked by lock(); -1: not locked */
    struct weir_output_identity identity;
    uint64_t first_sample_ns, last_sample_ns; /* both 0: the old file has no sample */
    struct weir_buf build_id_payload;         /* owned; the BUILD_ID feature of the old file */
    struct weir_build_id_entry *build_ids;    /* owned; names borrowed from the payload, or as add_build_ids() says */
    size_t build_id_count;
};

/*
 * Opens and checks the file. Sets *out to NULL when the file is missing or empty. weir then begins a new recording. 0
 * or -errno with err: -ENOTSUP for a stream, a directory, compression, AUX data and an unfinished recording; -ENOMEM;
 * for a damaged file the errors of weir_perf_input_open() and weir_perf_input_next(). Blocks while it reads the file.
 */
int weir_append_open(struct weir_append **out, const char *path, struct weir_error *err);
/* Checks that the name with WEIR_APPEND_SUFFIX is free. 0, or -EEXIST with err: a file of an interrupted recording has
 * the name. */
int weir_append_check_name(const struct weir_append *append, struct weir_error *err);
/* Locks the old file, so that other recorders see that weir continues this file. Does nothing where the file system has
 * no locks. Call this once weir will not open and close the file again: the close would drop the lock. */
void weir_append_lock(struct weir_append *append);
void weir_append_free(struct weir_append *append); /* NULL is allowed */

/* Whether the old file has one event, whose records carry no ids. */
bool weir_append_is_without_ids(const struct weir_append *append);

/* Checks that the old file has the events of the new recording: the same number, order and attrs. Attr fields that
 * only say when an event starts or wakes a reader may differ. Checks also that the old file was recorded since the last
 * boot. 0; -EINVAL (other events) or -ESTALE (another boot) with err. */
int weir_append_check_events(const struct weir_append *append, const struct weir_event_desc *events, size_t count,
                             struct weir_error *err);

/*
 * Puts the ids of the old file before the ids of each of the `count` events. room: number of ids that fit into each of
 * the arrays ids[event] so far. Replaces each array by a larger one, which again has room for that many ids besides the
 * old file's. The caller owns the arrays before and after. 0 or -ENOMEM.
 */
int weir_append_add_ids(const struct weir_append *append, struct weir_event_desc *events, uint64_t **ids, size_t count,
                        size_t room);

/* The largest number of ids that an event of the old file has. */
size_t weir_append_id_room(const struct weir_append *append);

/* Adds those entries to build_ids that build_ids does not have yet. Borrows their names until free(). 0 or -ENOMEM. */
int weir_append_add_build_ids(struct weir_append *append, const struct weir_build_id_entry *entries, size_t count);

#endif

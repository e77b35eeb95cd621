/*
 * A recording that is continued (-A): what is in the file that is there, and whether it can go on.
 *
 * The file is not touched while it is continued. Its data is copied behind the head of a new file without a name
 * (weir_output_copy_in(): shared blocks where the file system can, else a copy inside the kernel); what is recorded
 * follows behind two rounds, so that readers deliver all of before first; and when all of it is on disk the new file
 * takes the place of the old one by rename(2). Whatever ends a recording before that, the old file is as it was.
 *
 * With --sync the new file has a name meanwhile, that of the old one and WEIR_APPEND_SUFFIX, and checkpoints that
 * outlive the machine: what was there and what has been recorded since, as one recording that was never finished.
 *
 * Rejected: writing behind the old features and changing the head in place. The features lie where the new data has to
 * begin, so they would have to be overwritten (with the header of a padding record) in one write and the head changed
 * in another: between the two the file is neither the old nor the new one.
 *
 * Coordinator; reads the whole file once, to be sure of its records.
 */
#ifndef WEIR_ENGINE_SESSION_APPEND_H
#define WEIR_ENGINE_SESSION_APPEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/event_desc.h"
#include "format/features.h"
#include "format/perf_input.h"
#include "io/output.h"

#define WEIR_APPEND_SUFFIX ".appending"

struct weir_append {
    struct weir_perf_input input; /* the file; open as long as this is */
    int lock_fd;                  /* owned; the file, locked by lock(); -1: it is not */
    struct weir_output_identity identity;
    uint64_t first_sample_ns, last_sample_ns; /* both 0: it has no sample */
    struct weir_buf build_id_payload;         /* of its BUILD_ID table */
    struct weir_build_id_entry *build_ids;    /* owned; names are borrowed from the payload, then from those added */
    size_t build_id_count;
};

/*
 * Opens and checks the file. *out is NULL when it is missing or empty: then there is nothing to continue. 0; or with
 * err: as weir_perf_input_open() and _next() for a damaged file; -ENOTSUP (a stream, a directory, compressed, with AUX
 * data, never finished); -ENOMEM. Blocks while it reads.
 */
int weir_append_open(struct weir_append **out, const char *path, struct weir_error *err);
/* Whether the new file can have a name: 0, or -EEXIST with err when there is one, of a recording that has not come to
 * its end. */
int weir_append_check_name(const struct weir_append *append, struct weir_error *err);
/* Lets other recorders see that the file is being continued, as far as its file system tells them. Once nothing of ours
 * opens and closes it any more: that would unlock it. */
void weir_append_lock(struct weir_append *append);
void weir_append_free(struct weir_append *append); /* NULL is allowed */

/* Whether it is of one event whose records have no ids. */
bool weir_append_is_without_ids(const struct weir_append *append);

/* Whether its events are the ones that are to be recorded now: as many, in that order, with the same attrs, but for
 * what does not change what is recorded (when the event is enabled and readers are woken); and whether the file is of
 * this boot. 0; -EINVAL or -ESTALE with err. */
int weir_append_check_events(const struct weir_append *append, const struct weir_event_desc *events, size_t count,
                             struct weir_error *err);

/* Puts the file's ids before those of the events, whose ids are then *ids, owned by the caller as before, with room for
 * so many more as there was for. room: for ids of each event, before. 0 or -ENOMEM. */
int weir_append_add_ids(const struct weir_append *append, struct weir_event_desc *events, uint64_t **ids, size_t count,
                        size_t room);

/* The most ids that one of its events has. */
size_t weir_append_id_room(const struct weir_append *append);

/* Adds what is new among the entries (names borrowed) to build_ids. 0 or -ENOMEM. */
int weir_append_add_build_ids(struct weir_append *append, const struct weir_build_id_entry *entries, size_t count);

#endif

/*
 * Rotation of the output: one item of the writer's queue, between two chunks.
 *
 * The writer appends the items behind the rotation to the next output at once. The chunks before it may still be on
 * their way to the old output. When the kernel has completed all of them, the writer hands the old output back and
 * notifies fd. Neither the readers nor the queue wait:
 *
 *     coordinator                                     writer
 *     next, item = FILLING; push ───────────────────► pop: records to output; left = output; output = next
 *     has_begun(), acquire        (rotation-begun)    begun, release; fd
 *                                                     ... reap both outputs ...
 *     is_done(): FREE, acquire    (rotation-done)     left has nothing pending: item = FREE, release; fd
 *     left, as of before the rotation
 *
 *     (rotation-begun) The coordinator that reads begun sees side_bytes.
 *     (rotation-done)  The coordinator that reads FREE sees all that the writer did to the old output.
 */
#ifndef WEIR_ENGINE_DRAIN_WRITER_ROTATION_H
#define WEIR_ENGINE_DRAIN_WRITER_ROTATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/train_list.h"
#include "io/output.h"

/* The writer's account of one output. */
struct weir_writer_account {
    uint64_t first_sample_ns, last_sample_ns; /* of all samples in the output; both 0: none */
    uint64_t rounds;                          /* markers in the output */
    uint64_t raw_bytes, compressed_bytes;     /* before and after compression */
    struct weir_train_list trains;            /* owned by the owner of the account */
    uint64_t train_completing; /* bytes of the train whose first chunks have completed, its last one not */
    uint64_t *failed_samples;  /* [CPU and event]: samples meant for this output that are not in it (`failed` of the
                                * writer sums all outputs). Owned by the writer; that of an old output holds until the
                                * next push */
};

/* One rotation. The writer owns it from its push until is_done(). */
struct weir_writer_rotation {
    struct weir_chunk item;    /* first: the queue carries it; data: records for the end of the old output */
    struct weir_output *next;  /* by the coordinator: its head is written; the writer owns it from the push on */
    const void *first_records; /* by the coordinator: stand first in next, before all items behind the rotation */
    size_t first_bytes;
    uint64_t *side_bytes; /* by the coordinator: borrowed, one for each reader; NULL: not wanted. By the writer: bytes
                           * of each reader's side tee that stand before the rotation */
    /* By the coordinator; NULL: none. The writer calls it before it appends the records, and the callback may shorten
     * them (set_records()). lost_reported: the sum of the LOST records in all items appended before. */
    void (*fit_records)(void *ctx, uint64_t lost_reported);
    void *fit_ctx;
    int fd;                   /* by the coordinator: borrowed eventfd, notified of both steps; -1: none */
    _Atomic bool begun;       /* by the writer */
    struct weir_output *left; /* by the writer: the old output, nothing pending; the coordinator's once done */
    struct weir_writer_account account; /* by the writer: of left */
    int records_result;                 /* by the writer: 0, or the -errno that kept the records out of left */
};

/* Initializes a rotation to next, without records, side_bytes and fd. The writer must not own it. Any thread. */
void weir_writer_rotation_init(struct weir_writer_rotation *rotation, struct weir_output *next);

/* Sets the last records of the old output: whole ones, bytes a multiple of 8, borrowed until the rotation is done; 0:
 * none. Before the push, or from fit_records(). */
void weir_writer_rotation_set_records(struct weir_writer_rotation *rotation, void *records, size_t bytes);

/* Sets the first records of the next output: whole ones, bytes a multiple of 8 and at most one record's, borrowed until
 * that output is closed; 0: none. Before the push. */
void weir_writer_rotation_set_first(struct weir_writer_rotation *rotation, const void *records, size_t bytes);

/* Pushes the rotation. One at a time: the previous rotation must be done. Coordinator. */
void weir_writer_rotation_push(struct weir_writer_rotation *rotation, struct weir_chunk_queue *queue);

/* Whether the writer has changed outputs: side_bytes is filled in. (rotation-begun) Any thread. */
bool weir_writer_rotation_has_begun(const struct weir_writer_rotation *rotation);

/* Whether the writer has handed back the old output. (rotation-done) Any thread. */
bool weir_writer_rotation_is_done(const struct weir_writer_rotation *rotation);

#endif

/*
 * The order to change outputs: an item of the writer's queue, between two chunks.
 *
 * What stands behind it in the queue goes to the next output at once, while what stood before it is still on its way to
 * the one that is left. That one is handed back, and fd told, when nothing of it is the kernel's any more. Neither the
 * readers nor the queue wait for it:
 *
 *     coordinator                                     writer
 *     next, item = FILLING; push ───────────────────► pop: records of the order to output; left = output; output = next
 *     has_begun(), acquire                 (S)        begun, release; fd
 *                                                     ... reap both ...
 *     is_done(): item FREE, acquire        (S)        nothing of left is pending: item = FREE, release; fd
 *     left, as of before the switch
 *
 *     (S) who sees the switch begun sees which side records stand before it; who sees the item free sees all that the
 *         writer did to the output that it has left.
 */
#ifndef WEIR_ENGINE_DRAIN_WRITER_SWITCH_H
#define WEIR_ENGINE_DRAIN_WRITER_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/drain/aux_index.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "io/output.h"

/* What the writer knows of one output. */
struct weir_writer_account {
    uint64_t first_sample_ns, last_sample_ns; /* of all samples in it; both 0: none */
    uint64_t rounds;                          /* markers in it */
    uint64_t raw_bytes, compressed_bytes;     /* what was compressed, and what it became */
    struct weir_aux_index aux_index;          /* owned by who has the account */
    uint64_t aux_completing;                  /* of one whose first chunks have completed, and not its last */
    uint64_t *failed_samples; /* that were for it and are not in it, by CPU and event, as `failed` of the writer has
                               * those of all outputs. The writer's memory; of an output that was left until the next
                               * push */
};

/* The order to change outputs. The writer's from its push until is_done(). */
struct weir_writer_switch {
    struct weir_chunk item;    /* first: this is what the queue carries; data: records for the end of the output left */
    struct weir_output *next;  /* by the coordinator: head written; in the writer's hands from the push on */
    const void *first_records; /* by the coordinator: with what next begins, before all that stands behind the order */
    size_t first_bytes;
    uint64_t *side_bytes; /* by the coordinator: borrowed, one for each reader; NULL: not wanted. By the writer: how
                           * much of what went into the reader's tee stands before the switch */
    /* By the coordinator; NULL: none. The writer calls it before it appends the records, which it may shorten
     * (set_records()); lost_reported: the sum of the LOST records in all that was appended before. */
    void (*fit_records)(void *ctx, uint64_t lost_reported);
    void *fit_ctx;
    int fd;                   /* by the coordinator: borrowed eventfd that is told of both steps; -1: none */
    _Atomic bool begun;       /* by the writer */
    struct weir_output *left; /* by the writer: the output before, nothing pending; the coordinator's once done */
    struct weir_writer_account account; /* by the writer: of left */
    int records_result;                 /* by the writer: 0, or why the records are not in left */
};

/* Readies an order for its push, without records, side_bytes and fd; it must not be with the writer. Any thread. */
void weir_writer_switch_init(struct weir_writer_switch *order, struct weir_output *next);

/* Records that are to stand last in the output that is left: whole ones, a multiple of 8 bytes, borrowed until done;
 * 0: none. Before the push. */
void weir_writer_switch_set_records(struct weir_writer_switch *order, void *records, size_t bytes);

/* Records that are to stand first in the next output: whole ones, a multiple of 8 bytes, at most a record's; borrowed
 * until that output is closed; 0: none. Before the push. */
void weir_writer_switch_set_first(struct weir_writer_switch *order, const void *records, size_t bytes);

/* Pushes the order. One at a time: the one before must be done. Coordinator. */
void weir_writer_switch_push(struct weir_writer_switch *order, struct weir_chunk_queue *queue);

/* Whether the writer has changed outputs: side_bytes is filled in. (S) Any thread. */
bool weir_writer_switch_has_begun(const struct weir_writer_switch *order);

/* Whether the writer has handed back what it left. (S) Any thread. */
bool weir_writer_switch_is_done(const struct weir_writer_switch *order);

#endif

/*
 * Side records that are kept back until their order is proven.
 *
 * Readers drain their CPUs at different times, so records come in any order within about two rounds. The queue notes
 * the newest time that it has seen, and the epoch at that moment. Once an epoch two higher is open, every older record
 * has come (tees-filled of sideband.h). The queue then passes on all records up to that time in the order of time.
 * Records of equal times keep the order in which they came.
 *
 * Bounded: above WEIR_SIDE_QUEUE_BYTES the queue passes on the older half without proof (counted). Above twice that
 * size it drops records (counted). One thread at a time.
 */
#ifndef WEIR_ENGINE_DRAIN_SIDE_QUEUE_H
#define WEIR_ENGINE_DRAIN_SIDE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define WEIR_SIDE_QUEUE_BYTES (8u << 20)

struct weir_side_origin { /* where a record came from */
    unsigned tee;
    uint64_t at; /* of its first byte, among all bytes of that tee */
};

struct weir_side_entry {
    uint64_t time_ns;
    struct weir_side_origin origin;
    uint32_t offset, bytes; /* in records */
};

struct weir_side_queue {
    struct weir_buf records;
    struct weir_side_entry *entries; /* owned */
    size_t count, room;
    uint64_t newest_ns;     /* of all records so far */
    bool has_horizon;       /* horizon_ns and horizon_epoch hold */
    uint64_t horizon_ns;    /* up to this time order is proven ... */
    uint64_t horizon_epoch; /* ... once this epoch is open */
    uint64_t unproven;      /* records passed on without proof */
    uint64_t lost;          /* records dropped */
};

typedef void (*weir_side_apply)(void *ctx, const uint8_t *record, size_t bytes);

void weir_side_queue_init(struct weir_side_queue *queue);
void weir_side_queue_fini(struct weir_side_queue *queue);

/* Keeps a copy of the record. */
void weir_side_queue_push(struct weir_side_queue *queue, const uint8_t *record, size_t bytes, uint64_t time_ns,
                          const struct weir_side_origin *origin);

/* Shows every record in the queue, in the order in which they came. A -errno of visit ends the visit and is returned;
 * else 0. */
int weir_side_queue_visit(const struct weir_side_queue *queue,
                          int (*visit)(void *ctx, const struct weir_side_origin *origin, const uint8_t *record,
                                       size_t bytes),
                          void *ctx);

/* Passes on the records whose order is proven. epoch: read before the pushed records were drained; epoch_after: read
 * after that. */
void weir_side_queue_advance(struct weir_side_queue *queue, uint64_t epoch, uint64_t epoch_after, weir_side_apply apply,
                             void *ctx);

/* Passes on everything: no more records come. */
void weir_side_queue_apply_all(struct weir_side_queue *queue, weir_side_apply apply, void *ctx);

#endif

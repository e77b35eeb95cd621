/*
 * A tee: carries a copy of the side records that one reader has drained to the thread that keeps the task map.
 *
 * A ring of bytes with one producer (the reader) and one consumer. The producer pushes blocks of whole records, whole
 * or not at all. The producer never waits, makes no system call and allocates nothing. It counts a block without room
 * as missed, and the consumer knows from then on that it has not seen every record. Only side records take this way,
 * and they have rings of their own: samples are never copied here.
 *
 *     producer                                    consumer
 *     store bytes                                 head, acquire              (tee-head)
 *     head += bytes, release    (tee-head)        load bytes
 *     tail, acquire             (tee-tail)        tail += bytes, release     (tee-tail)
 *
 *     (tee-head) The consumer that reads the head sees the bytes below it.
 *     (tee-tail) The consumer has read the bytes below the tail, so the producer may write their place. The producer
 *                reads the tail only when the room that it knew before does not suffice.
 *
 * Indexes run freely; the ring is a power of two. Each side writes its own cache line.
 */
#ifndef WEIR_ENGINE_DRAIN_SIDE_TEE_H
#define WEIR_ENGINE_DRAIN_SIDE_TEE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/buf.h"

struct weir_side_tee {
    uint8_t *data; /* owned; constant */
    size_t bytes;  /* constant; a power of two */

    /* Written by the producer. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t head;
    _Atomic uint64_t missed; /* blocks that found no room */
    uint64_t known_tail;     /* producer only */

    /* Written by the consumer. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t tail;
};

/* bytes: a power of two. 0 or -ENOMEM. The memory is touched when it is first used. */
int weir_side_tee_init(struct weir_side_tee *tee, size_t bytes);
void weir_side_tee_fini(struct weir_side_tee *tee);

/* Appends whole records. Producer. */
void weir_side_tee_push(struct weir_side_tee *tee, const void *records, size_t bytes);

/* Moves everything that is there to the end of out. Returns its bytes, or -ENOMEM, and then nothing was moved.
 * Consumer. */
int64_t weir_side_tee_drain(struct weir_side_tee *tee, struct weir_buf *out);

/* Bytes that found room so far. Producer. */
uint64_t weir_side_tee_pushed(const struct weir_side_tee *tee);

/* Bytes drained so far. Consumer. */
uint64_t weir_side_tee_drained(const struct weir_side_tee *tee);

/* Blocks that found no room so far. Any thread. */
uint64_t weir_side_tee_missed(const struct weir_side_tee *tee);

#endif

/*
 * Batches between the thread that reads and the threads that fold: full ones go there, empty ones come back.
 *
 * A lock and two conditions; the reader and the folders block. Once closed, folders get the rest and then NULL.
 */
#ifndef WEIR_REPORT_BATCH_QUEUE_H
#define WEIR_REPORT_BATCH_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_BATCH_BYTES (1u << 20)

struct weir_batch {
    struct weir_batch *next; /* in a list of the queue */
    size_t used;             /* bytes */
    uint8_t data[WEIR_BATCH_BYTES] __attribute__((aligned(8)));
};

struct weir_batch_queue {
    pthread_mutex_t lock; /* guards all fields */
    pthread_cond_t any_full, any_empty;
    struct weir_batch *full, **full_end; /* in order */
    struct weir_batch *empty;
    bool is_closed;
};

/* Makes a queue with `batches` empty ones, which it owns. 0 or -ENOMEM. Fini in any case, when no thread uses it. */
int weir_batch_queue_init(struct weir_batch_queue *queue, unsigned batches);
void weir_batch_queue_fini(struct weir_batch_queue *queue);

/* Takes an empty batch; waits for it. */
struct weir_batch *weir_batch_take_empty(struct weir_batch_queue *queue);

/* Hands over a batch that is full, or gives one back that is empty. */
void weir_batch_put_full(struct weir_batch_queue *queue, struct weir_batch *batch);
void weir_batch_put_empty(struct weir_batch_queue *queue, struct weir_batch *batch);

/* Takes a full batch; waits for it. NULL: the queue is closed, and no batch is left. */
struct weir_batch *weir_batch_take_full(struct weir_batch_queue *queue);

/* No more full batches will come. */
void weir_batch_queue_close(struct weir_batch_queue *queue);

#endif

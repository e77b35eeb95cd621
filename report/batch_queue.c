/* Two lists under one lock. */
#include "report/batch_queue.h"

#include <errno.h>
#include <stdlib.h>

int weir_batch_queue_init(struct weir_batch_queue *queue, unsigned batches)
{
    *queue = (struct weir_batch_queue){.full = NULL};
    queue->full_end = &queue->full;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->any_full, NULL);
    pthread_cond_init(&queue->any_empty, NULL);
    for (unsigned i = 0; i < batches; i++) {
        struct weir_batch *batch = malloc(sizeof(*batch));
        if (!batch)
            return -ENOMEM;
        batch->next = queue->empty;
        batch->used = 0;
        queue->empty = batch;
    }
    return 0;
}

static void free_list(struct weir_batch *batch)
{
    while (batch) {
        struct weir_batch *next = batch->next;
        free(batch);
        batch = next;
    }
}

void weir_batch_queue_fini(struct weir_batch_queue *queue)
{
    free_list(queue->full);
    free_list(queue->empty);
    pthread_cond_destroy(&queue->any_full);
    pthread_cond_destroy(&queue->any_empty);
    pthread_mutex_destroy(&queue->lock);
}

struct weir_batch *weir_batch_take_empty(struct weir_batch_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->empty)
        pthread_cond_wait(&queue->any_empty, &queue->lock);
    struct weir_batch *batch = queue->empty;
    queue->empty = batch->next;
    pthread_mutex_unlock(&queue->lock);
    batch->used = 0;
    return batch;
}

void weir_batch_put_empty(struct weir_batch_queue *queue, struct weir_batch *batch)
{
    pthread_mutex_lock(&queue->lock);
    batch->next = queue->empty;
    queue->empty = batch;
    pthread_cond_signal(&queue->any_empty);
    pthread_mutex_unlock(&queue->lock);
}

void weir_batch_put_full(struct weir_batch_queue *queue, struct weir_batch *batch)
{
    pthread_mutex_lock(&queue->lock);
    batch->next = NULL;
    *queue->full_end = batch;
    queue->full_end = &batch->next;
    pthread_cond_signal(&queue->any_full);
    pthread_mutex_unlock(&queue->lock);
}

struct weir_batch *weir_batch_take_full(struct weir_batch_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->full && !queue->is_closed)
        pthread_cond_wait(&queue->any_full, &queue->lock);
    struct weir_batch *batch = queue->full;
    if (batch)
        queue->full = batch->next;
    if (!queue->full)
        queue->full_end = &queue->full;
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

void weir_batch_queue_close(struct weir_batch_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    pthread_cond_broadcast(&queue->any_full);
    pthread_mutex_unlock(&queue->lock);
}

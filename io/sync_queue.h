/*
 * What the write queues have in common that do their writes on the calling thread: what was submitted and not done,
 * and what is done and not reaped. For io/ only. One thread at a time; nothing allocates after init.
 */
#ifndef WEIR_IO_SYNC_QUEUE_H
#define WEIR_IO_SYNC_QUEUE_H

#include <stdint.h>
#include <sys/types.h>

#include "io/io_ops.h"

struct weir_io_sync_queue {
    struct weir_io_queue_config config;
    struct weir_io_write *writes;     /* owned, depth entries: submitted, oldest first, not done */
    struct weir_io_completion *done;  /* owned, depth entries: done, not reaped */
    unsigned write_count, done_count; /* together at most depth */
    uint64_t enters;                  /* counted by the queue that it is part of */
};

/* 0 or -ENOMEM; then there is nothing to release. */
int weir_io_sync_queue_init(struct weir_io_sync_queue *queue, const struct weir_io_queue_config *config);

void weir_io_sync_queue_fini(struct weir_io_sync_queue *queue);

/* As weir_io_queue_ops.submit. */
int weir_io_sync_queue_submit(struct weir_io_sync_queue *queue, const struct weir_io_write *write);

/* One of the writes is done: bytes written, or -errno. The caller takes it out of writes. */
void weir_io_sync_queue_complete(struct weir_io_sync_queue *queue, const struct weir_io_write *write, int64_t result);

/* Hands out the oldest completions, at most max; returns their number. */
int weir_io_sync_queue_take(struct weir_io_sync_queue *queue, struct weir_io_completion *done, unsigned max);

#endif

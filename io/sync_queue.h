/*
 * The common part of the queues that write on the calling thread (pwritev_queue.c, stream_queue.c): submitted writes
 * that are not done, and completions that are not reaped. For io/ only. One thread at a time; nothing allocates after
 * init.
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
    uint64_t enters;                  /* counted by the queue that has this one as a part */
};

/* 0 or -ENOMEM; then there is nothing to release. */
int weir_io_sync_queue_init(struct weir_io_sync_queue *queue, const struct weir_io_queue_config *config);

void weir_io_sync_queue_fini(struct weir_io_sync_queue *queue);

/* As weir_io_queue_ops.submit. */
int weir_io_sync_queue_submit(struct weir_io_sync_queue *queue, const struct weir_io_write *write);

/* Notes that a write is done. result: bytes written, or -errno. The caller takes the write out of writes. */
void weir_io_sync_queue_complete(struct weir_io_sync_queue *queue, const struct weir_io_write *write, int64_t result);

/* Hands out the oldest completions, at most max; returns their number. */
int weir_io_sync_queue_take(struct weir_io_sync_queue *queue, struct weir_io_completion *done, unsigned max);

#endif

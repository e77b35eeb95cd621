/* Submitted writes and completions of the queues that write on the calling thread; see sync_queue.h. */
#include "io/sync_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

int weir_io_sync_queue_init(struct weir_io_sync_queue *queue, const struct weir_io_queue_config *config)
{
    weir_assert(config->depth >= 1 && config->depth <= WEIR_IO_DEPTH_MAX);
    *queue = (struct weir_io_sync_queue){
        .config = *config,
        .writes = calloc(config->depth, sizeof(*queue->writes)),
        .done = calloc(config->depth, sizeof(*queue->done)),
    };
    if (queue->writes && queue->done)
        return 0;
    weir_io_sync_queue_fini(queue);
    return -ENOMEM;
}

void weir_io_sync_queue_fini(struct weir_io_sync_queue *queue)
{
    free(queue->writes);
    free(queue->done);
}

int weir_io_sync_queue_submit(struct weir_io_sync_queue *queue, const struct weir_io_write *write)
{
    if (queue->write_count + queue->done_count == queue->config.depth)
        return -EBUSY;
    queue->writes[queue->write_count++] = *write;
    return 0;
}

void weir_io_sync_queue_complete(struct weir_io_sync_queue *queue, const struct weir_io_write *write, int64_t result)
{
    queue->done[queue->done_count++] = (struct weir_io_completion){.tag = write->tag, .result = result};
}

int weir_io_sync_queue_take(struct weir_io_sync_queue *queue, struct weir_io_completion *done, unsigned max)
{
    unsigned count = queue->done_count < max ? queue->done_count : max;
    memcpy(done, queue->done, count * sizeof(*done));
    queue->done_count -= count;
    memmove(queue->done, queue->done + count, queue->done_count * sizeof(*done));
    return (int)count;
}

/* Rotation of the output, as its callers see it. The writer carries it out: writer.c. */
#include "engine/drain/writer_rotation.h"

#include <string.h>

void weir_writer_rotation_init(struct weir_writer_rotation *rotation, struct weir_output *next)
{
    memset(rotation, 0, sizeof(*rotation));
    rotation->item.kind = WEIR_CHUNK_ROTATION;
    rotation->item.awaited = true;
    rotation->item.buffer_index = -1;
    rotation->next = next;
    rotation->fd = -1;
}

void weir_writer_rotation_set_records(struct weir_writer_rotation *rotation, void *records, size_t bytes)
{
    rotation->item.data = records;
    rotation->item.used = (uint32_t)bytes;
}

void weir_writer_rotation_set_first(struct weir_writer_rotation *rotation, const void *records, size_t bytes)
{
    rotation->first_records = records;
    rotation->first_bytes = bytes;
}

void weir_writer_rotation_push(struct weir_writer_rotation *rotation, struct weir_chunk_queue *queue)
{
    weir_chunk_advance(&rotation->item, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
    weir_chunk_queue_push(queue, &rotation->item);
}

bool weir_writer_rotation_has_begun(const struct weir_writer_rotation *rotation)
{
    return atomic_load_explicit(&rotation->begun, memory_order_acquire); /* (rotation-begun) */
}

bool weir_writer_rotation_is_done(const struct weir_writer_rotation *rotation)
{
    return atomic_load_explicit(&rotation->item.state, memory_order_acquire) == WEIR_CHUNK_FREE; /* (rotation-done) */
}

/* The order to change outputs, as those see it that give it. What the writer makes of it: writer.c. */
#include "engine/drain/writer_switch.h"

#include <string.h>

void weir_writer_switch_init(struct weir_writer_switch *order, struct weir_output *next)
{
    memset(order, 0, sizeof(*order));
    order->item.kind = WEIR_CHUNK_SWITCH;
    order->item.awaited = true;
    order->item.buffer_index = -1;
    order->next = next;
    order->fd = -1;
}

void weir_writer_switch_set_records(struct weir_writer_switch *order, void *records, size_t bytes)
{
    order->item.data = records;
    order->item.used = (uint32_t)bytes;
}

void weir_writer_switch_set_first(struct weir_writer_switch *order, const void *records, size_t bytes)
{
    order->first_records = records;
    order->first_bytes = bytes;
}

void weir_writer_switch_push(struct weir_writer_switch *order, struct weir_chunk_queue *queue)
{
    weir_chunk_advance(&order->item, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
    weir_chunk_queue_push(queue, &order->item);
}

bool weir_writer_switch_has_begun(const struct weir_writer_switch *order)
{
    return atomic_load_explicit(&order->begun, memory_order_acquire); /* (S) */
}

bool weir_writer_switch_is_done(const struct weir_writer_switch *order)
{
    return atomic_load_explicit(&order->item.state, memory_order_acquire) == WEIR_CHUNK_FREE; /* (S) */
}

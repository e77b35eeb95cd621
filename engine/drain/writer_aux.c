/* AUX data on its way to the file: trains of chunks. Writer thread. See writer.h and chunk.h. */
#include "engine/drain/writer_internal.h"

void weir_writer_append_aux(struct weir_writer *writer, struct weir_chunk *chunk, bool pressed)
{
    if (!chunk->follows)
        weir_output_begin_whole(writer->output);
    if (!chunk->follower)
        weir_output_end_whole(writer->output);
    writer->train = chunk->follower;
    writer->awaited += chunk->awaited;
    writer->output_bytes += chunk->used;
    uint64_t offset = weir_output_append(writer->output, chunk->data, chunk->used, chunk->buffer_index, pressed, chunk);
    if (!chunk->follows && offset != UINT64_MAX && !weir_output_is_stream(writer->output))
        weir_aux_index_add(&writer->account.aux_index, offset);
}

/* The last chunk tells what became of the record: when one fails, all behind it do. */
void weir_writer_account_aux(struct weir_writer *writer, struct weir_writer_account *account,
                             const struct weir_chunk *chunk, int result)
{
    account->aux_completing += chunk->used;
    if (chunk->follower)
        return;
    *(result < 0 ? &writer->failed_aux_bytes : &writer->aux_bytes) += account->aux_completing;
    account->aux_completing = 0;
}

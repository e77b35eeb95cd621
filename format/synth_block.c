/* Collects synthesized records into blocks for emit(). Each block belongs to one thread. */
#include <limits.h>

#include "base/assert.h"
#include "format/synth_internal.h"

#define RECORD_ROOM       8192u /* more than any record here: 72 bytes, a name of PATH_MAX, a trailer */
#define TRAILER_MAX_BYTES 64u

_Static_assert(RECORD_ROOM > 72 + PATH_MAX + TRAILER_MAX_BYTES, "a record fits behind weir_synth_block_reserve()");

int weir_synth_block_init(struct weir_synth_block *block, const struct weir_synth_options *options)
{
    weir_assert(options->sample_id_bytes <= TRAILER_MAX_BYTES);
    *block = (struct weir_synth_block){.options = options, .records = WEIR_BUF_INIT};
    weir_buf_extend(&block->records, WEIR_SYNTH_BLOCK_BYTES);
    int result = weir_buf_error(&block->records);
    weir_buf_reset(&block->records);
    return result;
}

void weir_synth_block_fini(struct weir_synth_block *block)
{
    weir_buf_fini(&block->records);
}

int weir_synth_block_flush(struct weir_synth_block *block)
{
    weir_assert(weir_buf_error(&block->records) == 0 && block->records.used <= WEIR_SYNTH_BLOCK_BYTES);
    int result = 0;
    if (block->records.used)
        result = block->options->emit(block->options->emit_ctx, block->records.data, block->records.used);
    weir_buf_reset(&block->records);
    return result;
}

int weir_synth_block_reserve(struct weir_synth_block *block)
{
    return block->records.used + RECORD_ROOM <= WEIR_SYNTH_BLOCK_BYTES ? 0 : weir_synth_block_flush(block);
}

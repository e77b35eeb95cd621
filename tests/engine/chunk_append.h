/* Appending to a chunk whose data has room. */
#ifndef WEIR_TESTS_ENGINE_CHUNK_APPEND_H
#define WEIR_TESTS_ENGINE_CHUNK_APPEND_H

#include <stdint.h>
#include <string.h>

#include "engine/drain/chunk.h"

static inline void chunk_append(struct weir_chunk *chunk, const void *data, size_t bytes)
{
    memcpy(chunk->data + chunk->used, data, bytes);
    chunk->used += (uint32_t)bytes;
}

static inline void chunk_append_word(struct weir_chunk *chunk, uint64_t word)
{
    chunk_append(chunk, &word, sizeof(word));
}

#endif

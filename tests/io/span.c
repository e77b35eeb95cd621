/* Numbered spans and the padding between them. Layout: span.h. */
#include "tests/io/span.h"

#include <string.h>

#include "base/assert.h"
#include "io/output.h"

#define WORD_BYTES      sizeof(uint64_t)
#define SPAN_MARK       (1ull << 63)
#define NUMBER_SHIFT    20
#define PADDING_MARK    0x0061646469000000ull /* the low bits hold the record's length */
#define PADDING_LENGTH  0xffffull
#define PADDING_CONTENT 0x20

static uint64_t word_of(uint64_t number, uint64_t index)
{
    return SPAN_MARK | number << NUMBER_SHIFT | index;
}

void span_fill(void *data, uint64_t number, size_t bytes)
{
    weir_assert(bytes % WORD_BYTES == 0 && bytes <= SPAN_BYTES_MAX);
    for (size_t i = 0; i < bytes / WORD_BYTES; i++) {
        uint64_t word = word_of(number, i);
        memcpy((uint8_t *)data + i * WORD_BYTES, &word, WORD_BYTES);
    }
}

void span_fill_padding(void *data, size_t bytes)
{
    weir_assert(bytes >= SPAN_PADDING_LEAST && bytes < WEIR_OUTPUT_ALIGN_BYTES + SPAN_PADDING_LEAST &&
                bytes % WORD_BYTES == 0);
    uint64_t first = PADDING_MARK | bytes;
    memset(data, PADDING_CONTENT, bytes);
    memcpy(data, &first, WORD_BYTES);
}

static uint64_t load(const uint8_t *data)
{
    uint64_t word;
    memcpy(&word, data, WORD_BYTES);
    return word;
}

void span_walk_padding(struct span_walk *walk)
{
    while (walk->at + WORD_BYTES <= walk->end) {
        uint64_t first = load(walk->data + walk->at);
        uint64_t bytes = first & PADDING_LENGTH;
        if ((first & ~PADDING_LENGTH) != PADDING_MARK || bytes < SPAN_PADDING_LEAST || walk->at + bytes > walk->end)
            return;
        walk->at += bytes;
        walk->padding_bytes += bytes;
    }
}

bool span_walk_next(struct span_walk *walk, uint64_t number, size_t bytes)
{
    span_walk_padding(walk);
    if (walk->at + bytes > walk->end)
        return false;
    for (size_t i = 0; i < bytes / WORD_BYTES; i++, walk->at += WORD_BYTES) {
        if (load(walk->data + walk->at) != word_of(number, i))
            return false;
    }
    return true;
}

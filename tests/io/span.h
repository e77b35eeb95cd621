/*
 * Spans that a test can tell apart in a file, and padding that it can tell from spans. Plain functions, any thread.
 *
 * Word j of span n is 1 << 63 | n << 20 | j, so that no span holds zeros, padding, or a piece of another span.
 */
#ifndef WEIR_TESTS_IO_SPAN_H
#define WEIR_TESTS_IO_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPAN_BYTES_MAX (8u << 20) /* a word's number has 20 bits */

/* bytes: a multiple of 8, at most SPAN_BYTES_MAX. */
void span_fill(void *data, uint64_t number, size_t bytes);

#define SPAN_PADDING_LEAST 256u /* much, so that it often matters */

/* For weir_output_options.fill_padding: a record of its own length. Aborts on a length that is not to be asked for. */
void span_fill_padding(void *data, size_t bytes);

struct span_walk {
    const uint8_t *data;
    uint64_t end;           /* bytes of data that count */
    uint64_t at;            /* of them walked over */
    uint64_t padding_bytes; /* of those, padding */
};

/* Steps over padding records, each of the least size or more, and then over the span, which must be there whole. False,
 * with `at` where it broke off, when anything else is met. */
bool span_walk_next(struct span_walk *walk, uint64_t number, size_t bytes);

/* Steps over padding records. */
void span_walk_padding(struct span_walk *walk);

#endif

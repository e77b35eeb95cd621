/*
 * A stream of random spans through an output, and the proof that the file holds them: every span as it was when it was
 * appended, in order, whole, with nothing but padding between.
 *
 * The memory of a span is overwritten as soon as its completion is reaped. Failures are Criterion assertions that name
 * the seed. One thread.
 */
#ifndef WEIR_TESTS_IO_STREAM_H
#define WEIR_TESTS_IO_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "io/output.h"
#include "tests/io/fake_io.h"

#define STREAM_HEAD_BYTES  8192u
#define STREAM_CHUNK_BYTES (192u * 1024) /* of the large slots */

struct stream_slot { /* memory that one span at a time lies in */
    uint8_t *data;
    size_t bytes;
    int buffer_index;
    bool busy;
};

struct stream_span {
    uint32_t bytes;
    struct stream_slot *slot;
};

struct stream_cursor { /* how far the file was compared */
    uint64_t offset;   /* in the file */
    size_t span;       /* next to be found */
    uint64_t padding;  /* bytes so far */
};

struct stream {
    uint64_t seed;
    struct fake_io *dice;       /* owned: nothing but its numbers are used */
    struct weir_output *output; /* owned */
    struct fake_io *disk;       /* borrowed; NULL: real files */
    uint8_t *memory;            /* owned */
    uint8_t *loose_memory;      /* owned; in no buffer */
    struct iovec buffer;
    struct stream_slot *slots; /* owned */
    struct stream_span *spans; /* owned */
    size_t span_count;         /* in all */
    size_t appended, done, done_well;
    int first_error; /* result of the first span that failed */
    uint64_t stable;
    struct stream_cursor cursor;
    unsigned pressed_percent;
};

/* Padding as fill_padding of struct weir_output_options. */
void stream_fill_padding(void *data, size_t bytes);

/* Fills bytes (a multiple of 8) with the contents of span `number`. */
void stream_fill(void *data, size_t bytes, uint64_t number);

/* Moves the cursor over file bytes [cursor, end). False: something other than the next span or padding is there, or
 * end cuts one. */
bool stream_compare(struct stream_cursor *cursor, const uint8_t *file, uint64_t end, const struct stream_span *spans,
                    size_t span_count);

/* Opens the output (buffers, fill_padding and io are set here), and writes its head. disk: NULL for a real file. */
void stream_init(struct stream *stream, uint64_t seed, size_t span_count, const char *path, struct fake_io *disk,
                 struct weir_output_options options);

/* Appends all spans and reaps them all. */
void stream_run(struct stream *stream);

/* Compares the file at path with what was appended: head, all spans, then tail, then nothing. */
void stream_check_file(struct stream *stream, const char *path, const void *tail, size_t tail_bytes);

/* Closes the output. */
void stream_fini(struct stream *stream);

#endif

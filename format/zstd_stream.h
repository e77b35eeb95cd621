/*
 * The one zstd stream that the COMPRESSED records of a file are pieces of (ZSTD_decompressStream(), zstd.h 1.5).
 *
 * Memory is bounded by the window that a frame may ask for, 128 MiB (ZSTD_WINDOWLOG_LIMIT_DEFAULT), and the caller's
 * own output buffer: what comes out is taken in pieces, however much a piece of input expands to. One thread.
 */
#ifndef WEIR_FORMAT_ZSTD_STREAM_H
#define WEIR_FORMAT_ZSTD_STREAM_H

#include <stddef.h>
#include <stdint.h>

struct weir_zstd_stream;

/* NULL without memory. Allocates. */
struct weir_zstd_stream *weir_zstd_stream_new(void);
void weir_zstd_stream_free(struct weir_zstd_stream *stream); /* NULL is allowed */

/* Gives the stream its next input, borrowed until all of its output was taken. */
void weir_zstd_stream_feed(struct weir_zstd_stream *stream, const uint8_t *data, size_t bytes);

/*
 * Writes up to bytes of output to data and their count to *written; 0 of them: the input is used up.
 * 0, or -EBADMSG when the input is no zstd stream or wants too large a window; *reason then says why (static text).
 */
int weir_zstd_stream_take(struct weir_zstd_stream *stream, uint8_t *data, size_t bytes, size_t *written,
                          const char **reason);

#endif

/*
 * Decompresses the zstd stream whose pieces are the COMPRESSED records of a file (ZSTD_decompressStream(), zstd.h 1.5).
 *
 * Two things bound memory: the window that a frame may ask for, 128 MiB (ZSTD_WINDOWLOG_LIMIT_DEFAULT), and the
 * caller's output buffer. Output is taken in pieces, however far the input expands. One thread.
 */
#ifndef WEIR_FORMAT_ZSTD_STREAM_H
#define WEIR_FORMAT_ZSTD_STREAM_H

#include <stddef.h>
#include <stdint.h>

struct weir_zstd_stream;

/* Makes a stream. NULL: no memory. Allocates. */
struct weir_zstd_stream *weir_zstd_stream_new(void);
void weir_zstd_stream_free(struct weir_zstd_stream *stream); /* NULL is allowed */

/* Gives the stream its next input, borrowed until all of its output is taken. */
void weir_zstd_stream_feed(struct weir_zstd_stream *stream, const uint8_t *data, size_t bytes);

/*
 * Writes up to `bytes` bytes of output to data, and their count to *written; 0 bytes: the input is used up. 0, or
 * -EBADMSG: the input is not a zstd stream or wants too large a window; *reason is then a static text.
 */
int weir_zstd_stream_take(struct weir_zstd_stream *stream, uint8_t *data, size_t bytes, size_t *written,
                          const char **reason);

#endif

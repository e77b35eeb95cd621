/*
 * Reads the records of one stretch of bytes: of a file's data section, or of a pipe behind its header. A COMPRESSED
 * record is returned, too, and then the records in it.
 *
 * Nothing here trusts a byte. A record is returned only when all its bytes are there and its size is at least its
 * header's, and decompression stays below a limit. Memory: 1 MiB window, 256 KiB of decompressed bytes, zstd's window
 * (at most 128 MiB, format/zstd_stream.h). One thread. Source: tools/perf/util/session.c of Linux 6.12,
 * reader__read_event() and perf_session__process_compressed_event().
 */
#ifndef WEIR_FORMAT_RECORD_STREAM_H
#define WEIR_FORMAT_RECORD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/byte_source.h"
#include "format/zstd_stream.h"

/* Limit of the bytes that one COMPRESSED record may expand to, if the file does not name a lower one. */
#define WEIR_RECORD_STREAM_EXPANDED_MAX (1ull << 30)

struct weir_record_view {
    const uint8_t *data;    /* borrowed until the next call; any alignment */
    uint32_t type;          /* of its perf_event_header, as misc and bytes */
    uint16_t misc, bytes;   /* bytes >= 8 */
    uint64_t offset;        /* offset in its file or stream; if expanded, of the COMPRESSED record */
    bool is_expanded;       /* the record comes from a COMPRESSED record */
    uint64_t payload_bytes; /* bytes behind the record (AUXTRACE, TRACING_DATA); 0: none */
    const char *path;       /* of the record's file; borrowed from the source */
};

/* Turns a whole record of the other byte order, of `bytes` bytes, into this machine's, in place. */
struct weir_record_turner {
    void (*turn)(void *ctx, uint8_t *record, size_t bytes); /* NULL: the records have this machine's order */
    void *ctx;                                              /* borrowed */
};

struct weir_record_stream {
    const struct weir_byte_source *source; /* borrowed */
    struct weir_record_turner turner;      /* set behind weir_record_stream_init(), before the first record */
    uint64_t offset;                       /* of the next record */
    uint64_t end;                          /* of the stretch; UINT64_MAX for a pipe */
    uint64_t expanded_max;                 /* bytes that one COMPRESSED record may expand to */
    uint64_t payload_bytes;                /* payload of the last record, not skipped yet */

    uint8_t *window; /* owned */
    size_t window_start, window_used;
    size_t ahead_bytes; /* bytes of the next read */

    struct weir_zstd_stream *zstd; /* owned; NULL until the first COMPRESSED record */
    uint8_t *expanded;             /* owned; likewise */
    size_t expanded_start, expanded_used;
    uint64_t expanded_offset; /* of the COMPRESSED record */
    uint64_t expanded_bytes;  /* expanded from that record so far */
    bool is_expanding;
};

/*
 * Prepares to read the bytes of source from offset up to end. For a stream, end is UINT64_MAX (up to its end), and
 * offset counts the bytes that are already read. source is borrowed until the last use of the stream. 0 or -ENOMEM.
 * Allocates 1 MiB.
 */
int weir_record_stream_init(struct weir_record_stream *stream, const struct weir_byte_source *source, uint64_t offset,
                            uint64_t end);
void weir_record_stream_fini(struct weir_record_stream *stream); /* NULL and zeroed ones are allowed */

/* Returns the number of bytes behind the last returned record and its payload, up to the end of the stretch. In a file,
 * counts no byte beyond the file's end. */
uint64_t weir_record_stream_room(const struct weir_record_stream *stream);

/*
 * Reads the next record. 1: *record is set; 0: the end, behind a whole record; or with err, which names file and
 * offset: -EBADMSG (damaged, or cut inside a record), -ENOMEM, -errno of read(2). After an error the stream cannot be
 * used.
 */
int weir_record_stream_next(struct weir_record_stream *stream, struct weir_record_view *record, struct weir_error *err);

/*
 * Appends the payload behind the last returned record to out, at most max_bytes (-EFBIG with err for more). Without
 * this call, the next weir_record_stream_next() skips the payload.
 */
int weir_record_stream_payload(struct weir_record_stream *stream, uint64_t max_bytes, struct weir_buf *out,
                               struct weir_error *err);

#endif

/*
 * The records of one stretch of bytes, one after the other: of a file's data section, or of a pipe's stream behind its
 * header. COMPRESSED records are returned too, and behind each the records that were in it.
 *
 * Never trusts a byte: a record is returned only when all its bytes are there, its size is at least its header's, and
 * what is decompressed stays below a limit. Memory: 1 MiB window, 256 KiB of decompressed bytes, zstd's window (at most
 * 128 MiB, format/zstd_stream.h). One thread. Source: tools/perf/util/session.c of Linux 6.12, reader__read_event()
 * and perf_session__process_compressed_event().
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

/* What one COMPRESSED record may expand to when the file does not say less: what 64 KiB of input can be of use for. */
#define WEIR_RECORD_STREAM_EXPANDED_MAX (1ull << 30)

struct weir_record_view {
    const uint8_t *data;    /* borrowed until the next call; any alignment */
    uint32_t type;          /* of its perf_event_header, here and below */
    uint16_t misc, bytes;   /* bytes >= 8 */
    uint64_t offset;        /* of the record in its file or stream; of the COMPRESSED record that it came out of */
    bool is_expanded;       /* it came out of a COMPRESSED record */
    uint64_t payload_bytes; /* behind the record (AUXTRACE, TRACING_DATA); 0: none */
    const char *path;       /* of the file that it is in; borrowed from the source */
};

struct weir_record_stream {
    const struct weir_byte_source *source; /* borrowed */
    uint64_t offset;                       /* of the next record */
    uint64_t end;                          /* of the stretch; UINT64_MAX for a pipe */
    uint64_t expanded_max;                 /* bytes that one COMPRESSED record may expand to */
    uint64_t payload_bytes;                /* behind the last record, not passed over yet */

    uint8_t *window; /* owned */
    size_t window_start, window_used;
    size_t ahead_bytes; /* to be read at once */

    struct weir_zstd_stream *zstd; /* owned; NULL until something is compressed */
    uint8_t *expanded;             /* owned; likewise */
    size_t expanded_start, expanded_used;
    uint64_t expanded_offset; /* of the COMPRESSED record */
    uint64_t expanded_bytes;  /* that it has given so far */
    bool is_expanding;
};

/*
 * Reads from source, borrowed as long as the stream is used, the bytes from offset up to end (UINT64_MAX: up to its
 * own end, for a stream; offset is then what was already read of it). 0 or -ENOMEM. Allocates 1 MiB.
 */
int weir_record_stream_init(struct weir_record_stream *stream, const struct weir_byte_source *source, uint64_t offset,
                            uint64_t end);
void weir_record_stream_fini(struct weir_record_stream *stream); /* NULL and zeroed ones are allowed */

/* Bytes behind the last record that was returned, its payload among them: up to the end, and in a file no further than
 * that has any. */
uint64_t weir_record_stream_room(const struct weir_record_stream *stream);

/*
 * The next record. 1: *record is one; 0: the end, at a record's end; or with err, which names file and offset:
 * -EBADMSG (damaged, or cut inside a record), -ENOMEM, -errno of read(2). After an error the stream is of no use.
 */
int weir_record_stream_next(struct weir_record_stream *stream, struct weir_record_view *record, struct weir_error *err);

/*
 * Appends the payload behind the record that was returned last to out, at most max_bytes (else -EFBIG with err).
 * Otherwise the next call passes over it.
 */
int weir_record_stream_payload(struct weir_record_stream *stream, uint64_t max_bytes, struct weir_buf *out,
                               struct weir_error *err);

#endif

/*
 * A window slides over the bytes, and records are returned in place. A COMPRESSED record is decompressed piece by piece
 * into a second buffer, and its records are returned from there before the window moves on. One thread.
 *
 * All pieces belong to one zstd stream, and a record may begin in one piece and end in the next. So the rest of a piece
 * stays in the second buffer until the next COMPRESSED record is fed. (perf never splits records when it writes, but
 * keeps the rest when it reads.)
 */
#include "format/record_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"

#define HEADER_BYTES        sizeof(struct perf_event_header)
#define WINDOW_BYTES        (1u << 20)
#define JUMPED_BYTES        (64u << 10) /* that are read first behind a payload that was passed over */
#define EXPANDED_BYTES      (256u << 10)
#define PAYLOAD_SIZE_OFFSET 8 /* of AUXTRACE (u64) and TRACING_DATA (u32) */
#define PAYLOAD_ALIGN       8u
#define COMPRESSED2_HEADER  16 /* its data is preceded by its u64 size, because the record is padded */
#define AUXTRACE_BYTES      48
#define TRACING_DATA_BYTES  12

int weir_record_stream_init(struct weir_record_stream *stream, const struct weir_byte_source *source, uint64_t offset,
                            uint64_t end)
{
    uint8_t *window = malloc(WINDOW_BYTES);
    if (!window)
        return -ENOMEM;
    *stream = (struct weir_record_stream){
        .source = source,
        .offset = offset,
        .end = end,
        .expanded_max = WEIR_RECORD_STREAM_EXPANDED_MAX,
        .window = window,
        .ahead_bytes = WINDOW_BYTES,
    };
    return 0;
}

void weir_record_stream_fini(struct weir_record_stream *stream)
{
    if (!stream)
        return;
    free(stream->window);
    free(stream->expanded);
    weir_zstd_stream_free(stream->zstd);
    *stream = (struct weir_record_stream){0};
}

static int fail(const struct weir_record_stream *stream, struct weir_error *err, int code, const char *what)
{
    return weir_error_set(err, code, "%s: record at %#" PRIx64 ": %s", stream->source->path, stream->offset, what);
}

/* ---- the window ---- */

static size_t window_bytes(const struct weir_record_stream *stream)
{
    return stream->window_used - stream->window_start;
}

/* Has the window hold `bytes` from stream->offset on, or all up to the end. 0 or -errno. */
static int fill_window(struct weir_record_stream *stream, size_t bytes)
{
    size_t held = window_bytes(stream);
    if (held >= bytes)
        return 0;
    memmove(stream->window, stream->window + stream->window_start, held);
    stream->window_start = 0;
    stream->window_used = held;

    uint64_t next = stream->offset + held;
    size_t room = (size_t)weir_min_u64(WINDOW_BYTES - held, stream->end > next ? stream->end - next : 0);
    if (!stream->source->is_file)
        room = weir_min_u64(room, bytes - held); /* never wait for more than the next record */
    room = weir_min_u64(room, weir_max_u64(bytes - held, stream->ahead_bytes));
    stream->ahead_bytes = weir_min_u64(2 * stream->ahead_bytes, WINDOW_BYTES);
    ssize_t count = weir_byte_source_read(stream->source, next, stream->window + held, room);
    if (count < 0)
        return (int)count;
    stream->window_used += (size_t)count;
    return 0;
}

uint64_t weir_record_stream_room(const struct weir_record_stream *stream)
{
    uint64_t end = stream->end;
    if (stream->source->is_file)
        end = weir_min_u64(end, stream->source->file_bytes);
    return end > stream->offset ? end - stream->offset : 0;
}

/* Passes over bytes of the stretch. A stream has to be read for that. 0, -EBADMSG (it ends before) or -errno. */
static int skip(struct weir_record_stream *stream, uint64_t bytes)
{
    while (bytes > 0) {
        int result = 0;
        if (window_bytes(stream) == 0 && !stream->source->is_file)
            result = fill_window(stream, (size_t)weir_min_u64(WINDOW_BYTES, bytes));
        if (result < 0)
            return result;
        uint64_t part = weir_min_u64(window_bytes(stream), bytes);
        if (part == 0) {
            if (!stream->source->is_file || bytes > weir_record_stream_room(stream))
                return -EBADMSG;
            stream->offset += bytes;            /* the window is empty: nothing in it is of a wrong place */
            stream->ahead_bytes = JUMPED_BYTES; /* the next record may be followed by as much */
            return 0;
        }
        stream->window_start += part;
        stream->offset += part;
        bytes -= part;
    }
    return 0;
}

static int skip_payload(struct weir_record_stream *stream, struct weir_error *err)
{
    uint64_t bytes = stream->payload_bytes, behind = stream->offset;
    stream->payload_bytes = 0;
    int result = skip(stream, bytes);
    if (result == -EBADMSG)
        return weir_error_set(err, result,
                              "%s: the %" PRIu64 " bytes behind the record before %#" PRIx64 " are cut off",
                              stream->source->path, bytes, behind);
    return result < 0 ? weir_error_set_errno(err, result, "cannot read %s", stream->source->path) : 0;
}

int weir_record_stream_payload(struct weir_record_stream *stream, uint64_t max_bytes, struct weir_buf *out,
                               struct weir_error *err)
{
    uint64_t left = stream->payload_bytes;
    if (left > max_bytes)
        return weir_error_set(err, -EFBIG,
                              "%s: %" PRIu64 " bytes behind the record before %#" PRIx64
                              " are more than the limit of %" PRIu64,
                              stream->source->path, left, stream->offset, max_bytes);
    while (left > 0) {
        size_t part = (size_t)weir_min_u64(left, WINDOW_BYTES);
        int result = fill_window(stream, part);
        if (result == 0 && window_bytes(stream) < part)
            return skip_payload(stream, err);
        if (result == 0) {
            weir_buf_append(out, stream->window + stream->window_start, part);
            result = weir_buf_error(out);
        }
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot read %s", stream->source->path);
        stream->window_start += part;
        stream->offset += part;
        left -= part;
        stream->payload_bytes = left;
    }
    return 0;
}

/* ---- one record ---- */

/* Apart, so that the other records are spared its instructions. */
static __attribute__((noinline)) void turn_view(struct weir_record_view *record)
{
    record->type = __builtin_bswap32(record->type);
    record->misc = __builtin_bswap16(record->misc);
    record->bytes = __builtin_bswap16(record->bytes);
}

/* data holds bytes, at least a header. */
static inline void view_record(const struct weir_record_stream *stream, struct weir_record_view *record,
                               const uint8_t *data)
{
    struct perf_event_header header;
    memcpy(&header, data, sizeof(header));
    *record = (struct weir_record_view){.data = data, .type = header.type, .misc = header.misc, .bytes = header.size};
    if (stream->turner.turn)
        turn_view(record);
}

/* Called once for a record, when all of its bytes are at data. */
static void turn_record(const struct weir_record_stream *stream, uint8_t *data, size_t bytes)
{
    if (stream->turner.turn)
        stream->turner.turn(stream->turner.ctx, data, bytes);
}

/* The payload that a record says is behind it. False: it cannot be. */
static bool payload_of(const struct weir_record_view *record, uint64_t *bytes)
{
    *bytes = 0;
    if (record->type == WEIR_RECORD_AUXTRACE) {
        if (record->bytes < AUXTRACE_BYTES)
            return false;
        *bytes = weir_load_u64(record->data + PAYLOAD_SIZE_OFFSET);
    } else if (record->type == WEIR_RECORD_TRACING_DATA) {
        if (record->bytes < TRACING_DATA_BYTES)
            return false;
        *bytes = weir_align_up((uint64_t)weir_load_u32(record->data + PAYLOAD_SIZE_OFFSET), PAYLOAD_ALIGN);
    }
    return *bytes <= INT64_MAX;
}

/* ---- compressed ---- */

static bool is_compressed(uint32_t type)
{
    return type == WEIR_RECORD_COMPRESSED || type == WEIR_RECORD_COMPRESSED2;
}

static int begin_expanding(struct weir_record_stream *stream, const struct weir_record_view *record,
                           struct weir_error *err)
{
    if (!stream->zstd) {
        stream->zstd = weir_zstd_stream_new();
        stream->expanded = malloc(EXPANDED_BYTES);
        if (!stream->zstd || !stream->expanded)
            return weir_error_set_errno(err, -ENOMEM, "cannot decompress %s", stream->source->path);
    }
    const uint8_t *data = record->data + HEADER_BYTES;
    uint64_t bytes = record->bytes - HEADER_BYTES;
    if (record->type == WEIR_RECORD_COMPRESSED2) {
        uint64_t said = bytes >= sizeof(uint64_t) ? weir_load_u64(data) : UINT64_MAX;
        if (said > bytes - weir_min_u64(bytes, sizeof(uint64_t)))
            return fail(stream, err, -EBADMSG, "its compressed bytes do not fit into the record");
        data = record->data + COMPRESSED2_HEADER;
        bytes = said;
    }
    weir_zstd_stream_feed(stream->zstd, data, bytes);
    stream->expanded_offset = record->offset;
    stream->expanded_bytes = 0;
    stream->is_expanding = true;
    return 0;
}

/* Has the second buffer hold more. 1: it does, 0: the COMPRESSED record is used up, -errno with err. */
static int expand(struct weir_record_stream *stream, struct weir_error *err)
{
    size_t held = stream->expanded_used - stream->expanded_start;
    memmove(stream->expanded, stream->expanded + stream->expanded_start, held);
    stream->expanded_start = 0;
    stream->expanded_used = held;

    size_t written;
    const char *reason;
    int result = weir_zstd_stream_take(stream->zstd, stream->expanded + held, EXPANDED_BYTES - held, &written, &reason);
    if (result < 0)
        return weir_error_set(err, result, "%s: compressed record at %#" PRIx64 ": %s", stream->source->path,
                              stream->expanded_offset, reason);
    stream->expanded_used += written;
    stream->expanded_bytes += written;
    if (stream->expanded_bytes > stream->expanded_max)
        return weir_error_set(
            err, -EBADMSG, "%s: compressed record at %#" PRIx64 " expands to more than the limit of %" PRIu64 " bytes",
            stream->source->path, stream->expanded_offset, stream->expanded_max);
    return written > 0;
}

/* As next, of the bytes that are being decompressed. */
static int next_expanded(struct weir_record_stream *stream, struct weir_record_view *record, struct weir_error *err)
{
    for (;;) {
        uint8_t *data = stream->expanded + stream->expanded_start;
        size_t held = stream->expanded_used - stream->expanded_start;
        if (held >= HEADER_BYTES) {
            view_record(stream, record, data);
            if (record->bytes < HEADER_BYTES || is_compressed(record->type))
                return weir_error_set(err, -EBADMSG,
                                      "%s: compressed record at %#" PRIx64
                                      ": it expands to an invalid record (type %u, size %u)",
                                      stream->source->path, stream->expanded_offset, record->type, record->bytes);
            if (held >= record->bytes) {
                turn_record(stream, data, record->bytes);
                stream->expanded_start += record->bytes;
                record->offset = stream->expanded_offset;
                record->is_expanded = true;
                record->path = stream->source->path;
                return 1;
            }
        }
        int result = expand(stream, err);
        if (result == 0)
            stream->is_expanding = false; /* after an error it stays: what is damaged is this COMPRESSED record */
        if (result <= 0)
            return result;
    }
}

/* ---- next ---- */

static int end_of_stretch(const struct weir_record_stream *stream, struct weir_error *err)
{
    size_t left = stream->expanded_used - stream->expanded_start;
    if (left > 0)
        return weir_error_set(err, -EBADMSG, "%s: compressed record at %#" PRIx64 ": %zu bytes are not a whole record",
                              stream->source->path, stream->expanded_offset, left);
    return 0;
}

static int next_plain(struct weir_record_stream *stream, struct weir_record_view *record, struct weir_error *err)
{
    int result = skip_payload(stream, err);
    if (result < 0)
        return result;
    if (stream->offset >= stream->end)
        return end_of_stretch(stream, err);
    result = fill_window(stream, HEADER_BYTES);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read %s at %#" PRIx64, stream->source->path, stream->offset);
    if (window_bytes(stream) == 0 && stream->end == UINT64_MAX)
        return end_of_stretch(stream, err);
    if (window_bytes(stream) < HEADER_BYTES)
        return fail(stream, err, -EBADMSG, "cut off inside its header");

    view_record(stream, record, stream->window + stream->window_start);
    if (record->bytes < HEADER_BYTES) {
        char what[WEIR_ERROR_TEXT_BYTES];
        snprintf(what, sizeof(what), "size %u is less than its header's %zu (type %u)", record->bytes, HEADER_BYTES,
                 record->type);
        return fail(stream, err, -EBADMSG, what);
    }
    result = fill_window(stream, record->bytes);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read %s at %#" PRIx64, stream->source->path, stream->offset);
    if (window_bytes(stream) < record->bytes)
        return fail(stream, err, -EBADMSG, "cut off");

    turn_record(stream, stream->window + stream->window_start, record->bytes); /* filling may have moved it */
    record->data = stream->window + stream->window_start;
    record->offset = stream->offset;
    record->path = stream->source->path;
    if (!payload_of(record, &record->payload_bytes))
        return fail(stream, err, -EBADMSG, "the size of the bytes behind it is impossible");
    if (is_compressed(record->type)) {
        result = begin_expanding(stream, record, err);
        if (result < 0)
            return result;
    }
    stream->window_start += record->bytes;
    stream->offset += record->bytes;
    stream->payload_bytes = record->payload_bytes;
    return 1;
}

int weir_record_stream_next(struct weir_record_stream *stream, struct weir_record_view *record, struct weir_error *err)
{
    if (stream->is_expanding) {
        int result = next_expanded(stream, record, err);
        if (result != 0)
            return result;
    }
    return next_plain(stream, record, err);
}

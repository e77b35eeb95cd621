/* Decompression as a reader of perf.data does it. One thread. */
#include "tests/format/expand.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format/perf_file.h"

static bool expand(ZSTD_DStream *decoder, const uint8_t *data, size_t bytes, uint8_t *room, size_t room_bytes,
                   struct weir_buf *out, const char **failure)
{
    ZSTD_inBuffer input = {.src = data, .size = bytes};
    ZSTD_outBuffer output = {.dst = room, .size = room_bytes};
    size_t result = ZSTD_decompressStream(decoder, &output, &input);
    if (ZSTD_isError(result)) {
        *failure = ZSTD_getErrorName(result);
        return false;
    }
    if (input.pos < input.size || output.pos == 0) {
        *failure = input.pos < input.size ? "one call does not take the whole record" : "a record gives nothing";
        return false;
    }
    weir_buf_append(out, room, output.pos);
    return true;
}

bool expand_records(const uint8_t *data, size_t bytes, size_t room_bytes, struct weir_buf *out, uint64_t *boundaries,
                    size_t boundary_count, const char **failure)
{
    ZSTD_DStream *decoder = ZSTD_createDStream();
    uint8_t *room = malloc(room_bytes);
    size_t start = out->used, next = 0;
    bool good = decoder && room;
    *failure = good ? NULL : "no memory";
    for (size_t at = 0; good && at < bytes;) {
        for (; next < boundary_count && boundaries[next] <= at; next++)
            boundaries[next] = boundaries[next] == at ? out->used - start : UINT64_MAX;
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size % 8 || header.size > bytes - at) {
            *failure = "a record has a size that cannot be";
            good = false;
        } else if (header.type == WEIR_RECORD_COMPRESSED) {
            good = expand(decoder, data + at + sizeof(header), header.size - sizeof(header), room, room_bytes, out,
                          failure);
        } else {
            weir_buf_append(out, data + at, header.size);
        }
        at += header.size;
    }
    for (; next < boundary_count; next++)
        boundaries[next] = boundaries[next] == bytes ? out->used - start : UINT64_MAX;
    free(room);
    ZSTD_freeDStream(decoder);
    return good;
}

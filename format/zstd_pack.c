/* libzstd's streaming encoder behind PERF_RECORD_COMPRESSED records. One thread for each packer. */
#include "format/zstd_pack.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/perf_file.h"

#define HEADER_BYTES       sizeof(struct perf_event_header)
#define EMPTY_BLOCK_BYTES  3u                       /* a Raw_Block of size 0; the one that ends a frame is as long */
#define FRAME_HEADER_MAX   18u                      /* ZSTD_FRAMEHEADERSIZE_MAX */
#define FILL_BYTES_MAX     (7u * EMPTY_BLOCK_BYTES) /* 3 * n mod 8 reaches every residue by n = 7 */
#define BLOCK_INPUT_BYTES  (60u * 1024) /* whatever it is, its block fits a record: see the assertion in new() */
#define BLOCK_OUTPUT_BYTES (ZSTD_compressBound(BLOCK_INPUT_BYTES) + FRAME_HEADER_MAX)
#define LARGE_LEVEL        11 /* from here on tables are larger than a chunk has use for */

struct weir_zstd_packer {
    ZSTD_CCtx *encoder; /* owned */
    size_t input_max;
};

struct cursor { /* the record that is being written */
    uint8_t *record;
    size_t used; /* of it, with its header */
};

/* A first frame makes the encoder take all the memory that it will ever need. */
static bool warm_up(struct weir_zstd_packer *packer)
{
    uint8_t *data = calloc(1, packer->input_max);
    uint8_t *out = malloc(weir_zstd_pack_bound(packer->input_max));
    uint32_t *raw_ends = calloc(weir_zstd_pack_records(packer->input_max), sizeof(*raw_ends));
    bool done = data && out && raw_ends && weir_zstd_pack(packer, out, data, packer->input_max, raw_ends) > 0;
    free(data);
    free(out);
    free(raw_ends);
    return done;
}

/*
 * A window as large as a chunk: nothing lies further back. The library does not make its tables smaller with it unless
 * it knows how many bytes will come (ZSTD_adjustCParams_internal() of 1.5). At level 22 the tables take 640 MiB, which
 * are cleared for each frame. Tables for twice the window are the library's own choice where it knows the size.
 */
static bool set_up(ZSTD_CCtx *encoder, int level, size_t input_max)
{
    int window = __builtin_ctzll(weir_round_up_power_of_two(weir_max_u64(input_max, BLOCK_INPUT_BYTES)));
    bool done = !ZSTD_isError(ZSTD_CCtx_setParameter(encoder, ZSTD_c_compressionLevel, level)) &&
                !ZSTD_isError(ZSTD_CCtx_setParameter(encoder, ZSTD_c_windowLog, window));
    if (done && level >= LARGE_LEVEL)
        done = !ZSTD_isError(ZSTD_CCtx_setParameter(encoder, ZSTD_c_hashLog, window + 1)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(encoder, ZSTD_c_chainLog, window + 1));
    return done;
}

struct weir_zstd_packer *weir_zstd_packer_new(int level, size_t input_max)
{
    weir_assert(level >= 1 && level <= WEIR_ZSTD_LEVEL_MAX && WEIR_ZSTD_LEVEL_MAX <= ZSTD_maxCLevel());
    weir_assert(ZSTD_compressBound(BLOCK_INPUT_BYTES) + FRAME_HEADER_MAX + FILL_BYTES_MAX + EMPTY_BLOCK_BYTES +
                    HEADER_BYTES <=
                WEIR_RECORD_MAX_BYTES);
    struct weir_zstd_packer *packer = calloc(1, sizeof(*packer));
    if (!packer)
        return NULL;
    packer->input_max = input_max;
    packer->encoder = ZSTD_createCCtx();
    if (packer->encoder && set_up(packer->encoder, level, input_max) && warm_up(packer))
        return packer;
    weir_zstd_packer_free(packer);
    return NULL;
}

void weir_zstd_packer_free(struct weir_zstd_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->encoder);
    free(packer);
}

size_t weir_zstd_packer_bytes(int level, size_t input_max)
{
    struct weir_zstd_packer *packer = weir_zstd_packer_new(level, input_max);
    size_t bytes = packer ? sizeof(*packer) + ZSTD_sizeof_CCtx(packer->encoder) : 0;
    weir_zstd_packer_free(packer);
    return bytes;
}

size_t weir_zstd_pack_records(size_t bytes)
{
    return 2 * (bytes / BLOCK_INPUT_BYTES + 1); /* a piece and the next one are longer than a block */
}

size_t weir_zstd_pack_bound(size_t bytes)
{
    size_t each = ZSTD_compressBound(0) + HEADER_BYTES + FILL_BYTES_MAX + EMPTY_BLOCK_BYTES;
    return bytes + (bytes >> 8) + weir_zstd_pack_records(bytes) * each + BLOCK_OUTPUT_BYTES;
}

/* Bytes of the record once it was filled up and, at the end of the frame, closed. */
static size_t closed_bytes(size_t used, bool last)
{
    if (last)
        used += EMPTY_BLOCK_BYTES;
    while (used % 8 > 0)
        used += EMPTY_BLOCK_BYTES;
    return used;
}

/* Fills the record up, ends the frame with it where it is the last, and writes its header. */
static void close_record(struct cursor *cursor, bool last)
{
    size_t bytes = closed_bytes(cursor->used, last);
    memset(cursor->record + cursor->used, 0, bytes - cursor->used); /* Raw_Block, size 0, not the last */
    if (last)
        cursor->record[bytes - EMPTY_BLOCK_BYTES] = 1; /* Last_Block */
    const struct perf_event_header header = {.type = WEIR_RECORD_COMPRESSED, .size = (uint16_t)bytes};
    memcpy(cursor->record, &header, sizeof(header));
    cursor->used = bytes;
}

/* Compresses the next piece of input to `at`. Its bytes; 0: the library refused. */
static size_t pack_block(ZSTD_CCtx *encoder, uint8_t *at, const uint8_t *data, size_t bytes)
{
    ZSTD_inBuffer input = {.src = data, .size = bytes};
    ZSTD_outBuffer output = {.dst = at, .size = BLOCK_OUTPUT_BYTES};
    size_t left = ZSTD_compressStream2(encoder, &output, &input, ZSTD_e_flush);
    return left == 0 && input.pos == input.size ? output.pos : 0;
}

/* Returns the length of the next piece. It ends at the last end of a record that fits a block, so that a frame may be
 * cut between records. A record longer than a block is split. *end: of a record, at `done` or behind. */
static size_t next_piece(const uint8_t *data, size_t bytes, size_t done, size_t *end)
{
    size_t most = weir_min_u64(BLOCK_INPUT_BYTES, bytes - done), piece = 0;
    while (*end - done <= most) {
        struct perf_event_header header;
        piece = *end - done;
        if (bytes - *end < sizeof(header))
            break;
        memcpy(&header, data + *end, sizeof(header));
        *end += weir_max_u64(header.size, sizeof(header));
    }
    return piece > 0 ? piece : most;
}

size_t weir_zstd_pack(struct weir_zstd_packer *packer, uint8_t *out, const uint8_t *data, size_t bytes,
                      uint32_t *raw_ends)
{
    weir_assert(bytes > 0 && bytes <= packer->input_max);
    struct cursor cursor = {.record = out, .used = HEADER_BYTES};
    for (size_t done = 0, end = 0; done < bytes;) {
        size_t piece = next_piece(data, bytes, done, &end);
        size_t block = pack_block(packer->encoder, cursor.record + cursor.used, data + done, piece);
        if (block == 0) {
            ZSTD_CCtx_reset(packer->encoder, ZSTD_reset_session_only);
            return 0;
        }
        /* A record that this block does not fit is closed before it. */
        if (closed_bytes(cursor.used + block, true) > WEIR_RECORD_MAX_BYTES) {
            const uint8_t *written = cursor.record + cursor.used;
            uint8_t *next = cursor.record + closed_bytes(cursor.used, false);
            memmove(next + HEADER_BYTES, written, block);
            close_record(&cursor, false);
            *raw_ends++ = (uint32_t)done;
            cursor = (struct cursor){.record = next, .used = HEADER_BYTES};
        }
        cursor.used += block;
        done += piece;
    }
    /* The frame's end is written by hand, behind what fills the record up: the encoder need not know. */
    ZSTD_CCtx_reset(packer->encoder, ZSTD_reset_session_only);
    close_record(&cursor, true);
    *raw_ends = (uint32_t)bytes;
    return (size_t)(cursor.record + cursor.used - out);
}

size_t weir_zstd_pack_prefix(const uint8_t *packed, size_t bytes, const uint32_t *raw_ends, size_t *raw_bytes)
{
    size_t at = 0;
    *raw_bytes = 0;
    for (size_t i = 0; bytes - at >= HEADER_BYTES; i++) {
        struct perf_event_header header;
        memcpy(&header, packed + at, sizeof(header));
        if (header.size > bytes - at)
            break;
        *raw_bytes = raw_ends[i];
        at += header.size;
    }
    return at;
}

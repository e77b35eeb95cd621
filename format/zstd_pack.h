/*
 * Whole records to PERF_RECORD_COMPRESSED records: what `-z` makes of a chunk.
 *
 *     chunk:    record record record ...                        (whole records)
 *     becomes:  COMPRESSED { blocks } COMPRESSED { blocks } ... one zstd frame, cut between blocks
 *
 * One chunk is one frame of its own, so chunks can be compressed by several threads, and frames one after another are
 * one zstd stream. What perf's reader asks of the pieces (zstd_decompress_stream() and
 * perf_session__process_compressed_event(), Linux 6.1 to 6.12):
 *
 * - each record gives at least one byte when it is decompressed: hence whole blocks, each small enough for a record;
 * - one call of ZSTD_decompressStream() takes all of a record: hence no frame begins behind another in the same record;
 * - a record expands to no more than mmap_len of HEADER_COMPRESSED: here to no more than a chunk.
 *
 * Other than perf's, the records are multiples of 8 bytes: empty blocks of three bytes each fill up what is missing,
 * which decoders pass over (RFC 8878, 3.1.1.2: Raw_Block of size 0).
 *
 * All memory is taken by new(): pack() allocates nothing. One thread at a time for each packer.
 */
#ifndef WEIR_FORMAT_ZSTD_PACK_H
#define WEIR_FORMAT_ZSTD_PACK_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_ZSTD_LEVEL_MAX 22 /* ZSTD_maxCLevel(); asserted against the library in use */

struct weir_zstd_packer;

/* A packer for 1 <= level <= WEIR_ZSTD_LEVEL_MAX and at most input_max bytes at a time. NULL without memory. Higher
 * levels need more of it: for input of 1 MiB 2 MiB at level 1, 26 MiB at 10, 19 MiB at 22 (libzstd 1.5.4). */
struct weir_zstd_packer *weir_zstd_packer_new(int level, size_t input_max);
void weir_zstd_packer_free(struct weir_zstd_packer *packer); /* NULL is allowed */

/* Memory of such a packer: one is made and asked. 0 without memory. */
size_t weir_zstd_packer_bytes(int level, size_t input_max);

/* Bytes that pack() needs room for. */
size_t weir_zstd_pack_bound(size_t bytes);

/*
 * Writes the records that [data, data + bytes) becomes, 0 < bytes <= input_max, to out, which has room for
 * weir_zstd_pack_bound(bytes). Returns their size, a multiple of 8; 0 when the library refused: then the records have
 * to be written as they are, and the packer can be used on. Allocates nothing, never blocks.
 */
size_t weir_zstd_pack(struct weir_zstd_packer *packer, uint8_t *out, const uint8_t *data, size_t bytes);

#endif

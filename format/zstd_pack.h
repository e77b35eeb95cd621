/*
 * Compresses whole records into PERF_RECORD_COMPRESSED records, for `-z`.
 *
 *     chunk:    record record record ...                        (whole records)
 *     becomes:  COMPRESSED { blocks } COMPRESSED { blocks } ... one zstd frame, cut between blocks
 *
 * Each chunk is a frame of its own, so several threads can compress chunks. Frames in a row are one zstd stream. perf's
 * decompression (zstd_decompress_stream() and perf_session__process_compressed_event(), Linux 6.1 to 6.12) requires the
 * following:
 *
 * - each record yields at least one byte: so a record has whole blocks, each small enough for a record;
 *
 * - one call of ZSTD_decompressStream() takes a whole record: so no frame begins behind another in the same record;
 *
 * - a record expands to at most mmap_len of HEADER_COMPRESSED: here to at most a chunk.
 *
 * Blocks end where records of the chunk end. So a frame that is cut, by a kill or a full disk, loses only the
 * COMPRESSED records that it lacks.
 *
 * Unlike perf's, the records are multiples of 8 bytes. Empty blocks of three bytes fill the gap, which decoders skip
 * (RFC 8878, 3.1.1.2: Raw_Block of size 0).
 *
 * weir_zstd_packer_new() takes all memory; weir_zstd_pack() allocates nothing. One thread at a time for each packer.
 */
#ifndef WEIR_FORMAT_ZSTD_PACK_H
#define WEIR_FORMAT_ZSTD_PACK_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_ZSTD_LEVEL_MAX 22 /* ZSTD_maxCLevel(); asserted against the library in use */

struct weir_zstd_packer;

/* Makes a packer for 1 <= level <= WEIR_ZSTD_LEVEL_MAX and at most input_max bytes at a time. NULL: no memory. Higher
 * levels mostly need more memory: for input of 1 MiB, 2 MiB at level 1, 26 MiB at 10, 19 MiB at 22 (libzstd 1.5.4). */
struct weir_zstd_packer *weir_zstd_packer_new(int level, size_t input_max);
void weir_zstd_packer_free(struct weir_zstd_packer *packer); /* NULL is allowed */

/* Returns the memory of such a packer, measured on a temporary one. 0: no memory. */
size_t weir_zstd_packer_bytes(int level, size_t input_max);

/* Returns the room that weir_zstd_pack() needs for its output. */
size_t weir_zstd_pack_bound(size_t bytes);

/* Returns the most records that weir_zstd_pack() makes of so many bytes. */
size_t weir_zstd_pack_records(size_t bytes);

/*
 * Compresses [data, data + bytes), 0 < bytes <= input_max, to out, which has room for weir_zstd_pack_bound(bytes).
 * raw_ends: gets for each record how many bytes of data a decoder has once it has taken the record; room for
 * weir_zstd_pack_records(bytes). Returns the size of the records written, a multiple of 8; 0: the library refused, so
 * the input has to be written uncompressed; the packer stays usable. Allocates nothing, never blocks.
 */
size_t weir_zstd_pack(struct weir_zstd_packer *packer, uint8_t *out, const uint8_t *data, size_t bytes,
                      uint32_t *raw_ends);

/* Finds the whole records in the first `bytes` bytes of the output of weir_zstd_pack(). Returns their size; *raw_bytes:
 * the bytes of data that a decoder has of them. These end inside a record of the data only where that is longer than 60
 * KiB. */
size_t weir_zstd_pack_prefix(const uint8_t *packed, size_t bytes, const uint32_t *raw_ends, size_t *raw_bytes);

#endif

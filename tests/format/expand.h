/*
 * COMPRESSED records taken apart as perf does it (zstd_decompress_stream(), perf_session__process_compressed_event(),
 * Linux 6.1), by libzstd itself and not by the code under test: each in one call, which must give at least a byte. No
 * Criterion here: programs without it use this too.
 */
#ifndef WEIR_TESTS_FORMAT_EXPAND_H
#define WEIR_TESTS_FORMAT_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends to out the records of a data section as they were before compression; others are copied. room: bytes that a
 * record may expand to. boundaries: ascending offsets in data, each of which becomes the offset in out (from its end at
 * the call), if it is a boundary between records; else UINT64_MAX. False when a reader would give up; *failure says
 * why.
 */
bool expand_records(const uint8_t *data, size_t bytes, size_t room, struct weir_buf *out, uint64_t *boundaries,
                    size_t boundary_count, const char **failure);

#endif

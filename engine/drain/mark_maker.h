/*
 * Makes the marks of one reader: padding records that the writer may turn into round markers. What a mark promises, and
 * when it becomes a marker: round_mark.h.
 *
 * Marks stand in the sink's current chunk, at least `bytes` apart. The reader makes them while it drains a ring that is
 * the only one with records, and after a step that drained all rings. Reader thread, but for init().
 */
#ifndef WEIR_ENGINE_DRAIN_MARK_MAKER_H
#define WEIR_ENGINE_DRAIN_MARK_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk_sink.h"
#include "engine/drain/reader_ring.h"
#include "format/records.h"

/* Of a mark in a chunk: room for a round marker, which is a header alone, and for padding behind the marker. */
#define WEIR_MARK_BYTES ((uint32_t)sizeof(struct perf_event_header) + WEIR_RECORD_PADDING_LEAST)

#define WEIR_MARK_SPACING_BYTES (256u * 1024) /* drained by a reader between two marks, at least */

struct weir_mark_maker {
    struct weir_chunk_sink *sink;          /* borrowed; its setup has a clock if bytes > 0 */
    const struct weir_reader_rings *rings; /* borrowed */
    uint64_t bytes;                        /* between two marks, at least; 0: makes none. Set before the thread runs */

    uint64_t marked_bytes;                /* of the sink at the last mark, or look for one, within a drain */
    uint64_t marked_drained_bytes;        /* of the sink at the last mark after a drain of all rings */
    uint64_t drained_ns;                  /* when the last step began that drained all rings */
    const struct weir_reader_ring *alone; /* since alone_ns no other ring has had records; NULL: not known */
    uint64_t alone_ns, alone_bytes;       /* and the bytes drained from the others until then */
};

void weir_mark_maker_init(struct weir_mark_maker *maker, struct weir_chunk_sink *sink,
                          const struct weir_reader_rings *rings);

/* Makes a mark, if enough bytes have passed, after a step that began then and drained all rings. */
void weir_mark_maker_drained(struct weir_mark_maker *maker, uint64_t began_ns);

/* Makes a mark, if enough bytes have passed, while a ring is drained that is the only one with records. */
void weir_mark_maker_within(struct weir_mark_maker *maker, const struct weir_reader_ring *r);

/* Whether within() may make a mark before the current chunk has so many bytes more: there it would overwrite bytes that
 * are copied ahead. */
bool weir_mark_maker_is_near(const struct weir_mark_maker *maker, uint64_t bytes);

#endif

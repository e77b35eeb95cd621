/*
 * The record that tells of merged samples (`weir record --aggregate`). In a file with this record the WEIGHT of a
 * sample says for how many samples it stands. Its PERIOD is the sum of their periods. The record stands at the
 * beginning of each file, before any sample.
 *
 * As the records of the timeline it is an EVENT_UPDATE of a type that consumers do not know, and so skip. It names no
 * event. Layout: docs/format.md, "Merged samples". Pure.
 */
#ifndef WEIR_FORMAT_MERGE_RECORD_H
#define WEIR_FORMAT_MERGE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/record_stream.h"

#define WEIR_MERGE_UPDATE 0x4547524d52494557ull /* the type of the update: "WEIRMRGE" */

struct weir_merge {
    uint64_t interval_ns; /* merged samples are less than that apart; 0: samples stand for themselves */
    bool by_process;      /* samples name the main thread of their process */
};

/* Appends the record. Allocation errors stay in the buffer. */
void weir_record_merge(struct weir_buf *out, const struct weir_merge *merge);

/* Returns whether the record tells of merged samples, and fills *merge. */
bool weir_merge_parse(const struct weir_record_view *record, struct weir_merge *merge);

#endif

/*
 * Where a file has its AUXTRACE records: what becomes its feature AUXTRACE, by which readers find AUX data without a
 * pass over the file (tools/perf/util/auxtrace.c, auxtrace_queues__process_index(), Linux 6.1).
 *
 * Grows by 16 bytes for each record, which is one for each half of an AUX area that was filled: the only thing on the
 * writer's way that allocates. When there is no memory for it the index is given up as a whole; readers then find the
 * records as they come to them. Whoever has the account that it is part of.
 */
#ifndef WEIR_ENGINE_DRAIN_AUX_INDEX_H
#define WEIR_ENGINE_DRAIN_AUX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/aux_records.h"

struct weir_aux_index {
    struct weir_aux_index_entry *entries; /* owned */
    size_t count, room;
    bool given_up; /* entries is NULL then */
};

/* An AUXTRACE record begins at that offset of the file. */
void weir_aux_index_add(struct weir_aux_index *index, uint64_t file_offset);

/* How many of its records begin before that offset, where the data ends: those behind it were not written. */
size_t weir_aux_index_count_before(const struct weir_aux_index *index, uint64_t end);

/* NULL-safe; leaves an empty one. */
void weir_aux_index_fini(struct weir_aux_index *index);

#endif

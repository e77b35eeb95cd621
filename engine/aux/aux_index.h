/*
 * The index of a file's AUXTRACE records: feature AUXTRACE, by which consumers find AUX data without a pass over the
 * file (tools/perf/util/auxtrace.c, auxtrace_queues__process_index(), Linux 6.1).
 */
#ifndef WEIR_ENGINE_AUX_AUX_INDEX_H
#define WEIR_ENGINE_AUX_AUX_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "engine/drain/train_list.h"
#include "format/aux_records.h"

/* Makes the entries of all trains that begin before `end`, where the file's data ends. *entries: owned by the caller,
 * to be freed; NULL when there are none. Returns their number; 0 also without memory: a file is valid without them. */
size_t weir_aux_index_make(const struct weir_train_list *trains, uint64_t end, struct weir_aux_index_entry **entries);

#endif

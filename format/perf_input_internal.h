/* The parts of format/perf_input.h; for format/perf_input*.c and their tests. */
#ifndef WEIR_FORMAT_PERF_INPUT_INTERNAL_H
#define WEIR_FORMAT_PERF_INPUT_INTERNAL_H

#include "format/perf_input.h"

/* Whether a section of a file of file_bytes lies inside the file. */
static inline bool weir_perf_section_is_inside(const struct weir_perf_section *section, uint64_t file_bytes)
{
    return section->offset <= file_bytes && section->size <= file_bytes - section->offset;
}

/* Whether a set of features, as the header of a file has it, contains a feature. */
bool weir_feature_bit(const uint64_t features[4], unsigned bit);

/* Reads the header of a file, its attrs and ids, the table of features and the names of the events. 0 or as
 * weir_perf_input_open(). */
int weir_perf_input_read_file(struct weir_perf_input *input, struct weir_error *err);

/*
 * Takes what a record of a pipe tells about events and features: ATTR, EVENT_UPDATE, FEATURE and TRACING_DATA, whose
 * payload it reads from the stream. Other records change nothing. 0, -EBADMSG, -E2BIG, -EFBIG, -ENOMEM or -errno of
 * read(2), with err.
 */
int weir_perf_input_absorb(struct weir_perf_input *input, const struct weir_record_view *record,
                           struct weir_error *err);

#endif

/*
 * The start of a perf.data stream: records with everything that a consumer must know before the first record of the
 * data. Nothing in a stream can be written later.
 */
#ifndef WEIR_FORMAT_PIPE_HEAD_H
#define WEIR_FORMAT_PIPE_HEAD_H

#include "base/buf.h"
#include "format/features.h"

/*
 * Appends header, attrs with their ids, names, features and tracing data. input: as for weir_features_build(); facts
 * that are known only at the end (times, build ids) are not written. *left_out: features that are too long for a
 * stream. The length is a multiple of 4. 0, -ENOMEM, or -E2BIG when tracing data has 4 GiB. Any thread; allocates.
 */
int weir_pipe_head_build(struct weir_buf *out, const struct weir_features_input *input, unsigned *left_out);

#endif

/*
 * The start of a perf.data file: header, ids, attrs, an early copy of the features, and zeros up to the data.
 *
 * The head is built twice. When recording starts it has no feature bits and data.size 0; checkpoints keep data.size
 * current. When recording ends it has features and the final size, and only the part before the early copy is written
 * again.
 */
#ifndef WEIR_FORMAT_HEAD_H
#define WEIR_FORMAT_HEAD_H

#include "base/buf.h"
#include "format/event_desc.h"
#include "format/features.h"
#include "format/perf_file.h"

struct weir_head_input {
    const struct weir_event_desc *events;
    size_t event_count;
    size_t id_room;       /* room for ids per event; no event has more */
    uint64_t head_bytes;  /* data.offset of an earlier head of the same file; 0: computed */
    uint64_t data_bytes;  /* data.size */
    uint64_t features[4]; /* feature bits */
    const struct weir_features_input
        *early; /* the features known at the start, format/early_features.h; NULL: no copy */
};

/*
 * Appends the head to out. Its length is a multiple of 4096 and equals data.offset. 0 or -ENOMEM. Any thread;
 * allocates.
 */
int weir_head_build(struct weir_buf *out, const struct weir_head_input *input);

/* Returns the bytes of header, ids and attrs, which the final head writes again. */
uint64_t weir_head_fixed_bytes(const struct weir_head_input *input);

#endif

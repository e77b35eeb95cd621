/*
 * The start of a perf.data file: header, ids, attrs, an early copy of the features, and zeros up to the data.
 *
 * The head is built twice: when recording starts (no feature bits, data.size 0, kept current by checkpoints) and when
 * it ends (features, final size); then only what stands before the early copy is written again.
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
    size_t id_room;                          /* ids per event for which there is room; no event has more */
    uint64_t head_bytes;                     /* data.offset, as a head of before had it; 0: as it comes */
    uint64_t data_bytes;                     /* data.size */
    uint64_t features[4];                    /* feature bits */
    const struct weir_features_input *early; /* what is known at the start, format/early_features.h; NULL: no copy */
};

/*
 * Appends the head to out. Its length is a multiple of 4096 and equals data.offset. 0 or -ENOMEM.
 * May be called on any thread; allocates.
 */
int weir_head_build(struct weir_buf *out, const struct weir_head_input *input);

/* Bytes of header, ids and attrs: what the final head writes again. */
uint64_t weir_head_fixed_bytes(const struct weir_head_input *input);

#endif

/*
 * Samples whose copied user stack is replaced by a call chain: what becomes of the attr, and of each sample.
 *
 * Of a sample, the user registers and the user stack go, and the user's frames follow the kernel's in its call chain.
 * All other bytes stay. Pure; any thread. Source: format/sample_layout.h.
 */
#ifndef WEIR_UNWIND_UNWOUND_SAMPLE_H
#define WEIR_UNWIND_UNWOUND_SAMPLE_H

#include "format/sample_layout.h"
#include "unwind/unwinder.h"

/* The most bytes by which a sample grows: that of a stack that was not copied, without a call chain. */
#define WEIR_UNWOUND_GROWTH_MAX ((WEIR_UNWIND_FRAMES_MAX + 2) * sizeof(uint64_t))

/* How the chains of samples ended. */
struct weir_unwound_counts {
    uint64_t unwound, frames;        /* samples with user registers; their frames */
    uint64_t ends[WEIR_UNWIND_ENDS]; /* of the chains of those, by cause */
};

/* Adds counts to a sum. */
void weir_unwound_counts_add(struct weir_unwound_counts *sum, const struct weir_unwound_counts *counts);

/* Returns whether samples of the attr have copied user stacks. */
bool weir_unwound_is_wanted(const struct perf_event_attr *attr);

/* Changes such an attr to that of its unwound samples. */
void weir_unwound_attr(struct perf_event_attr *attr);

/* Says what there is to unwind in a sample. False: no user registers, or those of a program of 32 bits. */
bool weir_unwound_input(const struct weir_sample *sample, const struct weir_sample_layout *layout,
                        struct weir_unwind_input *input);

/*
 * Writes the unwound sample to `out`, which has room for bytes + WEIR_UNWOUND_GROWTH_MAX and does not overlap record.
 * sample: of record, by weir_sample_parse(). Returns its bytes; 0: it would be larger than a record can be.
 */
size_t weir_unwound_write(uint8_t *out, const uint8_t *record, size_t bytes, const struct weir_sample_layout *layout,
                          const struct weir_sample *sample, const struct weir_unwind_chain *chain);

#endif

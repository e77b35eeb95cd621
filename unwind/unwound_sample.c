#include "unwind/unwound_sample.h"

#include <string.h>

#include "format/bytes.h"

#define WORD sizeof(uint64_t)

void weir_unwound_counts_add(struct weir_unwound_counts *sum, const struct weir_unwound_counts *counts)
{
    sum->unwound += counts->unwound;
    sum->frames += counts->frames;
    for (unsigned end = 0; end < WEIR_UNWIND_ENDS; end++)
        sum->ends[end] += counts->ends[end];
}

bool weir_unwound_is_wanted(const struct perf_event_attr *attr)
{
    const uint64_t wanted = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    return (attr->sample_type & wanted) == wanted;
}

void weir_unwound_attr(struct perf_event_attr *attr)
{
    attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr->sample_regs_user = 0;
    attr->sample_stack_user = 0;
    attr->exclude_callchain_user = 0;
}

bool weir_unwound_input(const struct weir_sample *sample, const struct weir_sample_layout *layout,
                        struct weir_unwind_input *input)
{
    *input = (struct weir_unwind_input){.regs_mask = layout->regs_user,
                                        .regs = sample->user_regs.data,
                                        .reg_count = sample->user_regs.count,
                                        .stack = sample->user_stack.data,
                                        .stack_bytes = (size_t)sample->user_stack.count};
    return sample->user_abi == PERF_SAMPLE_REGS_ABI_64;
}

/* The offsets of what goes: [call chain, its end), [registers, end of the stack). */
struct cuts {
    size_t chain, chain_end, regs, stack_end;
};

static struct cuts find_cuts(const uint8_t *record, const struct weir_sample_layout *layout,
                             const struct weir_sample *sample)
{
    struct cuts cuts = {.chain = layout->variable};
    if (sample->read.data)
        cuts.chain = (size_t)(sample->read.data - record) + sample->read.count * WORD;
    cuts.chain_end = cuts.chain;
    if (sample->callchain.data) {
        cuts.chain = (size_t)(sample->callchain.data - record) - WORD;
        cuts.chain_end = cuts.chain + (1 + sample->callchain.count) * WORD;
    }
    size_t size_word = sample->user_stack_offset;
    cuts.regs = size_word - (1 + sample->user_regs.count) * WORD;
    uint64_t size = weir_load_u64(record + size_word);
    cuts.stack_end = size_word + WORD + (size > 0 ? size + WORD : 0); /* behind the dump is the size of its used part */
    return cuts;
}

size_t weir_unwound_write(uint8_t *out, const uint8_t *record, size_t bytes, const struct weir_sample_layout *layout,
                          const struct weir_sample *sample, const struct weir_unwind_chain *chain)
{
    const struct cuts cuts = find_cuts(record, layout, sample);
    uint64_t kept = sample->callchain.count, count = kept + (chain->count > 0 ? 1 + chain->count : 0);
    const uint64_t mark = (uint64_t)PERF_CONTEXT_USER;
    uint8_t *at = out;
    size_t total = bytes - (cuts.chain_end - cuts.chain) - (cuts.stack_end - cuts.regs) + (1 + count) * WORD;
    if (total > UINT16_MAX)
        return 0;
    at = mempcpy(at, record, cuts.chain);
    at = mempcpy(at, &count, WORD);
    if (kept > 0)
        at = mempcpy(at, sample->callchain.data, kept * WORD);
    if (chain->count > 0) {
        at = mempcpy(at, &mark, WORD);
        at = mempcpy(at, chain->frames, chain->count * WORD);
    }
    at = mempcpy(at, record + cuts.chain_end, cuts.regs - cuts.chain_end);
    mempcpy(at, record + cuts.stack_end, bytes - cuts.stack_end);
    const uint16_t size = (uint16_t)total;
    memcpy(out + offsetof(struct perf_event_header, size), &size, sizeof(size));
    return total;
}

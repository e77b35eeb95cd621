/* What becomes of a sample, and of its attr. */
#include <criterion/criterion.h>

#include "unwind/unwound_sample.h"

#define WORDS(...) ((const uint64_t[]){__VA_ARGS__})

static struct weir_unwind_chain chain = {.frames = {0x401000, 0x402000}, .count = 2};
static uint8_t out[UINT16_MAX + WEIR_UNWOUND_GROWTH_MAX];

/* A sample of those words behind its header. */
struct made {
    struct perf_event_header header;
    uint64_t words[40];
};

static size_t unwind(const struct perf_event_attr *attr, struct made *record, size_t words)
{
    struct weir_sample_layout layout;
    struct weir_sample sample;
    size_t bad;
    record->header = (struct perf_event_header){
        .type = PERF_RECORD_SAMPLE, .misc = 2, .size = (uint16_t)(sizeof(record->header) + words * 8)};
    weir_sample_layout_init(&layout, attr);
    cr_assert_eq(weir_sample_parse(&sample, &layout, (const uint8_t *)record, record->header.size, &bad), 0);
    return weir_unwound_write(out, (const uint8_t *)record, record->header.size, &layout, &sample, &chain);
}

/* What became of the sample, by its own layout. */
static void expect(const struct perf_event_attr *attr, size_t bytes, const uint64_t *words, size_t count)
{
    struct perf_event_attr unwound = *attr;
    struct weir_sample_layout layout;
    struct weir_sample sample;
    struct perf_event_header header;
    size_t bad;
    weir_unwound_attr(&unwound);
    weir_sample_layout_init(&layout, &unwound);
    memcpy(&header, out, sizeof(header));
    cr_assert_eq(header.size, bytes);
    cr_assert_eq(header.misc, 2);
    cr_assert_eq(bytes, sizeof(header) + count * 8);
    cr_assert_arr_eq(out + sizeof(header), words, count * 8);
    cr_assert_eq(weir_sample_parse(&sample, &layout, out, bytes, &bad), 0);
    cr_assert_null(sample.user_stack.data);
}

Test(unwound_sample, frames_follow_those_of_the_kernel)
{
    const struct perf_event_attr attr = {
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                       PERF_SAMPLE_DATA_SRC,
        .sample_regs_user = 0x101,
        .exclude_callchain_user = 1,
    };
    struct made record = {
        .words = {0xabc, 2, (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000, 2, 11, 12, 16, 21, 22, 16, 0x77}};
    size_t bytes = unwind(&attr, &record, 12);
    expect(&attr, bytes,
           WORDS(0xabc, 5, (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000, (uint64_t)PERF_CONTEXT_USER, 0x401000,
                 0x402000, 0x77),
           8);
}

Test(unwound_sample, without_user_part_the_chain_stays)
{
    const struct perf_event_attr attr = {
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = 0x101,
    };
    struct made record = {.words = {0xabc, 2, (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0, 0}};
    chain.count = 0;
    size_t bytes = unwind(&attr, &record, 6);
    expect(&attr, bytes, WORDS(0xabc, 2, (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000), 4);
    chain.count = 2;
}

Test(unwound_sample, chain_is_put_where_there_was_none)
{
    const struct perf_event_attr attr = {
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR,
        .sample_regs_user = 0x101,
        .sample_regs_intr = 1,
    };
    struct made record = {.words = {0xabc, 42, (uint64_t)0x99 << 32 | 4, 2, 11, 12, 8, 21, 8, 2, 31}};
    size_t bytes = unwind(&attr, &record, 11);
    expect(&attr, bytes,
           WORDS(0xabc, 42, 3, (uint64_t)PERF_CONTEXT_USER, 0x401000, 0x402000, (uint64_t)0x99 << 32 | 4, 2, 31), 9);
}

Test(unwound_sample, record_that_is_full_is_not_overfilled)
{
    static struct {
        struct perf_event_header header;
        uint64_t words[8190];
    } record;
    const struct perf_event_attr attr = {
        .sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = 0x101,
    };
    struct weir_sample_layout layout;
    struct weir_sample sample;
    size_t bad;
    record.header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = sizeof(record)};
    record.words[0] = 8187;
    weir_sample_layout_init(&layout, &attr);
    cr_assert_eq(weir_sample_parse(&sample, &layout, (const uint8_t *)&record, sizeof(record), &bad), 0);
    cr_assert_eq(weir_unwound_write(out, (const uint8_t *)&record, sizeof(record), &layout, &sample, &chain), 0);
}

Test(unwound_sample, attr_says_call_chain)
{
    struct perf_event_attr attr = {
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = 0xff0fff,
        .sample_stack_user = 8192,
        .exclude_callchain_user = 1,
    };
    cr_assert(weir_unwound_is_wanted(&attr));
    weir_unwound_attr(&attr);
    cr_assert(!weir_unwound_is_wanted(&attr));
    cr_assert_eq(attr.sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
    cr_assert_eq(attr.sample_regs_user + attr.sample_stack_user + attr.exclude_callchain_user, 0);
}

/* What an attr says about the bytes of the file: sizes and places, by hand from perf_event_open(2). */
#include "format/event_desc.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

Test(event_desc, attr_larger_than_the_room_is_refused, .signal = SIGABRT)
{
    struct perf_event_attr attr = {.config2 = 1};
    struct weir_buf out = WEIR_BUF_INIT;
    weir_attr_append(&out, &attr, PERF_ATTR_SIZE_VER0);
}

Test(event_desc, field_that_is_not_sampled_has_no_offset)
{
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME};
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_IDENTIFIER), -1);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_TID), -1);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_CPU), -1);
}

Test(event_desc, field_behind_the_variable_ones_has_no_offset)
{
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_RAW};
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_READ), -1);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_RAW), -1);
}

Test(event_desc, without_sample_id_all_there_is_no_trailer)
{
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER};
    cr_expect_eq(weir_attr_sample_id_bytes(&attr), 0);
}

Test(event_desc, least_size_is_the_published_one_that_holds_the_last_used_field)
{
    static const struct {
        size_t offset;
        uint32_t size;
    } cases[] = {
        {offsetof(struct perf_event_attr, config), 64},
        {offsetof(struct perf_event_attr, bp_addr), 64},
        {offsetof(struct perf_event_attr, config2), 72},
        {offsetof(struct perf_event_attr, branch_sample_type), 80},
        {offsetof(struct perf_event_attr, sample_regs_user), 96},
        {offsetof(struct perf_event_attr, clockid), 96},
        {offsetof(struct perf_event_attr, sample_regs_intr), 104},
        {offsetof(struct perf_event_attr, aux_watermark), 112},
        {offsetof(struct perf_event_attr, sample_max_stack), 112},
        {offsetof(struct perf_event_attr, aux_sample_size), 120},
        {offsetof(struct perf_event_attr, aux_action), 120},
        {offsetof(struct perf_event_attr, sig_data), 128},
        {offsetof(struct perf_event_attr, config3), 136},
        {offsetof(struct perf_event_attr, config4), 144},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct perf_event_attr attr = {0};
        ((uint8_t *)&attr)[cases[i].offset] = 1;
        cr_expect_eq(weir_attr_least_size(&attr), cases[i].size, "offset %zu: %u", cases[i].offset,
                     weir_attr_least_size(&attr));
    }
}

Test(event_desc, size_that_the_kernel_filled_in_does_not_count)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr)};
    cr_expect_eq(weir_attr_least_size(&attr), 64);
}

Test(event_desc, one_size_serves_all_events)
{
    struct weir_event_desc events[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    cr_expect_eq(weir_event_desc_attr_bytes(events, 0), 64);
    cr_expect_eq(weir_event_desc_attr_bytes(events, 3), 64);
    events[1].attr.sample_max_stack = 127;
    cr_expect_eq(weir_event_desc_attr_bytes(events, 3), 112);
    cr_expect_eq(weir_event_desc_attr_bytes(events, 1), 64);
}

Test(event_desc, appended_attr_names_its_own_size)
{
    struct perf_event_attr attr = {.type = 2, .size = sizeof(attr), .config = 0x1122, .sample_period = 7};
    struct weir_buf out = WEIR_BUF_INIT;
    weir_attr_append(&out, &attr, 72);
    static const uint8_t expected[72] = {2, 0, 0, 0, 72, 0, 0, 0, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 7};
    cr_assert_eq(out.used, 72);
    cr_expect_arr_eq(out.data, expected, 72);
    cr_expect_eq(attr.size, sizeof(attr));
    weir_buf_fini(&out);
}

Test(event_desc, trailer_has_eight_bytes_per_field)
{
    struct perf_event_attr attr = {.sample_id_all = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD};
    cr_expect_eq(weir_attr_sample_id_bytes(&attr), 0);
    attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    cr_expect_eq(weir_attr_sample_id_bytes(&attr), 32);
    attr.sample_type |= PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
    cr_expect_eq(weir_attr_sample_id_bytes(&attr), 48);
}

Test(event_desc, sample_fields_stand_in_the_kernels_order)
{
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD};
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_IDENTIFIER), 8);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_IP), 16);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_TID), 24);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_TIME), 32);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_CPU), 40);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_PERIOD), 48);

    attr.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_ADDR), 40);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_ID), 48);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_STREAM_ID), 56);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_CPU), 64);
    cr_expect_eq(weir_attr_sample_offset(&attr, PERF_SAMPLE_PERIOD), 72);
}

/* Recordings of the other byte order: what no recording that perf reads can show. */
#include "format/byte_order.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"

#define ATTR_BYTES sizeof(struct perf_event_attr)

/* perf reads the two bits of precise_ip in the wrong order; so does no recorder write them. */
Test(byte_order, field_of_two_bits_that_lies_in_two_bytes)
{
    for (unsigned precise = 0; precise < 4; precise++) {
        struct perf_event_attr attr = {.size = __builtin_bswap32(ATTR_BYTES)};
        uint8_t *flags = (uint8_t *)&attr + 40;
        flags[0] = 0x80;                    /* disabled: the first field has the highest bit */
        flags[1] = (uint8_t)(precise >> 1); /* bits 15 and 16 from the highest one on */
        flags[2] = (uint8_t)(precise << 7 | 0x40);
        weir_byte_order_turn_attr((uint8_t *)&attr, sizeof(attr));
        cr_expect_eq(attr.precise_ip, precise);
        cr_expect_eq(attr.size, ATTR_BYTES);
        cr_expect(attr.disabled && attr.mmap_data && !attr.inherit && !attr.watermark && !attr.sample_id_all);
    }
}

Test(byte_order, attr_that_is_cut_stays_inside)
{
    for (size_t bytes = 0; bytes <= ATTR_BYTES; bytes++) {
        uint8_t attr[ATTR_BYTES + 8];
        memset(attr, 0xa5, sizeof(attr));
        attr[7] = 0x01; /* the lowest byte of size */
        weir_byte_order_turn_attr(attr, bytes);
        cr_expect_eq(attr[4], bytes >= 8 ? 0x01 : 0xa5);
        for (size_t i = bytes; i < sizeof(attr); i++)
            cr_expect(attr[i] == (i == 7 ? 0x01 : 0xa5), "byte %zu of %zu", i, bytes);
    }
}

Test(byte_order, action_of_an_aux_event)
{
    struct perf_event_attr attr = {.size = 0};
    ((uint8_t *)&attr)[116] = 0x20; /* the third bit from the highest one on */
    weir_byte_order_turn_attr((uint8_t *)&attr, sizeof(attr));
    cr_expect_eq(attr.aux_action, 4u); /* aux_resume */
}

/* The features of a machine with a long of 4 bytes; of one that says none, nothing is guessed. */
Test(byte_order, feature_bits_are_words_of_either_size)
{
    struct weir_perf_header wide = {.features = {__builtin_bswap64(0x1000000028)}};
    struct weir_perf_header narrow = {
        .features = {__builtin_bswap64(0x1000000028) >> 32 | __builtin_bswap64(0x1000000028) << 32}};
    struct weir_perf_header neither = {.features = {__builtin_bswap64(2)}};
    weir_byte_order_turn_header(&wide);
    weir_byte_order_turn_header(&narrow);
    weir_byte_order_turn_header(&neither);
    cr_expect_eq(wide.features[0], 0x1000000028u);
    cr_expect_eq(narrow.features[0], 0x1000000028u);
    cr_expect_eq(neither.features[0], 2u);
}

/* A record of each type in each size, of bytes that are all counts that lead too far. */
Test(byte_order, no_record_leads_outside)
{
    struct perf_event_attr attr = {.size = ATTR_BYTES, .sample_type = (1u << 25) - 1, .sample_id_all = 1};
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
    attr.sample_regs_user = attr.sample_regs_intr = UINT64_MAX;
    const uint64_t id = UINT64_MAX;
    const struct weir_input_attr entry = {
        .attr = (const uint8_t *)&attr, .attr_bytes = sizeof(attr), .ids = (const uint8_t *)&id, .id_count = 1};
    struct weir_input_events events = {.list = NULL};
    cr_assert_eq(weir_input_events_add(&events, &entry, NULL), 0);
    for (uint32_t type = 0; type < 100; type++) {
        for (size_t bytes = 8; bytes < 700; bytes++) {
            uint8_t record[704];
            memset(record, 0xff, sizeof(record));
            const uint32_t turned = __builtin_bswap32(type);
            memcpy(record, &turned, sizeof(turned));
            weir_byte_order_turn_record(&events, record, bytes);
            cr_expect_eq(weir_load_u32(record), type);
            for (size_t i = bytes; i < sizeof(record); i++)
                cr_assert_eq(record[i], 0xff, "type %u of %zu bytes", type, bytes);
        }
    }
    weir_input_events_fini(&events);
}

Test(byte_order, no_feature_leads_outside)
{
    for (unsigned bit = 0; bit < 40; bit++) {
        for (size_t bytes = 0; bytes < 200; bytes++) {
            uint8_t payload[208];
            memset(payload, 0x7f, sizeof(payload));
            memset(payload, 0, bytes < 3 ? bytes : 3); /* a count that is not too great, and more of them */
            weir_byte_order_turn_feature(bit, payload, bytes);
            for (size_t i = bytes; i < sizeof(payload); i++)
                cr_assert_eq(payload[i], 0x7f, "feature %u of %zu bytes", bit, bytes);
        }
    }
}

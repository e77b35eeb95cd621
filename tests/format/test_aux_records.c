/* AUXTRACE_INFO and AUXTRACE: every byte by hand from perf's event.h. */
#include "format/aux_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

Test(aux_records, auxtrace_fills_its_48_bytes_and_no_more)
{
    const struct weir_auxtrace auxtrace = {
        .bytes = 0x1118,
        .offset = 0x0102030405060708,
        .reference = 0x2221,
        .index = 0x33,
        .task = -1,
        .cpu = 5,
    };
    static const uint8_t expected[] = {
        71,   0,    0,    0,    0, 0, 48, 0, /* AUXTRACE, its own size */
        0x18, 0x11, 0,    0,    0, 0, 0,  0, /* bytes behind it */
        8,    7,    6,    5,    4, 3, 2,  1, /* offset */
        0x21, 0x22, 0,    0,    0, 0, 0,  0, /* reference */
        0x33, 0,    0,    0,                 /* area */
        0xff, 0xff, 0xff, 0xff,              /* any task */
        5,    0,    0,    0,    0, 0, 0,  0, /* CPU, reserved */
    };
    uint8_t room[2 + WEIR_AUXTRACE_RECORD_BYTES + 2];
    memset(room, 0xaa, sizeof(room));
    weir_auxtrace_write(room + 1, &auxtrace); /* of no alignment */
    cr_expect_arr_eq(room + 1, expected, sizeof(expected));
    cr_expect(room[0] == 0xaa && room[1 + sizeof(expected)] == 0xaa && room[2 + sizeof(expected)] == 0xaa);

    struct weir_auxtrace read = weir_auxtrace_read(room + 1);
    cr_expect_eq(read.bytes, auxtrace.bytes);
    cr_expect_eq(read.offset, auxtrace.offset);
    cr_expect_eq(read.reference, auxtrace.reference);
    cr_expect(read.index == 0x33 && read.task == -1 && read.cpu == 5);
}

Test(aux_records, info_has_its_type_and_words)
{
    struct weir_buf out = WEIR_BUF_INIT;
    const uint64_t words[] = {7, 0x0102030405060708};
    static const uint8_t expected[] = {
        70, 0, 0, 0, 0, 0, 32, 0, /* AUXTRACE_INFO, size */
        2,  0, 0, 0, 0, 0, 0,  0, /* intel_bts, reserved */
        7,  0, 0, 0, 0, 0, 0,  0, /* words */
        8,  7, 6, 5, 4, 3, 2,  1, /* ... */
        70, 0, 0, 0, 0, 0, 16, 0, /* without any */
        4,  0, 0, 0, 0, 0, 0,  0, /* arm_spe */
    };
    cr_assert_eq(weir_auxtrace_info_append(&out, WEIR_AUX_INTEL_BTS, words, 2), 0);
    cr_assert_eq(weir_auxtrace_info_append(&out, WEIR_AUX_ARM_SPE, NULL, 0), 0);
    cr_assert_eq(out.used, sizeof(expected));
    cr_assert_arr_eq(out.data, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(aux_records, info_is_a_record_up_to_its_limit)
{
    struct weir_buf out = WEIR_BUF_INIT;
    uint64_t *words = calloc(WEIR_AUXTRACE_INFO_WORDS_MAX, sizeof(*words));
    cr_assert_not_null(words);
    words[WEIR_AUXTRACE_INFO_WORDS_MAX - 1] = 77;
    cr_assert_eq(weir_auxtrace_info_append(&out, WEIR_AUX_CS_ETM, words, WEIR_AUXTRACE_INFO_WORDS_MAX), 0);
    struct perf_event_header header;
    memcpy(&header, out.data, sizeof(header));
    cr_expect_eq(header.size, out.used);
    cr_expect_eq(out.data[out.used - 8], 77);
    free(words);
    weir_buf_fini(&out);
}

Test(aux_records, failed_buffer_is_told)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_buf_fail(&out, -ENOMEM);
    cr_expect_eq(weir_auxtrace_info_append(&out, WEIR_AUX_INTEL_PT, NULL, 0), -ENOMEM);
    weir_buf_fini(&out);
}

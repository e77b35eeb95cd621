/* Records that user space adds: every byte, by hand from include/uapi/linux/perf_event.h. */
#include "format/records.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void expect_bytes(const struct weir_buf *out, const uint8_t *expected, size_t bytes)
{
    cr_assert_eq(out->used, bytes, "%zu bytes instead of %zu", out->used, bytes);
    for (size_t i = 0; i < bytes; i++)
        cr_expect_eq(out->data[i], expected[i], "byte %zu is %#x instead of %#x", i, out->data[i], expected[i]);
}

static struct perf_event_header header_of(const struct weir_buf *out)
{
    struct perf_event_header header;
    cr_assert_geq(out->used, sizeof(header));
    memcpy(&header, out->data, sizeof(header));
    return header;
}

static const struct weir_record_map user_map = {
    .pid = 0x101,
    .tid = 0x102,
    .start = 0x7f0000001000,
    .bytes = 0x2000,
    .page_offset = 0x3000,
    .major = 8,
    .minor = 1,
    .inode = 0x55,
    .inode_generation = 0x66,
    .protection = PROT_READ | PROT_EXEC,
    .flags = MAP_PRIVATE,
    .cpumode = PERF_RECORD_MISC_USER,
    .filename = "/bin/ab",
};

Test(records, padding_of_a_size_that_is_no_record_is_refused, .signal = SIGABRT)
{
    uint8_t space[32];
    weir_record_fill_padding(space, 20);
}

Test(records, padding_without_room_for_an_event_id_is_refused, .signal = SIGABRT)
{
    uint8_t space[8];
    weir_record_fill_padding(space, sizeof(space));
}

Test(records, padding_beyond_the_longest_record_is_refused, .signal = SIGABRT)
{
    static uint8_t space[WEIR_RECORD_MAX_BYTES + 8];
    weir_record_fill_padding(space, sizeof(space));
}

Test(records, trailer_that_is_no_multiple_of_eight_is_refused, .signal = SIGABRT)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_mmap2(&out, &user_map, 12);
}

Test(records, name_too_long_for_a_record_is_cut_to_the_longest_one)
{
    char *name = malloc(100001);
    memset(name, 'n', 100000);
    name[100000] = '\0';
    struct weir_record_map map = user_map;
    map.filename = name;

    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_mmap2(&out, &map, 32);
    cr_expect_eq(header_of(&out).size, 65528);
    cr_expect_eq(out.used, 65528);
    cr_expect_eq(strlen((const char *)out.data + 72), 65528 - 72 - 32 - 1);

    weir_buf_reset(&out);
    weir_record_mmap(&out, &map, 0);
    cr_expect_eq(out.used, 65528);
    cr_expect_eq(strlen((const char *)out.data + 40), 65528 - 40 - 1);
    weir_buf_fini(&out);
    free(name);
}

Test(records, comm_is_cut_at_fifteen_bytes)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_comm(&out, 1, 1, "0123456789abcdefgh", 0, 0);
    cr_expect_eq(out.used, 32);
    cr_expect_str_eq((const char *)out.data + 16, "0123456789abcde");
    weir_buf_fini(&out);
}

Test(records, mmap2_with_build_id_in_the_place_of_the_inode)
{
    struct weir_buf out = WEIR_BUF_INIT;
    const struct weir_build_id none = {0}, id = {.bytes = 3, .data = {0xa, 0xb, 0xc}};
    struct weir_record_map map = user_map;
    map.build_id = &none;
    weir_record_mmap2(&out, &map, 0);
    struct weir_buf without = WEIR_BUF_INIT;
    weir_record_mmap2(&without, &user_map, 0);
    expect_bytes(&out, without.data, without.used);
    weir_buf_reset(&out);

    map.build_id = &id;
    weir_record_mmap2(&out, &map, 0);
    static const uint8_t expected[80] = {
        10,   0,    0,   0,   2,   0x40, 80,  0,                         /* MMAP2, USER and MMAP_BUILD_ID, size */
        1,    1,    0,   0,   2,   1,    0,   0,                         /* pid, tid */
        0x00, 0x10, 0,   0,   0,   0x7f, 0,   0,                         /* start */
        0x00, 0x20, 0,   0,   0,   0,    0,   0,                         /* bytes */
        0x00, 0x30, 0,   0,   0,   0,    0,   0,                         /* page offset */
        3,    0,    0,   0,   0xa, 0xb,  0xc, 0,                         /* size of the id, reserved, id */
        0,    0,    0,   0,   0,   0,    0,   0,                         /* to its 20 bytes */
        0,    0,    0,   0,   0,   0,    0,   0, 5, 0, 0, 0, 2, 0, 0, 0, /* protection, flags */
        '/',  'b',  'i', 'n', '/', 'a',  'b', 0,
    };
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&without);
    weir_buf_fini(&out);
}

Test(records, mmap2_with_trailer)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_mmap2(&out, &user_map, 16);
    static const uint8_t expected[96] = {
        10,   0,    0,   0,   2,   0,    96,  0, /* MMAP2, USER, size */
        1,    1,    0,   0,   2,   1,    0,   0, /* pid, tid */
        0x00, 0x10, 0,   0,   0,   0x7f, 0,   0, /* start */
        0x00, 0x20, 0,   0,   0,   0,    0,   0, /* bytes */
        0x00, 0x30, 0,   0,   0,   0,    0,   0, /* page offset */
        8,    0,    0,   0,   1,   0,    0,   0, /* major, minor */
        0x55, 0,    0,   0,   0,   0,    0,   0, /* inode */
        0x66, 0,    0,   0,   0,   0,    0,   0, /* generation */
        5,    0,    0,   0,   2,   0,    0,   0, /* protection, flags */
        '/',  'b',  'i', 'n', '/', 'a',  'b', 0, /* 7 bytes and a zero: no further padding */
    };
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(records, name_of_eight_bytes_takes_sixteen)
{
    struct weir_record_map map = user_map;
    map.filename = "/bin/abc";
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_mmap2(&out, &map, 0);
    cr_expect_eq(out.used, 72 + 16);
    weir_buf_fini(&out);
}

Test(records, mmap_of_the_kernel)
{
    const struct weir_record_map map = {
        .pid = -1,
        .tid = 0,
        .start = 0xffffffff81000000,
        .bytes = 0x1000000,
        .page_offset = 0xffffffff81000000,
        .cpumode = PERF_RECORD_MISC_KERNEL,
        .filename = "[k]_text",
    };
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_mmap(&out, &map, 8);
    static const uint8_t expected[64] = {
        1,    0,    0,    0,    1,    0,    64,   0,    /* MMAP, KERNEL and nothing else, size */
        0xff, 0xff, 0xff, 0xff, 0,    0,    0,    0,    /* pid -1, tid 0 */
        0,    0,    0,    0x81, 0xff, 0xff, 0xff, 0xff, /* start */
        0,    0,    0,    1,    0,    0,    0,    0,    /* bytes */
        0,    0,    0,    0x81, 0xff, 0xff, 0xff, 0xff, /* page offset */
        '[',  'k',  ']',  '_',  't',  'e',  'x',  't',  /* name; then its zero, padding and the trailer */
    };
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(records, user_map_without_code_is_marked_as_data)
{
    struct weir_record_map map = user_map;
    map.protection = PROT_READ | PROT_WRITE;
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_mmap2(&out, &map, 0);
    cr_expect_eq(header_of(&out).misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
    weir_buf_reset(&out);
    weir_record_mmap(&out, &map, 0);
    cr_expect_eq(header_of(&out).misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
    weir_buf_fini(&out);
}

Test(records, comm_with_and_without_exec)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_comm(&out, 0x11, 0x12, "ab", 0, 8);
    static const uint8_t expected[32] = {
        3,    0,   0, 0, 0,    0, 32, 0, /* COMM, no misc, size */
        0x11, 0,   0, 0, 0x12, 0, 0,  0, /* pid, tid */
        'a',  'b',                       /* comm in 8 bytes; trailer in 8 */
    };
    expect_bytes(&out, expected, sizeof(expected));

    weir_buf_reset(&out);
    weir_record_comm(&out, 0x11, 0x12, "ab", 1, 8);
    cr_expect_eq(header_of(&out).misc, 0x2000);
    weir_buf_fini(&out);
}

Test(records, fork_tells_readers_not_to_copy_the_parents_maps)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_fork(&out, 1, 2, 3, 4, 8);
    static const uint8_t expected[40] = {
        7, 0, 0, 0, 0, 0x20, 40, 0, /* FORK, FORK_EXEC, size */
        1, 0, 0, 0, 2, 0,    0,  0, /* pid, ppid */
        3, 0, 0, 0, 4, 0,    0,  0, /* tid, ptid; time and trailer are zero */
    };
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(records, round_and_init_are_bare_headers)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_finished_round(&out);
    weir_record_finished_init(&out);
    static const uint8_t expected[16] = {68, 0, 0, 0, 0, 0, 8, 0, 82, 0, 0, 0, 0, 0, 8, 0};
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(records, lost_samples_name_their_event_at_both_ends)
{
    const struct weir_record_sample_id trailer = {
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
        .pid = 1,
        .tid = 2,
        .time_ns = 3,
        .id = 4,
        .stream_id = 5,
        .cpu = 6,
    };
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_lost_samples(&out, 0x0102030405, &trailer);
    static const uint8_t expected[64] = {
        13, 0, 0, 0, 0, 0, 64, 0, /* LOST_SAMPLES, size */
        5,  4, 3, 2, 1, 0, 0,  0, /* lost */
        1,  0, 0, 0, 2, 0, 0,  0, /* pid, tid */
        3,  0, 0, 0, 0, 0, 0,  0, /* time */
        4,  0, 0, 0, 0, 0, 0,  0, /* ID */
        5,  0, 0, 0, 0, 0, 0,  0, /* STREAM_ID */
        6,  0, 0, 0, 0, 0, 0,  0, /* cpu, reserved */
        4,  0, 0, 0, 0, 0, 0,  0, /* IDENTIFIER */
    };
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(records, lost_samples_without_sampled_fields_have_no_trailer)
{
    const struct weir_record_sample_id trailer = {.sample_type = PERF_SAMPLE_IP, .id = 4};
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_lost_samples(&out, 9, &trailer);
    static const uint8_t expected[16] = {13, 0, 0, 0, 0, 0, 16, 0, 9};
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

Test(records, padding_is_one_record_of_the_deprecated_type_from_least_to_greatest)
{
    static uint8_t space[WEIR_RECORD_MAX_BYTES];
    static const size_t sizes[] = {16, 24, 4096, 65528};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(space, 0xee, sizeof(space));
        weir_record_fill_padding(space, sizes[i]);
        struct perf_event_header header;
        memcpy(&header, space, sizeof(header));
        cr_expect_eq(header.type, 65);
        cr_expect_eq(header.misc, 0);
        cr_expect_eq(header.size, sizes[i]);
        for (size_t at = sizeof(header); at < sizes[i]; at++)
            cr_assert_eq(space[at], 0, "byte %zu of %zu", at, sizes[i]);
        if (sizes[i] < sizeof(space))
            cr_expect_eq(space[sizes[i]], 0xee, "wrote beyond %zu bytes", sizes[i]);
    }
}

Test(records, bpf_program_is_a_symbol_and_an_event)
{
    struct weir_buf out = WEIR_BUF_INIT;
    static const uint8_t tag[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    weir_record_ksymbol(&out, 0xffffffffa0001000, 0x123, "bpf_prog", 8);
    weir_record_bpf_event(&out, 42, tag, 8);
    static const uint8_t expected[] = {
        17,   0,    0,   0,    0,    0,    48,   0,    /* KSYMBOL, size */
        0x00, 0x10, 0,   0xa0, 0xff, 0xff, 0xff, 0xff, /* address */
        0x23, 1,    0,   0,    1,    0,    0,    0,    /* bytes, TYPE_BPF, flags */
        'b',  'p',  'f', '_',  'p',  'r',  'o',  'g',  /* name */
        0,    0,    0,   0,    0,    0,    0,    0,    /* its zero */
        0,    0,    0,   0,    0,    0,    0,    0,    /* trailer */
        18,   0,    0,   0,    0,    0,    32,   0,    /* BPF_EVENT, size */
        1,    0,    0,   0,    42,   0,    0,    0,    /* PROG_LOAD, flags, id */
        1,    2,    3,   4,    5,    6,    7,    8,    /* tag */
        0,    0,    0,   0,    0,    0,    0,    0,    /* trailer */
    };
    expect_bytes(&out, expected, sizeof(expected));
    weir_buf_fini(&out);
}

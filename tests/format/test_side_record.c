/* Side records taken apart: what the builders make (their bytes are tested by hand), cut at every byte, and trailers.
 */
#include "format/side_record.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define TRAILER     32u /* TID, TIME, CPU, IDENTIFIER */
#define TIME_OFFSET 8u

static const struct weir_side_layout layout = {.trailer_bytes = TRAILER, .time_offset = TIME_OFFSET};

static const struct weir_record_map map = {
    .pid = 7,
    .tid = 8,
    .start = 0x1000,
    .bytes = 0x2000,
    .page_offset = 0x3000,
    .major = 8,
    .minor = 1,
    .inode = 55,
    .inode_generation = 66,
    .protection = PROT_READ | PROT_EXEC,
    .flags = MAP_PRIVATE,
    .cpumode = PERF_RECORD_MISC_USER,
    .filename = "/bin/ab",
};

/* Writes the time into the trailer of the record that ends the buffer. */
static void set_time(const struct weir_buf *out, uint64_t time_ns)
{
    memcpy(out->data + out->used - TRAILER + TIME_OFFSET, &time_ns, sizeof(time_ns));
}

Test(side_record, header_that_cannot_be_is_refused)
{
    struct weir_side_record record;
    uint8_t data[16] = {0};
    cr_assert_eq(weir_side_record_parse(&layout, data, sizeof(data), &record), -EBADMSG);
    data[6] = 12;
    cr_assert_eq(weir_side_record_parse(&layout, data, sizeof(data), &record), -EBADMSG);
}

Test(side_record, record_that_is_cut_is_not_taken)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_record_mmap2(&out, &map, TRAILER);
    for (size_t cut = 0; cut < out.used; cut++)
        cr_expect_eq(weir_side_record_parse(&layout, out.data, cut, &record), 0, "cut at %zu", cut);
    weir_buf_fini(&out);
}

/* A header that promises less than the type needs: passed over whole, never read beyond. */
Test(side_record, record_too_short_for_its_type_is_passed_over)
{
    static const uint32_t types[] = {PERF_RECORD_FORK, PERF_RECORD_EXIT,  PERF_RECORD_COMM,
                                     PERF_RECORD_MMAP, PERF_RECORD_MMAP2, PERF_RECORD_BPF_EVENT};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (uint16_t bytes = 8; bytes <= TRAILER + 16; bytes += 8) {
            uint8_t data[TRAILER + 16];
            struct perf_event_header header = {.type = types[i], .size = bytes};
            struct weir_side_record record;
            memset(data, 0xff, sizeof(data));
            memcpy(data, &header, sizeof(header));
            cr_expect_eq(weir_side_record_parse(&layout, data, bytes, &record), bytes);
            cr_expect_eq(record.type, 0, "type %u of %u bytes", types[i], bytes);
        }
    }
}

Test(side_record, name_without_its_zero_is_passed_over)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_record_mmap2(&out, &map, TRAILER);
    memset(out.data + 72, 'x', out.used - TRAILER - 72);
    cr_assert_eq(weir_side_record_parse(&layout, out.data, out.used, &record), (int)out.used);
    cr_assert_eq(record.type, 0);
    weir_buf_fini(&out);
}

Test(side_record, others_are_passed_over)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_record_finished_round(&out);
    cr_assert_eq(weir_side_record_parse(&layout, out.data, out.used, &record), 8);
    cr_assert_eq(record.type, 0);
    weir_buf_fini(&out);
}

Test(side_record, map_comes_back_as_it_was_built)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_record_mmap2(&out, &map, TRAILER);
    set_time(&out, 99);
    cr_assert_eq(weir_side_record_parse(&layout, out.data, out.used, &record), (int)out.used);
    cr_assert_eq(record.type, PERF_RECORD_MMAP2);
    cr_assert_eq(record.time_ns, 99);
    cr_assert_eq(record.pid, 7);
    cr_assert_eq(record.tid, 8);
    cr_assert_str_eq(record.map.filename, "/bin/ab");
    cr_assert_eq(record.map.start, 0x1000);
    cr_assert_eq(record.map.bytes, 0x2000);
    cr_assert_eq(record.map.page_offset, 0x3000);
    cr_assert_eq(record.map.major, 8);
    cr_assert_eq(record.map.minor, 1);
    cr_assert_eq(record.map.inode, 55);
    cr_assert_eq(record.map.inode_generation, 66);
    cr_assert_eq(record.map.protection, PROT_READ | PROT_EXEC);
    cr_assert_eq(record.map.flags, MAP_PRIVATE);
    cr_assert_eq(record.map.cpumode, PERF_RECORD_MISC_USER);
    cr_assert_eq(record.build_id.bytes, 0);
    weir_buf_fini(&out);
}

/* struct { u8 size, reserved; u16 reserved; u8 id[20] } in the place of device and inode. */
Test(side_record, build_id_of_a_map_goes_before_its_inode)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    struct perf_event_header header;
    weir_record_mmap2(&out, &map, TRAILER);
    memcpy(&header, out.data, sizeof(header));
    header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
    memcpy(out.data, &header, sizeof(header));
    memset(out.data + 40, 0xab, 24);
    out.data[40] = 16;
    cr_assert_eq(weir_side_record_parse(&layout, out.data, out.used, &record), (int)out.used);
    cr_assert_eq(record.build_id.bytes, 16);
    cr_assert_eq(record.build_id.data[15], 0xab);
    cr_assert_eq(record.build_id.data[16], 0);
    cr_assert_eq(record.map.inode, 0);
    out.data[40] = 0xff;
    weir_side_record_parse(&layout, out.data, out.used, &record);
    cr_assert_eq(record.build_id.bytes, 20);
    weir_buf_fini(&out);
}

Test(side_record, tasks_and_names_come_back)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_record_fork(&out, 10, 1, 11, 2, TRAILER);
    int bytes = weir_side_record_parse(&layout, out.data, out.used, &record);
    cr_assert_eq(bytes, (int)out.used);
    cr_assert_eq(record.type, PERF_RECORD_FORK);
    cr_assert(record.pid == 10 && record.ppid == 1 && record.tid == 11 && record.ptid == 2);
    cr_assert(record.misc & PERF_RECORD_MISC_FORK_EXEC);

    weir_record_comm(&out, 10, 11, "name", 1, TRAILER);
    set_time(&out, 5);
    cr_assert_gt(weir_side_record_parse(&layout, out.data + bytes, out.used - (size_t)bytes, &record), 0);
    cr_assert_eq(record.type, PERF_RECORD_COMM);
    cr_assert_str_eq(record.comm, "name");
    cr_assert(record.misc & PERF_RECORD_MISC_COMM_EXEC);
    cr_assert_eq(record.time_ns, 5);
    weir_buf_fini(&out);
}

Test(side_record, layout_follows_the_attr)
{
    struct weir_side_layout of_attr;
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER};
    weir_side_layout_init(&of_attr, &attr);
    cr_assert(of_attr.trailer_bytes == 0 && of_attr.time_offset == 0, "no trailer without sample_id_all");
    attr.sample_id_all = 1;
    weir_side_layout_init(&of_attr, &attr);
    cr_assert(of_attr.trailer_bytes == 24 && of_attr.time_offset == 8);
    attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    weir_side_layout_init(&of_attr, &attr);
    cr_assert(of_attr.trailer_bytes == 16 && of_attr.time_offset == 0);
    attr.sample_type = PERF_SAMPLE_TID;
    weir_side_layout_init(&of_attr, &attr);
    cr_assert(of_attr.trailer_bytes == 8 && of_attr.time_offset == 8, "no time");
}

Test(side_record, lost_records_are_of_no_task_and_counted)
{
    const struct {
        struct perf_event_header header;
        uint64_t id, lost;
        uint8_t trailer[TRAILER];
    } record = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)}, .id = 5, .lost = 1000};
    struct weir_side_record parsed;
    cr_assert_eq(weir_side_record_parse(&layout, (const uint8_t *)&record, sizeof(record), &parsed),
                 (int)sizeof(record));
    cr_expect_eq(parsed.type, PERF_RECORD_LOST);
    cr_expect_eq(parsed.lost, 1000);
    cr_expect_eq(parsed.pid, -1);
    cr_expect_eq(parsed.tid, -1);
}

Test(side_record, loaded_bpf_program_is_known_by_its_id)
{
    const uint8_t tag[8] = {1, 2, 3};
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_record_bpf_event(&out, 77, tag, TRAILER);
    cr_assert_eq(weir_side_record_parse(&layout, out.data, out.used, &record), (int)out.used);
    cr_assert_eq(record.type, PERF_RECORD_BPF_EVENT);
    cr_assert_eq(record.bpf_program, 77);
    out.data[8] = PERF_BPF_EVENT_PROG_UNLOAD;
    cr_assert_eq(weir_side_record_parse(&layout, out.data, out.used, &record), (int)out.used);
    cr_assert_eq(record.bpf_program, 0, "of what is gone there is nothing to read");
    weir_buf_fini(&out);
}

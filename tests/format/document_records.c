/* Head, records and the beginning of a stream, as docs/format.md has them; see document_structures.h. */
#include "tests/format/document_structures.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "format/aux_records.h"
#include "format/early_features.h"
#include "format/head.h"
#include "format/index_records.h"
#include "format/ledger_record.h"
#include "format/merge_record.h"
#include "format/pipe_head.h"
#include "format/records.h"
#include "format/timeline_record.h"
#include "format/zstd_pack.h"
#include "tests/format/sample_machine.h"

#define TRAILER_BYTES 40u
#define ID_ROOM       3u
#define HEADER_BYTES  8u

static const uint64_t first_ids[] = {0x1a1, 0x1a2}, second_ids[] = {0x2b1};
static const uint8_t zeros[256];

static void take_first(struct byte_sample *sample, struct weir_buf *from, size_t offset, size_t bytes)
{
    cr_assert_leq(offset + bytes, from->used);
    weir_buf_append(&sample->bytes, from->data + offset, bytes);
    weir_buf_fini(from);
}

/* ---- the head ---- */

/* Two events of 112 bytes of attr, and machine facts in the early features. */
static void build_head(struct weir_buf *out, uint64_t *attrs_offset)
{
    struct weir_event_desc events[] = {
        {.name = "cpu-clock", .ids = first_ids, .id_count = 2},
        {.name = "cycles", .ids = second_ids, .id_count = 1, .attr.sample_max_stack = 64},
    };
    struct weir_machine machine = sample_machine();
    const struct weir_features_input early = {.machine = &machine};
    const struct weir_head_input input = {
        .events = events,
        .event_count = 2,
        .id_room = ID_ROOM,
        .data_bytes = 0x123456,
        .features = {0x11, 0x22, 0x33, 0x44},
        .early = &early,
    };
    cr_assert_eq(weir_head_build(out, &input), 0);
    *attrs_offset = 104 + 2 * ID_ROOM * sizeof(uint64_t);
}

static void write_header(struct byte_sample *sample)
{
    static const uint64_t features[] = {0x11, 0x22, 0x33, 0x44};
    struct weir_buf head = WEIR_BUF_INIT;
    uint64_t attrs_offset;
    build_head(&head, &attrs_offset);
    byte_sample_text(sample, "magic", "PERFILE2");
    byte_sample_number(sample, "size", 104);
    byte_sample_number(sample, "attr_size", 112 + 16);
    byte_sample_number(sample, "attrs.offset", attrs_offset);
    byte_sample_number(sample, "attrs.size", 2 * (112 + 16));
    byte_sample_number(sample, "data.offset", head.used);
    byte_sample_number(sample, "data.size", 0x123456);
    byte_sample_number(sample, "event_types.offset", 0);
    byte_sample_number(sample, "event_types.size", 0);
    byte_sample_bytes(sample, "features", features, sizeof(features));
    take_first(sample, &head, 0, sizeof(struct weir_perf_header));
}

/* The second one: its ids do not stand where the first one's do. */
static void write_attr_entry(struct byte_sample *sample)
{
    struct weir_buf head = WEIR_BUF_INIT;
    uint64_t attrs_offset;
    build_head(&head, &attrs_offset);
    byte_sample_length(sample, 'a', 112);
    byte_sample_part(sample, "attr");
    byte_sample_number(sample, "ids.offset", 104 + ID_ROOM * sizeof(uint64_t));
    byte_sample_number(sample, "ids.size", sizeof(second_ids));
    take_first(sample, &head, attrs_offset + 112 + 16, 112 + 16);
}

static void write_attr(struct byte_sample *sample)
{
    const struct perf_event_attr attr = {
        .type = 0x01020304,
        .config = 0x11,
        .sample_period = 0x12,
        .sample_type = 0x13,
        .read_format = 0x14,
        .inherit = 1,
        .wakeup_events = 0x15,
        .bp_type = 0x16,
        .config1 = 0x17,
        .config2 = 0x18,
        .branch_sample_type = 0x19,
        .sample_regs_user = 0x1a,
        .sample_stack_user = 0x1b,
        .clockid = -2,
        .sample_regs_intr = 0x1c,
        .aux_watermark = 0x1d,
        .sample_max_stack = 0x1e,
        .aux_sample_size = 0x1f,
        .aux_action = 0x21,
        .sig_data = 0x20,
        .config3 = 0x22,
        .config4 = 0x23,
    };
    static const char *const words[] = {"config", "sample_period or sample_freq", "sample_type", "read_format"};
    static const uint64_t word_values[] = {0x11, 0x12, 0x13, 0x14};
    weir_attr_append(&sample->bytes, &attr, PERF_ATTR_SIZE_VER9);
    byte_sample_number(sample, "type", 0x01020304);
    byte_sample_number(sample, "size", PERF_ATTR_SIZE_VER9);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++)
        byte_sample_number(sample, words[i], word_values[i]);
    byte_sample_number(sample, "flags", 1u << 1); /* inherit */
    byte_sample_number(sample, "wakeup_events or wakeup_watermark", 0x15);
    byte_sample_number(sample, "bp_type", 0x16);
    byte_sample_number(sample, "config1 or bp_addr", 0x17);
    byte_sample_number(sample, "config2 or bp_len", 0x18);
    byte_sample_number(sample, "branch_sample_type", 0x19);
    byte_sample_number(sample, "sample_regs_user", 0x1a);
    byte_sample_number(sample, "sample_stack_user", 0x1b);
    byte_sample_number(sample, "clockid", UINT32_MAX - 1);
    byte_sample_number(sample, "sample_regs_intr", 0x1c);
    byte_sample_number(sample, "aux_watermark", 0x1d);
    byte_sample_number(sample, "sample_max_stack", 0x1e);
    byte_sample_number(sample, "reserved", 0);
    byte_sample_number(sample, "aux_sample_size", 0x1f);
    byte_sample_number(sample, "aux_action", 0x21);
    byte_sample_number(sample, "sig_data", 0x20);
    byte_sample_number(sample, "config3", 0x22);
    byte_sample_number(sample, "config4", 0x23);
}

static void write_early_header(struct byte_sample *sample)
{
    struct weir_buf head = WEIR_BUF_INIT;
    uint64_t attrs_offset;
    struct weir_early_header early;
    build_head(&head, &attrs_offset);
    size_t at = weir_align_up(attrs_offset + 2 * (112 + 16), 8);
    memcpy(&early, head.data + at, sizeof(early));
    cr_assert(early.checksum != 0 && weir_early_features_are_whole(&early, head.data + at + sizeof(early)));
    byte_sample_text(sample, "magic", "WIREARLY");
    byte_sample_number(sample, "bytes", early.bytes);
    byte_sample_number(sample, "checksum", early.checksum);
    static uint64_t features[4]; /* as sample_machine() has them; the first words of what features.c writes */
    memcpy(features, early.features, sizeof(features));
    cr_assert(features[0] & 1u << WEIR_FEATURE_HOSTNAME);
    byte_sample_bytes(sample, "features", features, sizeof(features));
    take_first(sample, &head, at, sizeof(early));
}

/* ---- records of the kernel's types ---- */

static void write_event_header(struct byte_sample *sample)
{
    weir_record_fork(&sample->bytes, 1, 2, 3, 4, 0);
    sample->bytes.used = HEADER_BYTES;
    byte_sample_number(sample, "type", PERF_RECORD_FORK);
    byte_sample_number(sample, "misc", PERF_RECORD_MISC_FORK_EXEC);
    byte_sample_number(sample, "size", 32);
}

static const struct weir_record_sample_id all_of_a_trailer = {
    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                   PERF_SAMPLE_IDENTIFIER,
    .pid = 0x31,
    .tid = 0x32,
    .time_ns = 0x3300000000,
    .id = 0x34,
    .stream_id = 0x35,
    .cpu = 0x36,
};

static void write_sample_id(struct byte_sample *sample)
{
    struct weir_buf record = WEIR_BUF_INIT;
    weir_record_lost_samples(&record, 7, &all_of_a_trailer);
    byte_sample_number(sample, "pid", 0x31);
    byte_sample_number(sample, "tid", 0x32);
    byte_sample_number(sample, "time", 0x3300000000);
    byte_sample_number(sample, "id", 0x34);
    byte_sample_number(sample, "stream_id", 0x35);
    byte_sample_number(sample, "cpu", 0x36);
    byte_sample_number(sample, "reserved", 0);
    byte_sample_number(sample, "identifier", 0x34);
    take_first(sample, &record, 16, record.used - 16);
}

static void expect_trailer(struct byte_sample *sample)
{
    byte_sample_length(sample, 't', TRAILER_BYTES);
    byte_sample_bytes(sample, "sample_id", zeros, TRAILER_BYTES);
}

static const struct weir_record_map a_map = {
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
    .filename = "/bin/abcd",
};

static void expect_map(struct byte_sample *sample, uint32_t type, uint16_t misc)
{
    byte_sample_header(sample, type, misc);
    byte_sample_number(sample, "pid", a_map.pid);
    byte_sample_number(sample, "tid", a_map.tid);
    byte_sample_number(sample, "addr", a_map.start);
    byte_sample_number(sample, "len", a_map.bytes);
    byte_sample_number(sample, "pgoff", a_map.page_offset);
}

static void expect_filename(struct byte_sample *sample)
{
    byte_sample_length(sample, 'n', 16);
    byte_sample_text(sample, "filename", a_map.filename);
    expect_trailer(sample);
}

static void write_mmap(struct byte_sample *sample)
{
    struct weir_record_map map = a_map;
    map.cpumode = PERF_RECORD_MISC_KERNEL;
    weir_record_mmap(&sample->bytes, &map, TRAILER_BYTES);
    expect_map(sample, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
    expect_filename(sample);
}

static void write_mmap2(struct byte_sample *sample)
{
    weir_record_mmap2(&sample->bytes, &a_map, TRAILER_BYTES);
    expect_map(sample, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    byte_sample_number(sample, "maj", a_map.major);
    byte_sample_number(sample, "min", a_map.minor);
    byte_sample_number(sample, "ino", a_map.inode);
    byte_sample_number(sample, "ino_generation", a_map.inode_generation);
    byte_sample_number(sample, "prot", a_map.protection);
    byte_sample_number(sample, "flags", a_map.flags);
    expect_filename(sample);
}

static void write_mmap2_with_id(struct byte_sample *sample)
{
    static const struct weir_build_id id = {.bytes = 16,
                                            .data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct weir_record_map map = a_map;
    map.build_id = &id;
    weir_record_mmap2(&sample->bytes, &map, TRAILER_BYTES);
    expect_map(sample, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
    byte_sample_number(sample, "build_id_size", id.bytes);
    byte_sample_number(sample, "reserved", 0);
    byte_sample_bytes(sample, "build_id", id.data, id.bytes);
    byte_sample_number(sample, "prot", a_map.protection);
    byte_sample_number(sample, "flags", a_map.flags);
    expect_filename(sample);
}

static void write_comm(struct byte_sample *sample)
{
    weir_record_comm(&sample->bytes, 0x41, 0x42, "a_command", 0, TRAILER_BYTES);
    byte_sample_header(sample, PERF_RECORD_COMM, 0);
    byte_sample_number(sample, "pid", 0x41);
    byte_sample_number(sample, "tid", 0x42);
    byte_sample_length(sample, 'n', 16);
    byte_sample_text(sample, "comm", "a_command");
    expect_trailer(sample);
}

static void write_fork(struct byte_sample *sample)
{
    weir_record_fork(&sample->bytes, 0x41, 0x42, 0x43, 0x44, TRAILER_BYTES);
    byte_sample_header(sample, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC);
    byte_sample_number(sample, "pid", 0x41);
    byte_sample_number(sample, "ppid", 0x42);
    byte_sample_number(sample, "tid", 0x43);
    byte_sample_number(sample, "ptid", 0x44);
    byte_sample_number(sample, "time", 0);
    expect_trailer(sample);
}

static const struct weir_namespace some_namespaces[WEIR_NAMESPACES] = {
    {1, 11}, {2, 12}, {3, 13}, {4, 14}, {5, 15}, {6, 16}, {7, 17},
};

static void write_namespaces(struct byte_sample *sample)
{
    weir_record_namespaces(&sample->bytes, 0x41, 0x42, some_namespaces, TRAILER_BYTES);
    byte_sample_header(sample, PERF_RECORD_NAMESPACES, 0);
    byte_sample_number(sample, "pid", 0x41);
    byte_sample_number(sample, "tid", 0x42);
    byte_sample_number(sample, "nr_namespaces", WEIR_NAMESPACES);
    byte_sample_bytes(sample, "link_info", some_namespaces, sizeof(some_namespaces));
    expect_trailer(sample);
}

static void write_namespace(struct byte_sample *sample)
{
    struct weir_buf record = WEIR_BUF_INIT;
    weir_record_namespaces(&record, 0x41, 0x42, some_namespaces, 0);
    byte_sample_number(sample, "dev", 7);
    byte_sample_number(sample, "ino", 17);
    take_first(sample, &record, record.used - 16, 16);
}

static void write_cgroup(struct byte_sample *sample)
{
    weir_record_cgroup(&sample->bytes, 0x51, "/a/group", TRAILER_BYTES);
    byte_sample_header(sample, PERF_RECORD_CGROUP, 0);
    byte_sample_number(sample, "id", 0x51);
    byte_sample_length(sample, 'n', 16);
    byte_sample_text(sample, "path", "/a/group");
    expect_trailer(sample);
}

static void write_ksymbol(struct byte_sample *sample)
{
    weir_record_ksymbol(&sample->bytes, 0xffffffffa0001000, 0x123, "bpf_prog_x", TRAILER_BYTES);
    byte_sample_header(sample, PERF_RECORD_KSYMBOL, 0);
    byte_sample_number(sample, "addr", 0xffffffffa0001000);
    byte_sample_number(sample, "len", 0x123);
    byte_sample_number(sample, "ksym_type", PERF_RECORD_KSYMBOL_TYPE_BPF);
    byte_sample_number(sample, "flags", 0);
    byte_sample_length(sample, 'n', 16);
    byte_sample_text(sample, "name", "bpf_prog_x");
    expect_trailer(sample);
}

static void write_bpf_event(struct byte_sample *sample)
{
    static const uint8_t tag[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    weir_record_bpf_event(&sample->bytes, 0x61, tag, TRAILER_BYTES);
    byte_sample_header(sample, PERF_RECORD_BPF_EVENT, 0);
    byte_sample_number(sample, "type", PERF_BPF_EVENT_PROG_LOAD);
    byte_sample_number(sample, "flags", 0);
    byte_sample_number(sample, "id", 0x61);
    byte_sample_bytes(sample, "tag", tag, sizeof(tag));
    expect_trailer(sample);
}

static void write_lost_samples(struct byte_sample *sample)
{
    weir_record_lost_samples(&sample->bytes, 0x77, &all_of_a_trailer);
    byte_sample_header(sample, PERF_RECORD_LOST_SAMPLES, 0);
    byte_sample_number(sample, "lost", 0x77);
    byte_sample_length(sample, 't', sample->bytes.used - 16);
    byte_sample_part(sample, "sample_id");
}

/* ---- records of user space's types ---- */

static const struct weir_id_index_entry an_index_entry = {.id = 0x81, .index = 0x82, .cpu = 0x83, .tid = 0x84};

static void write_id_index(struct byte_sample *sample)
{
    weir_record_id_index(&sample->bytes, &an_index_entry, 1);
    byte_sample_header(sample, WEIR_RECORD_ID_INDEX, 0);
    byte_sample_number(sample, "nr", 1);
    byte_sample_length(sample, 'n', 32);
    byte_sample_part(sample, "entries");
}

static void write_id_index_entry(struct byte_sample *sample)
{
    struct weir_buf record = WEIR_BUF_INIT;
    weir_record_id_index(&record, &an_index_entry, 1);
    byte_sample_number(sample, "id", 0x81);
    byte_sample_number(sample, "idx", 0x82);
    byte_sample_number(sample, "cpu", 0x83);
    byte_sample_number(sample, "tid", 0x84);
    take_first(sample, &record, 16, record.used - 16);
}

static void write_auxtrace_info(struct byte_sample *sample)
{
    static const uint64_t words[] = {0x85, 0x86, 0x87};
    cr_assert_eq(weir_auxtrace_info_append(&sample->bytes, WEIR_AUX_CS_ETM, words, 3), 0);
    byte_sample_header(sample, WEIR_RECORD_AUXTRACE_INFO, 0);
    byte_sample_number(sample, "type", 3);
    byte_sample_number(sample, "reserved", 0);
    byte_sample_length(sample, 'n', sizeof(words));
    byte_sample_bytes(sample, "words", words, sizeof(words));
}

static void write_auxtrace(struct byte_sample *sample)
{
    const struct weir_auxtrace auxtrace = {
        .bytes = 0x88, .offset = 0x89, .reference = 0x8a, .index = 0x8b, .task = 0x8c, .cpu = 0x8d};
    void *record = weir_buf_extend(&sample->bytes, WEIR_AUXTRACE_RECORD_BYTES);
    cr_assert_not_null(record);
    weir_auxtrace_write(record, &auxtrace);
    byte_sample_header(sample, WEIR_RECORD_AUXTRACE, 0);
    byte_sample_number(sample, "size", 0x88);
    byte_sample_number(sample, "offset", 0x89);
    byte_sample_number(sample, "reference", 0x8a);
    byte_sample_number(sample, "idx", 0x8b);
    byte_sample_number(sample, "tid", 0x8c);
    byte_sample_number(sample, "cpu", 0x8d);
    byte_sample_number(sample, "reserved", 0);
}

static void write_thread_map(struct byte_sample *sample)
{
    static const pid_t tids[] = {0x91, 0x92};
    weir_record_thread_map(&sample->bytes, tids, 2);
    byte_sample_header(sample, WEIR_RECORD_THREAD_MAP, 0);
    byte_sample_number(sample, "nr", 2);
    byte_sample_length(sample, 'n', 48);
    byte_sample_part(sample, "entries");
}

static void write_thread_map_entry(struct byte_sample *sample)
{
    static const pid_t tids[] = {-1, 0x92};
    struct weir_buf record = WEIR_BUF_INIT;
    weir_record_thread_map(&record, tids, 2);
    byte_sample_number(sample, "pid", 0x92);
    byte_sample_bytes(sample, "comm", zeros, 16);
    take_first(sample, &record, 40, record.used - 40);
}

static void write_time_conv(struct byte_sample *sample)
{
    static const struct weir_time_conv conv = {0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, {0}};
    weir_record_time_conv(&sample->bytes, &conv);
    byte_sample_header(sample, WEIR_RECORD_TIME_CONV, 0);
    byte_sample_number(sample, "time_shift", 0x95);
    byte_sample_number(sample, "time_mult", 0x96);
    byte_sample_number(sample, "time_zero", 0x97);
    byte_sample_number(sample, "time_cycles", 0x98);
    byte_sample_number(sample, "time_mask", 0x99);
    byte_sample_number(sample, "cap_user_time_zero", 0x9a);
    byte_sample_number(sample, "cap_user_time_short", 0x9b);
    byte_sample_bytes(sample, "reserved", zeros, 6);
}

static const int some_cpus[] = {1, 258, -1};
static const uint16_t listed_cpus[] = {1, 258, 65535};

static void write_cpu_map(struct byte_sample *sample)
{
    weir_record_cpu_map(&sample->bytes, some_cpus, 3);
    byte_sample_header(sample, WEIR_RECORD_CPU_MAP, 0);
    byte_sample_length(sample, 'n', 16);
    byte_sample_part(sample, "data");
}

static void write_cpu_list(struct byte_sample *sample)
{
    struct weir_buf record = WEIR_BUF_INIT;
    weir_record_cpu_map(&record, some_cpus, 3);
    byte_sample_number(sample, "type", 0);
    byte_sample_number(sample, "nr", 3);
    byte_sample_length(sample, 'c', sizeof(listed_cpus));
    byte_sample_bytes(sample, "cpu", listed_cpus, sizeof(listed_cpus));
    byte_sample_length(sample, 'n', 6);
    byte_sample_bytes(sample, "padding", zeros, 6);
    take_first(sample, &record, HEADER_BYTES, record.used - HEADER_BYTES);
}

static void write_event_update(struct byte_sample *sample)
{
    weir_record_event_unit(&sample->bytes, 0xa1, "Joules");
    byte_sample_header(sample, WEIR_RECORD_EVENT_UPDATE, 0);
    byte_sample_number(sample, "type", 0);
    byte_sample_number(sample, "id", 0xa1);
    byte_sample_length(sample, 'n', 8);
    byte_sample_text(sample, "data", "Joules");
}

static void write_bare(struct byte_sample *sample)
{
    weir_record_finished_init(&sample->bytes);
    byte_sample_header(sample, WEIR_RECORD_FINISHED_INIT, 0);
}

static void write_padding(struct byte_sample *sample)
{
    void *space = weir_buf_extend(&sample->bytes, 40);
    cr_assert_not_null(space);
    weir_record_fill_padding(space, 40);
    byte_sample_header(sample, WEIR_RECORD_EVENT_TYPE, 0);
    byte_sample_length(sample, 'n', 32);
    byte_sample_bytes(sample, "padding", zeros, 32);
}

static void write_ledger_piece(struct byte_sample *sample)
{
    static const struct weir_loss losses[WEIR_LOSS_CAUSES];
    const struct weir_ledger_content content = {.losses = losses};
    weir_ledger_append_records(&content, &sample->bytes);
    size_t piece = sample->bytes.used - 24;
    byte_sample_header(sample, WEIR_RECORD_EVENT_TYPE, 0);
    byte_sample_length(sample, 'n', piece);
    byte_sample_bytes(sample, "magic", "WIRLEDGR", 8);
    byte_sample_number(sample, "bytes", piece);
    byte_sample_number(sample, "at", 0);
    byte_sample_part(sample, "piece");
}

static void write_timeline(struct byte_sample *sample)
{
    const struct weir_timeline_interval interval = {0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 1};
    const struct weir_timeline_reader reader = {.reader = 1};
    weir_record_timeline(&sample->bytes, &interval, &reader, 1);
    byte_sample_header(sample, WEIR_RECORD_EVENT_UPDATE, 0);
    byte_sample_text(sample, "type", "WEIRTIME");
    byte_sample_number(sample, "id", 0);
    byte_sample_number(sample, "reader_count", 1);
    byte_sample_number(sample, "reader_bytes", sizeof(reader));
    byte_sample_number(sample, "begin_ns", 0xb1);
    byte_sample_number(sample, "end_ns", 0xb2);
    byte_sample_number(sample, "newest_sample_ns", 0xb3);
    byte_sample_number(sample, "output_bytes", 0xb4);
    byte_sample_number(sample, "lost_write_failed", 0xb5);
    byte_sample_number(sample, "latency_mean_us", 0xb6);
    byte_sample_number(sample, "latency_max_us", 0xb7);
    byte_sample_number(sample, "pool_per_mille", 0xb8);
    byte_sample_number(sample, "continues", 1);
    byte_sample_length(sample, 'n', sizeof(reader));
    byte_sample_part(sample, "readers");
}

static void write_timeline_reader(struct byte_sample *sample)
{
    const struct weir_timeline_reader reader = {1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc};
    struct weir_buf record = WEIR_BUF_INIT;
    const size_t at = HEADER_BYTES + 8 + 8 + 8 + sizeof(struct weir_timeline_interval);
    weir_record_timeline(&record, &(struct weir_timeline_interval){0}, &reader, 1);
    take_first(sample, &record, at, sizeof(reader));
    byte_sample_number(sample, "reader", 1);
    byte_sample_number(sample, "first_cpu", 0xc2);
    byte_sample_number(sample, "cpu_count", 0xc3);
    byte_sample_number(sample, "fullest_per_mille", 0xc4);
    byte_sample_number(sample, "wakeups", 0xc5);
    byte_sample_number(sample, "waits", 0xc6);
    byte_sample_number(sample, "bytes", 0xc7);
    byte_sample_number(sample, "samples", 0xc8);
    byte_sample_number(sample, "lost_ring_full", 0xc9);
    byte_sample_number(sample, "lost_waiting", 0xca);
    byte_sample_number(sample, "lost_side", 0xcb);
    byte_sample_number(sample, "shed", 0xcc);
}

static void write_merge(struct byte_sample *sample)
{
    weir_record_merge(&sample->bytes, &(struct weir_merge){.interval_ns = 0xb1, .by_process = true});
    byte_sample_header(sample, WEIR_RECORD_EVENT_UPDATE, 0);
    byte_sample_text(sample, "type", "WEIRMRGE");
    byte_sample_number(sample, "id", 0);
    byte_sample_number(sample, "interval_ns", 0xb1);
    byte_sample_number(sample, "flags", 1);
}

static void write_compressed(struct byte_sample *sample)
{
    static const uint8_t input[4096];
    static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    uint32_t raw_end;
    struct weir_zstd_packer *packer = weir_zstd_packer_new(1, sizeof(input));
    uint8_t *space = weir_buf_extend(&sample->bytes, weir_zstd_pack_bound(sizeof(input)));
    cr_assert(packer && space);
    sample->bytes.used = weir_zstd_pack(packer, space, input, sizeof(input), &raw_end);
    weir_zstd_packer_free(packer);
    byte_sample_header(sample, WEIR_RECORD_COMPRESSED, 0);
    byte_sample_length(sample, 'n', sample->bytes.used - HEADER_BYTES);
    cr_assert_arr_eq(sample->bytes.data + HEADER_BYTES, zstd_magic, sizeof(zstd_magic));
    byte_sample_part(sample, "data");
}

/* ---- streams ---- */

static void build_stream(struct weir_buf *out)
{
    static struct weir_machine machine;
    machine = (struct weir_machine){.hostname = (char *)"host"};
    const struct weir_event_desc event = {.name = "cpu-clock", .ids = first_ids, .id_count = 2};
    struct weir_buf tracing_data = WEIR_BUF_INIT;
    weir_buf_append(&tracing_data, "formats", 7);
    const struct weir_features_input input = {
        .machine = &machine, .events = &event, .event_count = 1, .tracing_data = &tracing_data};
    unsigned left_out;
    cr_assert_eq(weir_pipe_head_build(out, &input, &left_out), 0);
    weir_buf_fini(&tracing_data);
}

/* The first record of that type, and what is behind it when it says so. */
static void take_record(struct byte_sample *sample, uint32_t type, size_t behind)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    struct perf_event_header header = {.size = 16}; /* the stream's own */
    size_t at = 0;
    build_stream(&stream);
    do {
        at += header.size;
        cr_assert_leq(at + sizeof(header), stream.used, "no record of type %u", type);
        memcpy(&header, stream.data + at, sizeof(header));
    } while (header.type != type);
    take_first(sample, &stream, at, header.size + behind);
}

static void write_stream_header(struct byte_sample *sample)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    build_stream(&stream);
    byte_sample_text(sample, "magic", "PERFILE2");
    byte_sample_number(sample, "size", 16);
    take_first(sample, &stream, 0, 16);
}

static void write_attr_record(struct byte_sample *sample)
{
    take_record(sample, WEIR_RECORD_ATTR, 0);
    byte_sample_header(sample, WEIR_RECORD_ATTR, 0);
    byte_sample_length(sample, 'a', 128);
    byte_sample_part(sample, "attr");
    byte_sample_length(sample, 'n', sizeof(first_ids));
    byte_sample_bytes(sample, "id", first_ids, sizeof(first_ids));
}

static void write_feature_record(struct byte_sample *sample)
{
    take_record(sample, WEIR_RECORD_FEATURE, 0);
    byte_sample_header(sample, WEIR_RECORD_FEATURE, 0);
    byte_sample_number(sample, "feat_id", WEIR_FEATURE_HOSTNAME);
    byte_sample_length(sample, 'n', 4 + 64);
    byte_sample_part(sample, "data");
}

static void write_tracing_record(struct byte_sample *sample)
{
    take_record(sample, WEIR_RECORD_TRACING_DATA, 8);
    byte_sample_header(sample, WEIR_RECORD_TRACING_DATA, 0);
    byte_sample_number(sample, "size", 8);
    byte_sample_length(sample, 'n', 8);
    byte_sample_text(sample, "data", "formats");
}

const struct byte_structure document_records[] = {
    {"header", write_header},
    {"attr entry", write_attr_entry},
    {"perf_event_attr", write_attr},
    {"early header", write_early_header},
    {"perf_event_header", write_event_header},
    {"sample_id", write_sample_id},
    {"MMAP", write_mmap},
    {"MMAP2", write_mmap2},
    {"MMAP2 with a build id", write_mmap2_with_id},
    {"COMM", write_comm},
    {"FORK", write_fork},
    {"NAMESPACES", write_namespaces},
    {"NAMESPACES link_info", write_namespace},
    {"CGROUP", write_cgroup},
    {"KSYMBOL", write_ksymbol},
    {"BPF_EVENT", write_bpf_event},
    {"LOST_SAMPLES", write_lost_samples},
    {"ID_INDEX", write_id_index},
    {"ID_INDEX entry", write_id_index_entry},
    {"AUXTRACE_INFO", write_auxtrace_info},
    {"AUXTRACE", write_auxtrace},
    {"THREAD_MAP", write_thread_map},
    {"THREAD_MAP entry", write_thread_map_entry},
    {"TIME_CONV", write_time_conv},
    {"CPU_MAP", write_cpu_map},
    {"list of CPUs", write_cpu_list},
    {"EVENT_UPDATE", write_event_update},
    {"FINISHED_ROUND and FINISHED_INIT", write_bare},
    {"EVENT_TYPE", write_padding},
    {"EVENT_TYPE with a piece of the ledger", write_ledger_piece},
    {"merged samples", write_merge},
    {"timeline", write_timeline},
    {"timeline reader", write_timeline_reader},
    {"COMPRESSED record", write_compressed},
    {"stream header", write_stream_header},
    {"ATTR", write_attr_record},
    {"FEATURE", write_feature_record},
    {"TRACING_DATA record", write_tracing_record},
    {NULL, NULL},
};

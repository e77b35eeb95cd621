/* Features, as docs/format.md has them; see document_structures.h. */
#include "tests/format/document_structures.h"

#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "format/features.h"
#include "format/tracing_data.h"
#include "tests/format/sample_machine.h"
#include "tests/format/temp_tree.h"

#define STRING_BYTES (4u + 64) /* a perf string of less than 64 bytes */

/* ---- payloads ---- */

/* Table and payloads for a file whose data ends at 0. */
static void build(struct weir_buf *out, const struct weir_features_input *input, uint64_t features[4])
{
    cr_assert_eq(weir_features_build(out, 0, input, features), 0);
}

/* [offset, offset + bytes) of the payload of a feature; bytes 0: up to its end. */
static void take(struct byte_sample *sample, const struct weir_features_input *input, unsigned bit, size_t offset,
                 size_t bytes)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_perf_section section;
    uint64_t features[4];
    build(&out, input, features);
    cr_assert(features[0] >> bit & 1, "feature %u", bit);
    size_t before = (size_t)__builtin_popcountll(features[0] & ((1ull << bit) - 1));
    memcpy(&section, out.data + before * sizeof(section), sizeof(section));
    cr_assert_leq(offset + bytes, section.size, "feature %u", bit);
    weir_buf_append(&sample->bytes, out.data + section.offset + offset, bytes ? bytes : section.size - offset);
    weir_buf_fini(&out);
}

/* Of the machine of sample_machine.h, which has CPUs 0, 1 and 3, two nodes, three caches and two PMUs. */
static void take_of_machine(struct byte_sample *sample, unsigned bit, size_t offset, size_t bytes)
{
    struct weir_machine machine = sample_machine();
    const struct weir_features_input input = {.machine = &machine};
    take(sample, &input, bit, offset, bytes);
}

static void take_of_pmus(struct byte_sample *sample, unsigned bit, size_t offset, size_t bytes)
{
    struct weir_machine_pmu_cap caps[] = {{(char *)"branches", (char *)"32"}, {(char *)"pmu_name", (char *)"skylake"}};
    struct weir_machine_pmu pmus[] = {
        {.type = 4, .name = (char *)"cpu", .caps = caps, .cap_count = 2},
        {.type = 8, .name = (char *)"cpu_atom", .cpus = (char *)"2-3"},
        {.type = 9, .name = (char *)"ibs_op", .caps = caps, .cap_count = 1},
    };
    const struct weir_machine machine = {.pmus = pmus, .pmu_count = 3};
    const struct weir_features_input input = {.machine = &machine};
    take(sample, &input, bit, offset, bytes);
}

static const struct weir_machine nobody;

/* As it stands in a payload, for a field that is a string; static storage, of which four are in use at a time. */
static const void *string_of(const char *text)
{
    static uint8_t strings[4][STRING_BYTES];
    static unsigned next;
    uint8_t *string = strings[next++ % WEIR_ARRAY_COUNT(strings)];
    const uint32_t length = STRING_BYTES - 4;
    memset(string, 0, STRING_BYTES);
    memcpy(string, &length, sizeof(length));
    memcpy(string + 4, text, strlen(text));
    return string;
}

static void expect_string(struct byte_sample *sample, const char *field, char letter, const char *text)
{
    byte_sample_length(sample, letter, STRING_BYTES);
    byte_sample_bytes(sample, field, string_of(text), STRING_BYTES);
}

/* A count, and so many parts up to the end. */
static void expect_list(struct byte_sample *sample, uint32_t count, const char *parts)
{
    byte_sample_number(sample, "count", count);
    byte_sample_length(sample, 'n', sample->bytes.used - 4);
    byte_sample_part(sample, parts);
}

/* ---- what describes the recording ---- */

static void write_table_entry(struct byte_sample *sample)
{
    struct weir_machine machine = sample_machine();
    const struct weir_features_input input = {.machine = &machine};
    struct weir_buf out = WEIR_BUF_INIT;
    uint64_t features[4];
    build(&out, &input, features);
    byte_sample_number(sample, "offset", 16u * (unsigned)__builtin_popcountll(features[0])); /* HOSTNAME, the first */
    byte_sample_number(sample, "size", STRING_BYTES);
    weir_buf_append(&sample->bytes, out.data, 16);
    weir_buf_fini(&out);
}

static void write_string(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_HOSTNAME, 0, 0);
    byte_sample_number(sample, "length", 64);
    byte_sample_length(sample, 'n', 64);
    byte_sample_text(sample, "text", "testhost");
}

static void write_build_id(struct byte_sample *sample)
{
    static const struct weir_build_id_entry entry = {"/bin/ab", {16, {4, 5, 6}}, PERF_RECORD_MISC_USER};
    const struct weir_features_input input = {.machine = &nobody, .build_ids = &entry, .build_id_count = 1};
    take(sample, &input, WEIR_FEATURE_BUILD_ID, 0, 0);
    byte_sample_header(sample, 0, PERF_RECORD_MISC_USER | 1u << 15);
    byte_sample_number(sample, "pid", UINT32_MAX);
    byte_sample_bytes(sample, "build_id", entry.id.data, 20);
    byte_sample_number(sample, "size", 16);
    byte_sample_number(sample, "reserved", 0);
    byte_sample_length(sample, 'n', 8);
    byte_sample_text(sample, "filename", "/bin/ab");
}

static void write_cmdline(struct byte_sample *sample)
{
    static const char *const command[] = {"/usr/bin/weir", "record", "-a"};
    const struct weir_features_input input = {.machine = &nobody, .command = command, .command_count = 3};
    take(sample, &input, WEIR_FEATURE_CMDLINE, 0, 0);
    expect_list(sample, 3, "arguments");
}

static const uint64_t some_ids[] = {0x1a1, 0x1a2};

static void take_events(struct byte_sample *sample, unsigned bit, size_t offset)
{
    const struct weir_event_desc events[] = {
        {.name = "cycles", .ids = some_ids, .id_count = 2, .group_name = "mine"},
        {.name = "faults", .ids = some_ids, .id_count = 0, .leader = 0},
        {.name = "alone", .ids = some_ids, .id_count = 0, .leader = 2},
        {.name = "first", .ids = some_ids, .id_count = 0, .leader = 3, .group_name = "other"},
        {.name = "second", .ids = some_ids, .id_count = 2, .leader = 3},
        {.name = "third", .ids = some_ids, .id_count = 2, .leader = 3},
    };
    const struct weir_features_input input = {
        .machine = &nobody, .events = events, .event_count = WEIR_ARRAY_COUNT(events)};
    take(sample, &input, bit, offset, 0);
}

static void write_event_desc(struct byte_sample *sample)
{
    take_events(sample, WEIR_FEATURE_EVENT_DESC, 0);
    byte_sample_number(sample, "count", 6);
    byte_sample_number(sample, "attr_size", PERF_ATTR_SIZE_VER0);
    byte_sample_length(sample, 'n', sample->bytes.used - 8);
    byte_sample_part(sample, "events");
}

/* The last one. */
static void write_event(struct byte_sample *sample)
{
    const size_t without_ids = PERF_ATTR_SIZE_VER0 + 4 + STRING_BYTES;
    take_events(sample, WEIR_FEATURE_EVENT_DESC, 8 + 5 * without_ids + 2 * sizeof(some_ids));
    byte_sample_length(sample, 'a', PERF_ATTR_SIZE_VER0);
    byte_sample_part(sample, "attr");
    byte_sample_number(sample, "ids", 2);
    expect_string(sample, "name", 's', "third");
    byte_sample_length(sample, 'n', sizeof(some_ids));
    byte_sample_bytes(sample, "id", some_ids, sizeof(some_ids));
}

static void write_group_desc(struct byte_sample *sample)
{
    take_events(sample, WEIR_FEATURE_GROUP_DESC, 0);
    expect_list(sample, 2, "groups");
}

static void write_group(struct byte_sample *sample)
{
    take_events(sample, WEIR_FEATURE_GROUP_DESC, 4 + STRING_BYTES + 8);
    expect_string(sample, "name", 's', "other");
    byte_sample_number(sample, "leader", 3);
    byte_sample_number(sample, "members", 3);
}

static void write_sample_time(struct byte_sample *sample)
{
    const struct weir_features_input input = {
        .machine = &nobody, .first_sample_ns = 0x1100000000, .last_sample_ns = 0x2200000000};
    take(sample, &input, WEIR_FEATURE_SAMPLE_TIME, 0, 0);
    byte_sample_number(sample, "first", 0x1100000000);
    byte_sample_number(sample, "last", 0x2200000000);
}

static const struct weir_features_input clock_input = {
    .machine = &nobody,
    .use_clock = true,
    .clock_id = 7,
    .clock_resolution_ns = 0x71,
    .clock_day_ns = 0x1122334455667788,
    .clock_ns = 0x99aabbccdd,
};

static void write_clock_id(struct byte_sample *sample)
{
    take(sample, &clock_input, WEIR_FEATURE_CLOCKID, 0, 0);
    byte_sample_number(sample, "resolution", 0x71);
}

static void write_clock_data(struct byte_sample *sample)
{
    take(sample, &clock_input, WEIR_FEATURE_CLOCK_DATA, 0, 0);
    byte_sample_number(sample, "version", 1);
    byte_sample_number(sample, "clockid", 7);
    byte_sample_number(sample, "wall_clock_ns", 0x1122334455667788);
    byte_sample_number(sample, "clockid_time_ns", 0x99aabbccdd);
}

static void write_dir_format(struct byte_sample *sample)
{
    const struct weir_features_input input = {.machine = &nobody, .directory = true};
    take(sample, &input, WEIR_FEATURE_DIR_FORMAT, 0, 0);
    byte_sample_number(sample, "version", 1);
}

static const struct weir_aux_index_entry aux_entries[] = {{0x1122334455, 0x30}, {0x66778899aa, 0x31}};

static void take_aux_index(struct byte_sample *sample, size_t offset, size_t bytes)
{
    const struct weir_features_input input = {.machine = &nobody, .aux_index = aux_entries, .aux_index_count = 2};
    take(sample, &input, WEIR_FEATURE_AUXTRACE, offset, bytes);
}

static void write_aux_index(struct byte_sample *sample)
{
    take_aux_index(sample, 0, 0);
    byte_sample_number(sample, "count", 2);
    byte_sample_length(sample, 'n', sizeof(aux_entries));
    byte_sample_part(sample, "entries");
}

static void write_aux_entry(struct byte_sample *sample)
{
    take_aux_index(sample, 8 + 16, 16);
    byte_sample_number(sample, "file_offset", 0x66778899aa);
    byte_sample_number(sample, "sz", 0x31);
}

static void write_compressed(struct byte_sample *sample)
{
    const struct weir_features_input input = {.machine = &nobody,
                                              .compression = {.level = 3, .ratio = 7, .room_bytes = 1u << 20}};
    take(sample, &input, WEIR_FEATURE_COMPRESSED, 0, 0);
    byte_sample_number(sample, "version", 0);
    byte_sample_number(sample, "type", 1);
    byte_sample_number(sample, "level", 3);
    byte_sample_number(sample, "ratio", 7);
    byte_sample_number(sample, "mmap_len", 1u << 20);
}

/* ---- what describes the machine ---- */

static void write_cpu_counts(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_NRCPUS, 0, 0);
    byte_sample_number(sample, "available", 4);
    byte_sample_number(sample, "online", 3);
}

static void write_total_mem(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_TOTAL_MEM, 0, 0);
    byte_sample_number(sample, "kB", 10240);
}

static void write_cpu_topology(struct byte_sample *sample)
{
    static const int32_t ids[] = {0, 0, 1, 0, -1, -1, 0, 1}, dies[] = {0, 0, -1, 2};
    take_of_machine(sample, WEIR_FEATURE_CPU_TOPOLOGY, 0, 0);
    byte_sample_number(sample, "packages", 2);
    byte_sample_length(sample, 'p', 2 * STRING_BYTES);
    byte_sample_part(sample, "package lists");
    byte_sample_number(sample, "cores", 3);
    byte_sample_length(sample, 'c', 3 * STRING_BYTES);
    byte_sample_part(sample, "core lists");
    byte_sample_length(sample, 'i', sizeof(ids));
    byte_sample_bytes(sample, "ids", ids, sizeof(ids));
    byte_sample_number(sample, "dies", 2);
    byte_sample_length(sample, 'd', 2 * STRING_BYTES);
    byte_sample_part(sample, "die lists");
    byte_sample_length(sample, 'n', sizeof(dies));
    byte_sample_bytes(sample, "die ids", dies, sizeof(dies));
}

/* Of CPU 1, whose two ids differ. */
static void write_cpu_ids(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_CPU_TOPOLOGY, 2 * 4 + 5 * STRING_BYTES + 8, 8);
    byte_sample_number(sample, "core_id", 1);
    byte_sample_number(sample, "socket_id", 0);
}

static void write_numa_topology(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_NUMA_TOPOLOGY, 0, 0);
    expect_list(sample, 2, "nodes");
}

static void write_node(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_NUMA_TOPOLOGY, 4 + 20 + STRING_BYTES, 0);
    byte_sample_number(sample, "number", 1);
    byte_sample_number(sample, "total kB", 2048);
    byte_sample_number(sample, "free kB", 1024);
    expect_string(sample, "cpus", 'n', "3");
}

static void write_pmu_mappings(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_PMU_MAPPINGS, 0, 0);
    expect_list(sample, 2, "PMUs");
}

static void write_pmu(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_PMU_MAPPINGS, 4 + 4 + STRING_BYTES, 0);
    byte_sample_number(sample, "type", 4);
    expect_string(sample, "name", 'n', "cpu");
}

static void write_caches(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_CACHE, 0, 0);
    byte_sample_number(sample, "version", 1);
    byte_sample_number(sample, "count", 3);
    byte_sample_length(sample, 'n', sample->bytes.used - 8);
    byte_sample_part(sample, "caches");
}

static void write_cache(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_CACHE, 8 + 2 * (16 + 3 * STRING_BYTES), 0);
    byte_sample_number(sample, "level", 2);
    byte_sample_number(sample, "line_size", 64);
    byte_sample_number(sample, "sets", 1024);
    byte_sample_number(sample, "ways", 16);
    expect_string(sample, "type", 't', "Unified");
    expect_string(sample, "size", 's', "1024K");
    expect_string(sample, "map", 'n', "0");
}

static void write_mem_topology(struct byte_sample *sample)
{
    take_of_machine(sample, WEIR_FEATURE_MEM_TOPOLOGY, 0, 0);
    byte_sample_number(sample, "version", 1);
    byte_sample_number(sample, "block_size_bytes", 0x8000000);
    byte_sample_number(sample, "count", 1);
    byte_sample_length(sample, 'n', sample->bytes.used - 24);
    byte_sample_part(sample, "nodes");
}

static void write_memory_node(struct byte_sample *sample)
{
    static const uint64_t bitmap[] = {0x8000000000000005, 1};
    take_of_machine(sample, WEIR_FEATURE_MEM_TOPOLOGY, 24, 0);
    byte_sample_number(sample, "number", 0);
    byte_sample_number(sample, "size", 65);
    byte_sample_number(sample, "bits", 65);
    byte_sample_length(sample, 'n', sizeof(bitmap));
    byte_sample_bytes(sample, "bitmap", bitmap, sizeof(bitmap));
}

static void write_cpu_pmu_caps(struct byte_sample *sample)
{
    take_of_pmus(sample, WEIR_FEATURE_CPU_PMU_CAPS, 0, 0);
    expect_list(sample, 2, "caps");
}

static void write_capability(struct byte_sample *sample)
{
    take_of_pmus(sample, WEIR_FEATURE_CPU_PMU_CAPS, 4 + 2 * STRING_BYTES, 0);
    expect_string(sample, "name", 's', "pmu_name");
    expect_string(sample, "value", 'n', "skylake");
}

static void write_hybrid_topology(struct byte_sample *sample)
{
    take_of_pmus(sample, WEIR_FEATURE_HYBRID_TOPOLOGY, 0, 0);
    expect_list(sample, 1, "PMUs");
}

static void write_core_pmu(struct byte_sample *sample)
{
    take_of_pmus(sample, WEIR_FEATURE_HYBRID_TOPOLOGY, 4, 0);
    expect_string(sample, "pmu_name", 's', "cpu_atom");
    expect_string(sample, "cpus", 'n', "2-3");
}

static void write_pmu_caps(struct byte_sample *sample)
{
    take_of_pmus(sample, WEIR_FEATURE_PMU_CAPS, 0, 0);
    expect_list(sample, 1, "PMUs");
}

static void write_pmu_with_caps(struct byte_sample *sample)
{
    take_of_pmus(sample, WEIR_FEATURE_PMU_CAPS, 4, 0);
    byte_sample_number(sample, "count", 1);
    byte_sample_length(sample, 'c', 2 * STRING_BYTES);
    byte_sample_part(sample, "caps");
    expect_string(sample, "pmu_name", 'n', "ibs_op");
}

/* ---- BPF ---- */

static struct weir_bpf_image *make_image(const void *data, size_t bytes)
{
    struct weir_bpf_image *image = calloc(1, sizeof(*image) + bytes);
    cr_assert_not_null(image);
    image->bytes = (uint32_t)bytes;
    memcpy(image->data, data, bytes);
    return image;
}

/* Made up, since bpf(2) is not for everybody; that programs are read into images like these: test_document.c. */
static void write_images(struct byte_sample *sample, unsigned bit, const char *parts)
{
    struct weir_bpf_image *image = make_image("an image", 8);
    const struct weir_bpf_image *images[] = {image, image};
    const struct weir_features_input input = {
        .machine = &nobody,
        .bpf_programs = images,
        .bpf_program_count = 2,
        .bpf_btfs = images,
        .bpf_btf_count = 2,
    };
    take(sample, &input, bit, 0, 0);
    free(image);
    cr_assert_arr_eq(sample->bytes.data + 4, "an imagean image", 16);
    expect_list(sample, 2, parts);
}

static void write_bpf_programs(struct byte_sample *sample)
{
    write_images(sample, WEIR_FEATURE_BPF_PROG_INFO, "programs");
}

static void write_bpf_btfs(struct byte_sample *sample)
{
    write_images(sample, WEIR_FEATURE_BPF_BTF, "BTFs");
}

#define INFO_NUMBER(field)                                                                        \
    {                                                                                             \
#field, offsetof(struct bpf_prog_info, field), sizeof(((struct bpf_prog_info *)0)->field) \
    }

/* The kernel's structure, with another number in each field. */
static void write_bpf_prog_info(struct byte_sample *sample)
{
    static const struct {
        const char *name;
        size_t offset, bytes;
    } fields[] = {
        INFO_NUMBER(type),
        INFO_NUMBER(id),
        INFO_NUMBER(tag),
        INFO_NUMBER(jited_prog_len),
        INFO_NUMBER(xlated_prog_len),
        INFO_NUMBER(jited_prog_insns),
        INFO_NUMBER(xlated_prog_insns),
        INFO_NUMBER(load_time),
        INFO_NUMBER(created_by_uid),
        INFO_NUMBER(nr_map_ids),
        INFO_NUMBER(map_ids),
        INFO_NUMBER(name),
        INFO_NUMBER(ifindex),
        {"gpl_compatible", offsetof(struct bpf_prog_info, ifindex) + 4, 4},
        INFO_NUMBER(netns_dev),
        INFO_NUMBER(netns_ino),
        INFO_NUMBER(nr_jited_ksyms),
        INFO_NUMBER(nr_jited_func_lens),
        INFO_NUMBER(jited_ksyms),
        INFO_NUMBER(jited_func_lens),
        INFO_NUMBER(btf_id),
        INFO_NUMBER(func_info_rec_size),
        INFO_NUMBER(func_info),
        INFO_NUMBER(nr_func_info),
        INFO_NUMBER(nr_line_info),
        INFO_NUMBER(line_info),
        INFO_NUMBER(jited_line_info),
        INFO_NUMBER(nr_jited_line_info),
        INFO_NUMBER(line_info_rec_size),
        INFO_NUMBER(jited_line_info_rec_size),
        INFO_NUMBER(nr_prog_tags),
        INFO_NUMBER(prog_tags),
        INFO_NUMBER(run_time_ns),
        INFO_NUMBER(run_cnt),
    };
    struct bpf_prog_info info = {0};
    for (uint32_t i = 0; i < WEIR_ARRAY_COUNT(fields); i++) {
        uint32_t number = i + 1;
        memcpy((uint8_t *)&info + fields[i].offset, &number, sizeof(number));
        byte_sample_number(sample, fields[i].name, number);
    }
    weir_buf_append(&sample->bytes, &info, offsetof(struct bpf_prog_info, recursion_misses));
}

/* ---- TRACING_DATA ---- */

static void take_tracing_data(struct byte_sample *sample, size_t offset, size_t bytes)
{
    const struct weir_event_desc events[] = {
        {.name = "ftrace:function", .tracepoint_system = "ftrace", .tracepoint_name = "function"},
        {.name = "sched:sched_switch", .tracepoint_system = "sched", .tracepoint_name = "sched_switch"},
    };
    struct temp_tree tree;
    struct weir_buf section = WEIR_BUF_INIT;
    struct weir_error err = {0};
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "events/header_page", "a page");
    temp_tree_write_text(&tree, "events/header_event", "an event");
    temp_tree_write_text(&tree, "events/ftrace/function/format", "of function");
    temp_tree_write_text(&tree, "events/sched/sched_switch/format", "of switch");
    temp_tree_write_text(&tree, "printk_formats", "formats");
    temp_tree_write_text(&tree, "saved_cmdlines", "1 init\n");
    cr_assert_eq(weir_tracing_data_build(&section, tree.root, events, 2, &err), 0, "%s", err.what);
    temp_tree_fini(&tree);
    cr_assert_leq(offset + bytes, section.used);
    weir_buf_append(&sample->bytes, section.data + offset, bytes ? bytes : section.used - offset);
    weir_buf_fini(&section);
}

#define PAGE_BYTES       6u
#define EVENT_BYTES      8u
#define FUNCTION_BYTES   (8u + 11)
#define SCHED_BYTES      (6u + 4 + 8 + 9)
#define FTRACE_FORMAT_AT (65u + PAGE_BYTES + EVENT_BYTES)

static void write_tracing_data(struct byte_sample *sample)
{
    take_tracing_data(sample, 0, 0);
    byte_sample_bytes(sample, "magic", "\x17\x08\x44tracing", 10);
    byte_sample_bytes(sample, "version", "0.6", 4);
    byte_sample_number(sample, "big endian", 0);
    byte_sample_number(sample, "long bytes", sizeof(long));
    byte_sample_number(sample, "page size", (uint64_t)sysconf(_SC_PAGESIZE));
    byte_sample_bytes(sample, "page title", "header_page", 12);
    byte_sample_number(sample, "page bytes", PAGE_BYTES);
    byte_sample_length(sample, 'p', PAGE_BYTES);
    byte_sample_text(sample, "page", "a page");
    byte_sample_bytes(sample, "event title", "header_event", 13);
    byte_sample_number(sample, "event bytes", EVENT_BYTES);
    byte_sample_length(sample, 'e', EVENT_BYTES);
    byte_sample_text(sample, "event", "an event");
    byte_sample_number(sample, "ftrace events", 1);
    byte_sample_length(sample, 'f', FUNCTION_BYTES);
    byte_sample_part(sample, "ftrace formats");
    byte_sample_number(sample, "systems", 1);
    byte_sample_length(sample, 's', SCHED_BYTES);
    byte_sample_part(sample, "system events");
    byte_sample_number(sample, "kallsyms bytes", 0);
    byte_sample_number(sample, "printk bytes", 7);
    byte_sample_length(sample, 'k', 7);
    byte_sample_text(sample, "printk", "formats");
    byte_sample_number(sample, "cmdlines bytes", 7);
    byte_sample_length(sample, 'n', 7);
    byte_sample_text(sample, "cmdlines", "1 init\n");
}

static void write_format(struct byte_sample *sample)
{
    take_tracing_data(sample, FTRACE_FORMAT_AT, FUNCTION_BYTES);
    byte_sample_number(sample, "bytes", 11);
    byte_sample_length(sample, 'n', 11);
    byte_sample_text(sample, "format", "of function");
}

static void write_system(struct byte_sample *sample)
{
    take_tracing_data(sample, FTRACE_FORMAT_AT + FUNCTION_BYTES + 4, SCHED_BYTES);
    byte_sample_length(sample, 's', 6);
    byte_sample_text(sample, "name", "sched");
    byte_sample_number(sample, "count", 1);
    byte_sample_length(sample, 'n', 8 + 9);
    byte_sample_part(sample, "formats");
}

const struct byte_structure document_features[] = {
    {"feature table entry", write_table_entry},
    {"string", write_string},
    {"BUILD_ID entry", write_build_id},
    {"NRCPUS", write_cpu_counts},
    {"TOTAL_MEM", write_total_mem},
    {"CMDLINE", write_cmdline},
    {"EVENT_DESC", write_event_desc},
    {"EVENT_DESC event", write_event},
    {"CPU_TOPOLOGY", write_cpu_topology},
    {"CPU_TOPOLOGY ids", write_cpu_ids},
    {"NUMA_TOPOLOGY", write_numa_topology},
    {"NUMA_TOPOLOGY node", write_node},
    {"PMU_MAPPINGS", write_pmu_mappings},
    {"PMU_MAPPINGS PMU", write_pmu},
    {"GROUP_DESC", write_group_desc},
    {"GROUP_DESC group", write_group},
    {"AUXTRACE index", write_aux_index},
    {"AUXTRACE entry", write_aux_entry},
    {"CACHE", write_caches},
    {"CACHE cache", write_cache},
    {"SAMPLE_TIME", write_sample_time},
    {"MEM_TOPOLOGY", write_mem_topology},
    {"MEM_TOPOLOGY node", write_memory_node},
    {"CLOCKID", write_clock_id},
    {"DIR_FORMAT", write_dir_format},
    {"BPF_PROG_INFO", write_bpf_programs},
    {"bpf_prog_info", write_bpf_prog_info},
    {"BPF_BTF", write_bpf_btfs},
    {"COMPRESSED feature", write_compressed},
    {"CPU_PMU_CAPS", write_cpu_pmu_caps},
    {"capability", write_capability},
    {"CLOCK_DATA", write_clock_data},
    {"HYBRID_TOPOLOGY", write_hybrid_topology},
    {"HYBRID_TOPOLOGY PMU", write_core_pmu},
    {"PMU_CAPS", write_pmu_caps},
    {"PMU_CAPS PMU", write_pmu_with_caps},
    {"TRACING_DATA", write_tracing_data},
    {"TRACING_DATA format", write_format},
    {"TRACING_DATA system", write_system},
    {NULL, NULL},
};

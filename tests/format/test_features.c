/* Feature sections: the table by hand, each payload field by field, nothing announced that is not there. */
#include "format/features.h"

#include "format/head.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/perf_file_reader.h"
#include "tests/format/sample_machine.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define BIT(feature) (1ull << (feature))

/* Features of a machine about which all is known. */
#define MACHINE_BITS                                                                                                 \
    (BIT(WEIR_FEATURE_HOSTNAME) | BIT(WEIR_FEATURE_OSRELEASE) | BIT(WEIR_FEATURE_VERSION) | BIT(WEIR_FEATURE_ARCH) | \
     BIT(WEIR_FEATURE_NRCPUS) | BIT(WEIR_FEATURE_CPUDESC) | BIT(WEIR_FEATURE_CPUID) | BIT(WEIR_FEATURE_TOTAL_MEM) |  \
     BIT(WEIR_FEATURE_CPU_TOPOLOGY) | BIT(WEIR_FEATURE_NUMA_TOPOLOGY) | BIT(WEIR_FEATURE_PMU_MAPPINGS) |             \
     BIT(WEIR_FEATURE_CACHE) | BIT(WEIR_FEATURE_MEM_TOPOLOGY))

static const uint64_t clock_ids[] = {11, 12, 14};
static const uint64_t switch_ids[] = {21};

/* A finished file without data: head and features, and the reader on it. */
struct image {
    struct weir_buf bytes;
    struct weir_machine machine;
    struct weir_event_desc events[2];
    struct weir_features_input input;
    uint64_t features[4];
    struct perf_file file;
};

static void image_init(struct image *image)
{
    *image = (struct image){.bytes = WEIR_BUF_INIT, .machine = sample_machine()};
    image->events[0] = (struct weir_event_desc){.name = "cpu-clock", .ids = clock_ids, .id_count = 3};
    image->events[0].attr.type = PERF_TYPE_SOFTWARE;
    image->events[1] =
        (struct weir_event_desc){.name = "sched:sched_switch", .ids = switch_ids, .id_count = 1, .leader = 1};
    image->events[1].attr.type = PERF_TYPE_TRACEPOINT;
    image->events[1].attr.sample_max_stack = 9;
    image->input.machine = &image->machine;
}

static void image_with_events(struct image *image)
{
    image->input.events = image->events;
    image->input.event_count = 2;
}

static void image_build(struct image *image)
{
    struct weir_head_input head = {
        .events = image->input.events, .event_count = image->input.event_count, .id_room = 3};
    struct weir_buf sections = WEIR_BUF_INIT;
    cr_assert_eq(weir_features_build(&sections, 4096, &image->input, image->features), 0);
    memcpy(head.features, image->features, sizeof(head.features));
    cr_assert_eq(weir_head_build(&image->bytes, &head), 0);
    cr_assert_eq(image->bytes.used, 4096);
    weir_buf_append(&image->bytes, sections.data, sections.used);
    weir_buf_fini(&sections);
    const char *problem = perf_file_open(&image->file, image->bytes.data, image->bytes.used);
    cr_assert_null(problem, "%s", problem);
}

static void image_fini(struct image *image)
{
    weir_buf_fini(&image->bytes);
}

static struct perf_file_cursor feature(const struct image *image, enum weir_perf_feature bit, size_t bytes)
{
    struct perf_file_cursor payload;
    cr_assert(perf_file_feature(&image->file, bit, &payload), "feature %u", bit);
    cr_assert_eq(payload.bytes, bytes, "feature %u has %zu bytes instead of %zu", bit, payload.bytes, bytes);
    return payload;
}

static void expect_end(const struct perf_file_cursor *cursor)
{
    cr_expect(!cursor->failed);
    cr_expect_eq(cursor->bytes, 0);
}

Test(features, machine_that_nobody_knows_writes_nothing)
{
    const struct weir_machine nobody = {.hostname = (char *)"", .os_release = (char *)""};
    const struct weir_features_input input = {.machine = &nobody};
    struct weir_buf out = WEIR_BUF_INIT;
    uint64_t bits[4] = {1, 1, 1, 1};
    cr_expect_eq(weir_features_build(&out, 4096, &input, bits), 0);
    cr_expect_eq(out.used, 0);
    for (int word = 0; word < 4; word++)
        cr_expect_eq(bits[word], 0);
    weir_buf_fini(&out);
}

Test(features, missing_facts_take_only_their_own_sections_away)
{
    struct image image;
    image_init(&image);
    image.machine.cpuid = NULL;
    image.machine.memory_block_bytes = 0;
    image.machine.cache_count = 0;
    image_build(&image);
    cr_expect_eq(image.features[0],
                 MACHINE_BITS & ~(BIT(WEIR_FEATURE_CPUID) | BIT(WEIR_FEATURE_MEM_TOPOLOGY) | BIT(WEIR_FEATURE_CACHE)));
    image_fini(&image);
}

Test(features, nodes_without_bitmaps_have_no_memory_topology)
{
    struct image image;
    image_init(&image);
    image.machine.nodes += 1; /* the second one has none */
    image.machine.node_count = 1;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS & ~BIT(WEIR_FEATURE_MEM_TOPOLOGY));
    image_fini(&image);
}

Test(features, empty_tracing_data_is_not_announced)
{
    struct image image;
    image_init(&image);
    const struct weir_buf empty = WEIR_BUF_INIT;
    image.input.tracing_data = &empty;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS);
    image_fini(&image);
}

Test(features, each_allocation_failing_in_turn_leaves_the_bits_alone)
{
    struct image image;
    image_init(&image);
    image_with_events(&image);
    unsigned failures = 0;
    for (;; failures++) {
        struct weir_buf out = WEIR_BUF_INIT;
        uint64_t bits[4] = {7, 7, 7, 7};
        failing_alloc_after(failures);
        int result = weir_features_build(&out, 4096, &image.input, bits);
        weir_buf_fini(&out);
        if (result == 0)
            break;
        cr_assert_eq(result, -ENOMEM);
        for (int word = 0; word < 4; word++)
            cr_assert_eq(bits[word], 7);
    }
    /* Payloads grow from 256 bytes to 4 KiB in 5 steps; one for the version; two to join table and payloads. */
    cr_expect_eq(failures, 8, "%u", failures);
}

Test(features, directory_says_its_version)
{
    struct image image;
    image_init(&image);
    image.input.directory = true;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS | BIT(WEIR_FEATURE_DIR_FORMAT));
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_DIR_FORMAT, 8);
    cr_expect_eq(perf_file_u64(&payload), 1);
    image_fini(&image);
}

Test(features, aux_index_lists_its_records)
{
    static const struct weir_aux_index_entry entries[] = {{0x1f8, 48}, {0x112233445566, 48}};
    struct image image;
    image_init(&image);
    image.input.aux_index = entries; /* without a count: not looked at */
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS);
    image_fini(&image);

    image_init(&image);
    image.input.aux_index = entries;
    image.input.aux_index_count = 2;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS | BIT(WEIR_FEATURE_AUXTRACE));
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_AUXTRACE, 8 + 2 * 16);
    cr_expect_eq(perf_file_u64(&payload), 2);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(perf_file_u64(&payload), entries[i].file_offset);
        cr_expect_eq(perf_file_u64(&payload), 48);
    }
    expect_end(&payload);
    image_fini(&image);
}

/* Its offsets are of a file, and perf has no record for it. */
Test(features, stream_has_no_aux_index)
{
    static const struct weir_machine nobody = {.hostname = (char *)"", .os_release = (char *)""};
    static const struct weir_aux_index_entry entry = {0x1f8, 48};
    const struct weir_features_input without = {.machine = &nobody};
    const struct weir_features_input with = {.machine = &nobody, .aux_index = &entry, .aux_index_count = 1};
    struct weir_buf records = WEIR_BUF_INIT, expected = WEIR_BUF_INIT;
    unsigned left_out;
    cr_assert_eq(weir_features_append_records(&expected, &without, &left_out), 0);
    cr_assert_eq(weir_features_append_records(&records, &with, &left_out), 0);
    cr_expect_eq(left_out, 0);
    cr_assert_eq(records.used, expected.used);
    cr_expect_arr_eq(records.data, expected.data, expected.used);
    weir_buf_fini(&records);
    weir_buf_fini(&expected);
}

Test(features, table_is_ascending_and_counts_from_the_data_end)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS);

    static const uint64_t sizes[] = {68, 68, 68, 68, 8, 68, 68, 8, 536, 180, 148, 668, 64};
    uint64_t at = 4096 + sizeof(sizes) / sizeof(sizes[0]) * 16;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct weir_perf_section entry;
        memcpy(&entry, image.bytes.data + 4096 + 16 * i, sizeof(entry));
        cr_expect_eq(entry.offset, at, "entry %zu at %zu", i, (size_t)entry.offset);
        cr_expect_eq(entry.size, sizes[i], "entry %zu of %zu", i, (size_t)entry.size);
        at += sizes[i];
    }
    cr_expect_eq(image.bytes.used, at);
    image_fini(&image);
}

Test(features, texts_are_padded_to_64_with_their_zero)
{
    struct image image;
    image_init(&image);
    static char name63[] = "123456789012345678901234567890123456789012345678901234567890abc";
    static char name64[] = "123456789012345678901234567890123456789012345678901234567890abcd";
    image.machine.hostname = name63;
    image.machine.cpu_desc = name64;
    image_build(&image);

    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_HOSTNAME, 4 + 64);
    cr_expect_eq(perf_file_u32(&payload), 64);
    cr_expect_str_eq(perf_file_bytes(&payload, 64), name63);
    payload = feature(&image, WEIR_FEATURE_CPUDESC, 4 + 128);
    cr_expect_eq(perf_file_u32(&payload), 128);
    cr_expect_str_eq(perf_file_bytes(&payload, 128), name64);
    payload = feature(&image, WEIR_FEATURE_OSRELEASE, 68);
    cr_expect_str_eq(perf_file_string(&payload), "6.12.0-test");
    payload = feature(&image, WEIR_FEATURE_VERSION, 68);
    cr_expect_str_eq(perf_file_string(&payload), "6.12.0-test-weir-" WEIR_VERSION);
    payload = feature(&image, WEIR_FEATURE_ARCH, 68);
    cr_expect_str_eq(perf_file_string(&payload), "x86_64");
    payload = feature(&image, WEIR_FEATURE_CPUID, 68);
    cr_expect_str_eq(perf_file_string(&payload), "GenuineIntel,6,85,7");
    image_fini(&image);
}

Test(features, cpu_counts_and_memory_are_bare_numbers)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_NRCPUS, 8);
    cr_expect_eq(perf_file_u32(&payload), 4);
    cr_expect_eq(perf_file_u32(&payload), 3);
    payload = feature(&image, WEIR_FEATURE_TOTAL_MEM, 8);
    cr_expect_eq(perf_file_u64(&payload), 10240);
    image_fini(&image);
}

Test(features, available_cpus_reach_the_highest_online_one)
{
    struct image image;
    image_init(&image);
    image.machine.cpus_available = 3; /* as many as there are, but one is numbered 3 */
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_NRCPUS, 8);
    cr_expect_eq(perf_file_u32(&payload), 4);
    feature(&image, WEIR_FEATURE_CPU_TOPOLOGY, 536);
    image_fini(&image);
}

Test(features, cpu_topology_has_each_list_once_and_ids_for_offline_cpus_too)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_CPU_TOPOLOGY, 3 * 4 + 7 * 68 + 4 * 8 + 4 * 4);
    cr_expect_eq(perf_file_u32(&payload), 2);
    cr_expect_str_eq(perf_file_string(&payload), "0-1");
    cr_expect_str_eq(perf_file_string(&payload), "3");
    cr_expect_eq(perf_file_u32(&payload), 3);
    cr_expect_str_eq(perf_file_string(&payload), "0");
    cr_expect_str_eq(perf_file_string(&payload), "1");
    cr_expect_str_eq(perf_file_string(&payload), "3");
    static const int32_t core_and_package[] = {0, 0, 1, 0, -1, -1, 0, 1};
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq((int32_t)perf_file_u32(&payload), core_and_package[i], "word %zu", i);
    cr_expect_eq(perf_file_u32(&payload), 2);
    cr_expect_str_eq(perf_file_string(&payload), "0-1");
    cr_expect_str_eq(perf_file_string(&payload), "3");
    static const int32_t dies[] = {0, 0, -1, 2};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq((int32_t)perf_file_u32(&payload), dies[i], "CPU %zu", i);
    expect_end(&payload);
    image_fini(&image);
}

Test(features, cpu_topology_without_dies_ends_after_the_packages)
{
    struct image image;
    image_init(&image);
    struct weir_machine_cpu cpus[3];
    memcpy(cpus, image.machine.cpus, sizeof(cpus));
    for (size_t i = 0; i < 3; i++)
        cpus[i].die_siblings = (char *)"";
    image.machine.cpus = cpus;
    image_build(&image);
    feature(&image, WEIR_FEATURE_CPU_TOPOLOGY, 2 * 4 + 5 * 68 + 4 * 8);
    image_fini(&image);
}

Test(features, numa_topology)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_NUMA_TOPOLOGY, 4 + 2 * (4 + 8 + 8 + 68));
    cr_expect_eq(perf_file_u32(&payload), 2);
    cr_expect_eq(perf_file_u32(&payload), 0);
    cr_expect_eq(perf_file_u64(&payload), 8192);
    cr_expect_eq(perf_file_u64(&payload), 4096);
    cr_expect_str_eq(perf_file_string(&payload), "0-1");
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_eq(perf_file_u64(&payload), 2048);
    cr_expect_eq(perf_file_u64(&payload), 1024);
    cr_expect_str_eq(perf_file_string(&payload), "3");
    expect_end(&payload);
    image_fini(&image);
}

Test(features, pmu_mappings)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_PMU_MAPPINGS, 4 + 2 * (4 + 68));
    cr_expect_eq(perf_file_u32(&payload), 2);
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_str_eq(perf_file_string(&payload), "software");
    cr_expect_eq(perf_file_u32(&payload), 4);
    cr_expect_str_eq(perf_file_string(&payload), "cpu");
    expect_end(&payload);
    image_fini(&image);
}

static void expect_cache(struct perf_file_cursor *payload, uint32_t level, uint32_t sets, uint32_t ways,
                         const char *type, const char *size)
{
    cr_expect_eq(perf_file_u32(payload), level);
    cr_expect_eq(perf_file_u32(payload), 64);
    cr_expect_eq(perf_file_u32(payload), sets);
    cr_expect_eq(perf_file_u32(payload), ways);
    cr_expect_str_eq(perf_file_string(payload), type);
    cr_expect_str_eq(perf_file_string(payload), size);
    cr_expect_str_eq(perf_file_string(payload), "0");
}

Test(features, caches_ascend_by_level_and_keep_their_order_within_it)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_CACHE, 8 + 3 * (16 + 3 * 68));
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_eq(perf_file_u32(&payload), 3);
    expect_cache(&payload, 1, 64, 8, "Data", "32K");
    expect_cache(&payload, 1, 64, 8, "Instruction", "32K");
    expect_cache(&payload, 2, 1024, 16, "Unified", "1024K");
    expect_end(&payload);
    image_fini(&image);
}

Test(features, memory_topology_has_the_nodes_whose_blocks_are_known)
{
    struct image image;
    image_init(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_MEM_TOPOLOGY, 3 * 8 + 3 * 8 + 2 * 8);
    static const uint64_t words[] = {1, 0x8000000, 1, 0, 65, 65, 0x8000000000000005, 0x1};
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq(perf_file_u64(&payload), words[i], "word %zu", i);
    expect_end(&payload);
    image_fini(&image);
}

/* struct perf_record_header_build_id: header, pid, 20 bytes, size, 3 reserved; the name, to a multiple of 8. */
Test(features, build_ids_are_records_with_a_size_byte)
{
    static const struct weir_build_id_entry entries[] = {
        {"[kernel.kallsyms]", {20, {1, 2, 3}}, PERF_RECORD_MISC_KERNEL},
        {"/bin/ab", {16, {4, 5, 6}}, PERF_RECORD_MISC_USER},
    };
    static const size_t name_bytes[] = {24, 8};
    struct image image;
    image_init(&image);
    image.input.build_ids = entries;
    image.input.build_id_count = 2;
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_BUILD_ID, 36 + 24 + 36 + 8);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(perf_file_u32(&payload), 0);
        cr_expect_eq(perf_file_u32(&payload), (1u << 15 | entries[i].cpumode) | (uint32_t)(36 + name_bytes[i]) << 16);
        cr_expect_eq(perf_file_u32(&payload), UINT32_MAX);
        cr_expect_arr_eq(perf_file_bytes(&payload, 20), entries[i].id.data, 20);
        cr_expect_eq(perf_file_u32(&payload), entries[i].id.bytes);
        cr_expect_str_eq(perf_file_bytes(&payload, name_bytes[i]), entries[i].name);
    }
    expect_end(&payload);
    image_fini(&image);
}

Test(features, event_desc_equals_the_attrs_section)
{
    struct image image;
    image_init(&image);
    image_with_events(&image);
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_EVENT_DESC, 8 + 2 * (112 + 4 + 68) + 4 * 8);
    cr_expect_eq(perf_file_u32(&payload), 2);
    cr_expect_eq(perf_file_u32(&payload), 112);
    static const char *const names[] = {"cpu-clock", "sched:sched_switch"};
    for (size_t i = 0; i < 2; i++) {
        struct perf_file_event described, in_head;
        cr_assert(perf_file_desc_event(&payload, 112, &described));
        cr_assert(perf_file_event(&image.file, i, &in_head));
        cr_expect_str_eq(described.name, names[i]);
        cr_expect_eq(memcmp(&described.attr, &in_head.attr, sizeof(in_head.attr)), 0);
        cr_assert_eq(described.id_count, in_head.id_count);
        cr_expect_eq(memcmp(described.ids, in_head.ids, in_head.id_count * sizeof(uint64_t)), 0);
    }
    expect_end(&payload);
    image_fini(&image);
}

Test(features, what_describes_the_recording_is_written_when_given)
{
    static const char *const command[] = {"/usr/bin/weir", "record", "-a"};
    struct image image;
    image_init(&image);
    struct weir_buf tracing = WEIR_BUF_INIT;
    weir_buf_printf(&tracing, "tracing data");
    image.input.tracing_data = &tracing;
    image.input.command = command;
    image.input.command_count = 3;
    image.input.first_sample_ns = 1000;
    image.input.last_sample_ns = 2500;
    image.input.branch_stack = true;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS | BIT(WEIR_FEATURE_TRACING_DATA) | BIT(WEIR_FEATURE_CMDLINE) |
                                        BIT(WEIR_FEATURE_SAMPLE_TIME) | BIT(WEIR_FEATURE_BRANCH_STACK));

    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_TRACING_DATA, 12);
    cr_expect_arr_eq(perf_file_bytes(&payload, 12), "tracing data", 12);
    payload = feature(&image, WEIR_FEATURE_CMDLINE, 4 + 3 * 68);
    cr_expect_eq(perf_file_u32(&payload), 3);
    for (size_t i = 0; i < 3; i++)
        cr_expect_str_eq(perf_file_string(&payload), command[i]);
    payload = feature(&image, WEIR_FEATURE_SAMPLE_TIME, 16);
    cr_expect_eq(perf_file_u64(&payload), 1000);
    cr_expect_eq(perf_file_u64(&payload), 2500);
    feature(&image, WEIR_FEATURE_BRANCH_STACK, 0);
    weir_buf_fini(&tracing);
    image_fini(&image);
}

Test(features, compression_tells_level_ratio_and_room)
{
    struct image image;
    image_init(&image);
    image.input.compression = (struct weir_compression){.level = 3, .ratio = 7, .room_bytes = 1u << 20};
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS | BIT(WEIR_FEATURE_COMPRESSED));
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_COMPRESSED, 20);
    static const uint32_t wanted[] = {0, 1, 3, 7, 1u << 20}; /* version, zstd, level, ratio, mmap_len */
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(perf_file_u32(&payload), wanted[i], "field %zu", i);
    image_fini(&image);
}

Test(features, clock_of_the_samples_is_related_to_the_time_of_day)
{
    struct image image;
    image_init(&image);
    image.input.use_clock = true;
    image.input.clock_id = 7;
    image.input.clock_day_ns = 0x1122334455667788;
    image.input.clock_ns = 0x99aabbcc;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS | BIT(WEIR_FEATURE_CLOCK_DATA), "no CLOCKID without a resolution");
    image_fini(&image);

    image_init(&image);
    image.input.use_clock = true;
    image.input.clock_id = 7;
    image.input.clock_resolution_ns = 1;
    image.input.clock_day_ns = 0x1122334455667788;
    image.input.clock_ns = 0x99aabbcc;
    image_build(&image);
    cr_expect_eq(image.features[0], MACHINE_BITS | BIT(WEIR_FEATURE_CLOCKID) | BIT(WEIR_FEATURE_CLOCK_DATA));
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_CLOCKID, 8);
    cr_expect_eq(perf_file_u64(&payload), 1);
    payload = feature(&image, WEIR_FEATURE_CLOCK_DATA, 24);
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_eq(perf_file_u32(&payload), 7);
    cr_expect_eq(perf_file_u64(&payload), 0x1122334455667788);
    cr_expect_eq(perf_file_u64(&payload), 0x99aabbcc);
    image_fini(&image);
}

Test(features, group_desc_has_groups_of_two_and_more)
{
    struct image image;
    image_init(&image);
    image_with_events(&image);
    image.events[1].leader = 0;
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_GROUP_DESC, 4 + 68 + 8);
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_str_eq(perf_file_string(&payload), "{anon_group}");
    cr_expect_eq(perf_file_u32(&payload), 0);
    cr_expect_eq(perf_file_u32(&payload), 2);
    expect_end(&payload);
    image_fini(&image);

    image_init(&image);
    image_with_events(&image);
    image.events[1].leader = 0;
    image.events[0].group_name = "mine";
    image_build(&image);
    payload = feature(&image, WEIR_FEATURE_GROUP_DESC, 4 + 68 + 8);
    perf_file_u32(&payload);
    cr_expect_str_eq(perf_file_string(&payload), "mine");
    image_fini(&image);
}

/* u32 count, (name, value) each; the PMU's name behind that, but for "cpu", which has a section of its own. */
Test(features, cores_of_several_kinds)
{
    struct weir_machine_pmu pmus[] = {
        {.type = 4, .name = (char *)"cpu_core", .cpus = (char *)"0-15"},
        {.type = 8, .name = (char *)"intel_pt"},
        {.type = 10, .name = (char *)"cpu_atom", .cpus = (char *)"16-23"},
    };
    struct image image;
    image_init(&image);
    image.machine.pmus = pmus;
    image.machine.pmu_count = 3;
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_HYBRID_TOPOLOGY, 4 + 4 * 68);
    cr_expect_eq(perf_file_u32(&payload), 2);
    static const char *const wanted[] = {"cpu_core", "0-15", "cpu_atom", "16-23"};
    for (size_t i = 0; i < 4; i++)
        cr_expect_str_eq(perf_file_string(&payload), wanted[i]);
    expect_end(&payload);
    image_fini(&image);
}

Test(features, capabilities_of_pmus)
{
    struct weir_machine_pmu_cap caps[] = {{(char *)"branches", (char *)"32"}, {(char *)"pmu_name", (char *)"skylake"}};
    struct weir_machine_pmu pmus[] = {
        {.type = 4, .name = (char *)"cpu", .caps = caps, .cap_count = 2},
        {.type = 8, .name = (char *)"intel_pt"},
        {.type = 9, .name = (char *)"ibs_op", .caps = caps, .cap_count = 1},
    };
    struct image image;
    image_init(&image);
    image.machine.pmus = pmus;
    image.machine.pmu_count = 3;
    image_build(&image);
    struct perf_file_cursor payload = feature(&image, WEIR_FEATURE_CPU_PMU_CAPS, 4 + 4 * 68);
    cr_expect_eq(perf_file_u32(&payload), 2);
    cr_expect_str_eq(perf_file_string(&payload), "branches");
    cr_expect_str_eq(perf_file_string(&payload), "32");
    cr_expect_str_eq(perf_file_string(&payload), "pmu_name");
    cr_expect_str_eq(perf_file_string(&payload), "skylake");
    expect_end(&payload);
    payload = feature(&image, WEIR_FEATURE_PMU_CAPS, 4 + 4 + 3 * 68);
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_eq(perf_file_u32(&payload), 1);
    cr_expect_str_eq(perf_file_string(&payload), "branches");
    cr_expect_str_eq(perf_file_string(&payload), "32");
    cr_expect_str_eq(perf_file_string(&payload), "ibs_op");
    expect_end(&payload);
    image_fini(&image);
}

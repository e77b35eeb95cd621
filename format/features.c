/*
 * The feature sections behind the data: their choice and order, and the features that describe the recording.
 * features_machine.c has those that describe the machine.
 *
 * The coordinator runs it when an output is finished. There is one table row per feature. The payloads are built first,
 * because their number decides the size of the table before them.
 *
 * Source of every layout: write_*() in tools/perf/util/header.c of Linux 6.12; of the table: perf_header__adds_write().
 */
#include "format/features.h"

#include <string.h>

#include "base/bits.h"
#include "format/features_internal.h"

#define NAMELESS_GROUP                 "{anon_group}" /* the name that consumers expect */
#define FEATURE_WORD_BITS              64u
#define DIR_VERSION                    1u         /* PERF_DIR_VERSION */
#define BUILD_ID_NAME_MAX              4095u      /* PATH_MAX without its zero */
#define COMPRESSION_ZSTD               1u         /* enum perf_compress_type */
#define HOST_PID                       (-1)       /* HOST_KERNEL_ID: of this machine, not of a guest */
#define PERF_RECORD_MISC_BUILD_ID_SIZE (1u << 15) /* tools/lib/perf/include/perf/event.h: the size byte is there */

static bool append_tracing_data(struct weir_buf *out, const struct weir_features_input *input)
{
    if (!input->tracing_data || input->tracing_data->used == 0)
        return false;
    weir_buf_append(out, input->tracing_data->data, input->tracing_data->used);
    return true;
}

/* See struct weir_perf_build_id. room: for the name and zeros behind it. */
static void append_build_id(struct weir_buf *out, const struct weir_build_id_entry *entry, uint32_t type,
                            size_t name_bytes, size_t room)
{
    struct weir_perf_build_id record = {
        .header.type = type,
        .header.misc = entry->cpumode | PERF_RECORD_MISC_BUILD_ID_SIZE,
        .header.size = (uint16_t)(sizeof(record) + room),
        .pid = HOST_PID,
        .size = entry->id.bytes,
    };
    memcpy(record.id, entry->id.data, entry->id.bytes);
    weir_buf_append(out, &record, sizeof(record));
    weir_buf_append(out, entry->name, name_bytes);
    weir_buf_append_zeros(out, room - name_bytes);
}

/* One entry per file. */
static bool append_build_ids(struct weir_buf *out, const struct weir_features_input *input)
{
    for (size_t i = 0; i < input->build_id_count; i++) {
        size_t name_bytes = strnlen(input->build_ids[i].name, BUILD_ID_NAME_MAX);
        append_build_id(out, &input->build_ids[i], 0, name_bytes, weir_align_up(name_bytes + 1, sizeof(uint64_t)));
    }
    return input->build_id_count > 0;
}

int weir_features_append_build_id_records(struct weir_buf *out, const struct weir_build_id_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t name_bytes = strnlen(entries[i].name, BUILD_ID_NAME_MAX);
        size_t record_bytes = weir_align_up(sizeof(struct weir_perf_build_id) + name_bytes + 1, sizeof(uint64_t));
        append_build_id(out, &entries[i], WEIR_RECORD_BUILD_ID, name_bytes,
                        record_bytes - sizeof(struct weir_perf_build_id));
    }
    return weir_buf_error(out);
}

/* u32 count, then as many strings. */
static bool append_cmdline(struct weir_buf *out, const struct weir_features_input *input)
{
    if (input->command_count == 0)
        return false;
    weir_buf_append_u32(out, (uint32_t)input->command_count);
    for (size_t i = 0; i < input->command_count; i++)
        weir_feature_append_string(out, input->command[i]);
    return true;
}

/*
 * u32 count, u32 attr bytes; per event the attr, u32 id count, string name, u64 ids. Attrs and ids are
 * those of the head; some consumers take them from here.
 */
static bool append_event_desc(struct weir_buf *out, const struct weir_features_input *input)
{
    if (input->event_count == 0)
        return false;
    uint32_t attr_bytes = weir_event_desc_attr_bytes(input->events, input->event_count);
    weir_buf_append_u32(out, (uint32_t)input->event_count);
    weir_buf_append_u32(out, attr_bytes);
    for (size_t i = 0; i < input->event_count; i++) {
        const struct weir_event_desc *event = &input->events[i];
        weir_attr_append(out, &event->attr, attr_bytes);
        weir_buf_append_u32(out, (uint32_t)event->id_count);
        weir_feature_append_string(out, event->name);
        weir_buf_append(out, event->ids, event->id_count * sizeof(event->ids[0]));
    }
    return true;
}

/* The one section that is empty by design: its bit alone tells consumers that samples carry branches. */
static bool append_branch_stack(struct weir_buf *out, const struct weir_features_input *input)
{
    (void)out;
    return input->branch_stack;
}

/* u64 version 1. */
static bool append_dir_format(struct weir_buf *out, const struct weir_features_input *input)
{
    if (input->directory)
        weir_buf_append_u64(out, DIR_VERSION);
    return input->directory;
}

/* The events that follow this one and have it for their leader, and this one. */
static uint32_t group_members(const struct weir_features_input *input, size_t leader)
{
    size_t end = leader + 1;
    while (end < input->event_count && input->events[end].leader == leader)
        end++;
    return (uint32_t)(end - leader);
}

/* u32 count; per group of two and more: string name, u32 index of its leader, u32 members; these stand together. */
static bool append_group_desc(struct weir_buf *out, const struct weir_features_input *input)
{
    uint32_t count = 0;
    for (size_t i = 0; i < input->event_count; i++)
        count += group_members(input, i) > 1;
    if (count == 0)
        return false;
    weir_buf_append_u32(out, count);
    for (size_t i = 0; i < input->event_count; i++) {
        if (group_members(input, i) < 2)
            continue;
        weir_feature_append_string(out, input->events[i].group_name ? input->events[i].group_name : NAMELESS_GROUP);
        weir_buf_append_u32(out, (uint32_t)i);
        weir_buf_append_u32(out, group_members(input, i));
    }
    return true;
}

/* u64 count, then the entries. */
static bool append_aux_index(struct weir_buf *out, const struct weir_features_input *input)
{
    if (input->aux_index_count == 0)
        return false;
    weir_buf_append_u64(out, input->aux_index_count);
    weir_buf_append(out, input->aux_index, input->aux_index_count * sizeof(*input->aux_index));
    return true;
}

/* u64 first, u64 last. */
static bool append_sample_time(struct weir_buf *out, const struct weir_features_input *input)
{
    if (input->first_sample_ns == 0 && input->last_sample_ns == 0)
        return false;
    weir_buf_append_u64(out, input->first_sample_ns);
    weir_buf_append_u64(out, input->last_sample_ns);
    return true;
}

/* u64 resolution. */
static bool append_clock_id(struct weir_buf *out, const struct weir_features_input *input)
{
    if (!input->use_clock || input->clock_resolution_ns == 0)
        return false;
    weir_buf_append_u64(out, input->clock_resolution_ns);
    return true;
}

/* u32 version 1, u32 clock, u64 time of day, u64 the clock's own time then. */
static bool append_clock_data(struct weir_buf *out, const struct weir_features_input *input)
{
    if (!input->use_clock)
        return false;
    weir_buf_append_u32(out, 1);
    weir_buf_append_u32(out, (uint32_t)input->clock_id);
    weir_buf_append_u64(out, input->clock_day_ns);
    weir_buf_append_u64(out, input->clock_ns);
    return true;
}

/* u32 count, then the images one behind the other. */
static bool append_images(struct weir_buf *out, const struct weir_bpf_image *const *images, size_t count)
{
    if (count == 0)
        return false;
    weir_buf_append_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        weir_buf_append(out, images[i]->data, images[i]->bytes);
    return true;
}

static bool append_bpf_programs(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_images(out, input->bpf_programs, input->bpf_program_count);
}

static bool append_bpf_btfs(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_images(out, input->bpf_btfs, input->bpf_btf_count);
}

/* u32 version 0, u32 type 1 (zstd), u32 level, u32 ratio, u32 mmap_len: the room that consumers need for a record. */
static bool append_compressed(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_compression *compression = &input->compression;
    if (compression->level == 0)
        return false;
    weir_buf_append_u32(out, 0);
    weir_buf_append_u32(out, COMPRESSION_ZSTD);
    weir_buf_append_u32(out, (uint32_t)compression->level);
    weir_buf_append_u32(out, compression->ratio);
    weir_buf_append_u32(out, compression->room_bytes);
    return true;
}

struct feature {
    enum weir_perf_feature bit;
    /* Appends the payload; false, with nothing appended, when there is nothing to say. */
    bool (*append)(struct weir_buf *out, const struct weir_features_input *input);
    bool file_only; /* not in a stream: perf has no record for it there, or it has records of its own */
};

/* Ascending by bit: the entries of the file's table have no other key. */
static const struct feature features_known[] = {
    {WEIR_FEATURE_TRACING_DATA, append_tracing_data, .file_only = true},
    {WEIR_FEATURE_BUILD_ID, append_build_ids, .file_only = true},
    {WEIR_FEATURE_HOSTNAME, weir_feature_append_hostname},
    {WEIR_FEATURE_OSRELEASE, weir_feature_append_os_release},
    {WEIR_FEATURE_VERSION, weir_feature_append_version},
    {WEIR_FEATURE_ARCH, weir_feature_append_arch},
    {WEIR_FEATURE_NRCPUS, weir_feature_append_cpu_counts},
    {WEIR_FEATURE_CPUDESC, weir_feature_append_cpu_desc},
    {WEIR_FEATURE_CPUID, weir_feature_append_cpuid},
    {WEIR_FEATURE_TOTAL_MEM, weir_feature_append_total_mem},
    {WEIR_FEATURE_CMDLINE, append_cmdline},
    {WEIR_FEATURE_EVENT_DESC, append_event_desc},
    {WEIR_FEATURE_CPU_TOPOLOGY, weir_feature_append_cpu_topology},
    {WEIR_FEATURE_NUMA_TOPOLOGY, weir_feature_append_numa_topology},
    {WEIR_FEATURE_BRANCH_STACK, append_branch_stack, .file_only = true},
    {WEIR_FEATURE_PMU_MAPPINGS, weir_feature_append_pmu_mappings},
    {WEIR_FEATURE_GROUP_DESC, append_group_desc},
    {WEIR_FEATURE_AUXTRACE, append_aux_index, .file_only = true},
    {WEIR_FEATURE_CACHE, weir_feature_append_cache, .file_only = true},
    {WEIR_FEATURE_SAMPLE_TIME, append_sample_time},
    {WEIR_FEATURE_MEM_TOPOLOGY, weir_feature_append_mem_topology},
    {WEIR_FEATURE_CLOCKID, append_clock_id},
    {WEIR_FEATURE_DIR_FORMAT, append_dir_format, .file_only = true},
    {WEIR_FEATURE_BPF_PROG_INFO, append_bpf_programs, .file_only = true},
    {WEIR_FEATURE_BPF_BTF, append_bpf_btfs, .file_only = true},
    {WEIR_FEATURE_COMPRESSED, append_compressed},
    {WEIR_FEATURE_CPU_PMU_CAPS, weir_feature_append_cpu_pmu_caps},
    {WEIR_FEATURE_CLOCK_DATA, append_clock_data},
    {WEIR_FEATURE_HYBRID_TOPOLOGY, weir_feature_append_hybrid_topology},
    {WEIR_FEATURE_PMU_CAPS, weir_feature_append_pmu_caps},
};

#define FEATURE_COUNT WEIR_ARRAY_COUNT(features_known)

size_t weir_features_count(const uint64_t features[4])
{
    size_t count = 0;
    for (size_t i = 0; i < 4; i++)
        count += (size_t)__builtin_popcountll(features[i]);
    return count;
}

int weir_features_build(struct weir_buf *out, uint64_t offset, const struct weir_features_input *input,
                        uint64_t features[4])
{
    struct weir_buf payloads = WEIR_BUF_INIT;
    struct weir_perf_section table[FEATURE_COUNT];
    uint64_t written[4] = {0};
    size_t count = 0;

    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        size_t start = payloads.used;
        if (!features_known[i].append(&payloads, input))
            continue;
        table[count++] = (struct weir_perf_section){.offset = start, .size = payloads.used - start};
        unsigned bit = features_known[i].bit;
        written[bit / FEATURE_WORD_BITS] |= 1ull << (bit % FEATURE_WORD_BITS);
    }

    size_t table_bytes = count * sizeof(table[0]);
    for (size_t i = 0; i < count; i++)
        table[i].offset += offset + table_bytes;

    int result = weir_buf_error(&payloads);
    if (result == 0) {
        weir_buf_append(out, table, table_bytes);
        weir_buf_append(out, payloads.data, payloads.used);
        result = weir_buf_error(out);
    }
    if (result == 0)
        memcpy(features, written, sizeof(written));
    weir_buf_fini(&payloads);
    return result;
}

/* header, u64 feature, payload. Its size is no multiple of 8 where the payload's is not, as in perf. */
static void append_feature_record(struct weir_buf *out, uint64_t feature, const struct weir_buf *payload)
{
    struct perf_event_header header = {
        .type = WEIR_RECORD_FEATURE,
        .size = (uint16_t)(sizeof(header) + sizeof(feature) + payload->used),
    };
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append_u64(out, feature);
    weir_buf_append(out, payload->data, payload->used);
}

int weir_features_append_records(struct weir_buf *out, const struct weir_features_input *input, unsigned *left_out)
{
    const size_t payload_max = UINT16_MAX - sizeof(struct perf_event_header) - sizeof(uint64_t);
    struct weir_buf payload = WEIR_BUF_INIT;
    int result = 0;
    *left_out = 0;
    for (size_t i = 0; i < FEATURE_COUNT && result == 0; i++) {
        weir_buf_reset(&payload);
        if (features_known[i].file_only || !features_known[i].append(&payload, input))
            continue;
        result = weir_buf_error(&payload);
        if (payload.used <= payload_max)
            append_feature_record(out, features_known[i].bit, &payload);
        else
            ++*left_out;
    }
    weir_buf_reset(&payload);
    weir_feature_append_end(&payload, input);
    if (result == 0)
        result = weir_buf_error(&payload);
    append_feature_record(out, WEIR_FEATURE_LAST, &payload);
    weir_buf_fini(&payload);
    return result < 0 ? result : weir_buf_error(out);
}

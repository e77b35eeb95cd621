/*
 * The feature sections that describe the machine, written from base/machine.h's description.
 *
 * The coordinator runs it when an output is finished; it reads no file. "string" below is a perf string
 * (weir_feature_append_string()). Source of every layout: write_*() in tools/perf/util/header.c of Linux 6.12.
 */
#include <string.h>

#include "base/bits.h"
#include "format/features_internal.h"

#define CACHE_VERSION        1u
#define MEM_TOPOLOGY_VERSION 1u
#define STRING_ALIGN         64u /* NAME_ALIGN in tools/perf/util/header.c */
#define BITMAP_WORD_BITS     64u

void weir_feature_append_string(struct weir_buf *out, const char *text)
{
    size_t bytes = strlen(text) + 1;
    size_t padded = weir_align_up(bytes, STRING_ALIGN);
    weir_buf_append_u32(out, (uint32_t)padded);
    weir_buf_append(out, text, bytes);
    weir_buf_append_zeros(out, padded - bytes);
}

static bool is_text(const char *text)
{
    return text && text[0] != '\0';
}

static bool append_text(struct weir_buf *out, const char *text)
{
    if (!is_text(text))
        return false;
    weir_feature_append_string(out, text);
    return true;
}

bool weir_feature_append_hostname(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_text(out, input->machine->hostname);
}

bool weir_feature_append_os_release(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_text(out, input->machine->os_release);
}

/*
 * VERSION: "<kernel release>-weir-<version>". hotspot's perfparser takes the leading number for perf's version and
 * honors rounds from 3.17 on.
 */
bool weir_feature_append_version(struct weir_buf *out, const struct weir_features_input *input)
{
    if (!is_text(input->machine->os_release))
        return false;
    struct weir_buf version = WEIR_BUF_INIT;
    weir_buf_printf(&version, "%s-weir-%s", input->machine->os_release, WEIR_VERSION);
    weir_feature_append_string(out, weir_buf_str(&version));
    if (weir_buf_error(&version) < 0)
        out->error = weir_buf_error(&version);
    weir_buf_fini(&version);
    return true;
}

bool weir_feature_append_arch(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_text(out, input->machine->arch);
}

bool weir_feature_append_cpu_desc(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_text(out, input->machine->cpu_desc);
}

bool weir_feature_append_cpuid(struct weir_buf *out, const struct weir_features_input *input)
{
    return append_text(out, input->machine->cpuid);
}

/* Consumers index CPU_TOPOLOGY's per-CPU part by CPU number up to NRCPUS' first word, so no online CPU may lie
 * above. */
static uint32_t cpus_available(const struct weir_machine *machine)
{
    uint32_t available = machine->cpus_available;
    for (size_t i = 0; i < machine->cpu_count; i++)
        available = (uint32_t)weir_max_u64(available, machine->cpus[i].id + 1ull);
    return available;
}

/* NRCPUS: u32 available, u32 online. */
bool weir_feature_append_cpu_counts(struct weir_buf *out, const struct weir_features_input *input)
{
    uint32_t available = cpus_available(input->machine);
    if (available == 0)
        return false;
    weir_buf_append_u32(out, available);
    weir_buf_append_u32(out, input->machine->cpus_online);
    return true;
}

/* TOTAL_MEM: u64 kilobytes. */
bool weir_feature_append_total_mem(struct weir_buf *out, const struct weir_features_input *input)
{
    if (input->machine->mem_total_kb == 0)
        return false;
    weir_buf_append_u64(out, input->machine->mem_total_kb);
    return true;
}

enum sibling_kind {
    PACKAGE_SIBLINGS,
    THREAD_SIBLINGS,
    DIE_SIBLINGS,
};

static const char *siblings_of(const struct weir_machine_cpu *cpu, enum sibling_kind kind)
{
    switch (kind) {
    case PACKAGE_SIBLINGS:
        return cpu->core_siblings;
    case THREAD_SIBLINGS:
        return cpu->thread_siblings;
    case DIE_SIBLINGS:
        break;
    }
    return cpu->die_siblings;
}

/* Is this the first CPU that has its list? Once per file: comparing with every earlier CPU is cheap enough. */
static bool is_first_with_list(const struct weir_machine *machine, size_t index, enum sibling_kind kind)
{
    const char *list = siblings_of(&machine->cpus[index], kind);
    if (!is_text(list))
        return false;
    for (size_t i = 0; i < index; i++) {
        const char *earlier = siblings_of(&machine->cpus[i], kind);
        if (earlier && strcmp(earlier, list) == 0)
            return false;
    }
    return true;
}

static uint32_t count_lists(const struct weir_machine *machine, enum sibling_kind kind)
{
    uint32_t count = 0;
    for (size_t i = 0; i < machine->cpu_count; i++)
        count += is_first_with_list(machine, i, kind);
    return count;
}

/* u32 count, then each distinct list once, in the order of the first CPU that has it. */
static void append_lists(struct weir_buf *out, const struct weir_machine *machine, enum sibling_kind kind)
{
    weir_buf_append_u32(out, count_lists(machine, kind));
    for (size_t i = 0; i < machine->cpu_count; i++) {
        if (is_first_with_list(machine, i, kind))
            weir_feature_append_string(out, siblings_of(&machine->cpus[i], kind));
    }
}

static bool has_lists(const struct weir_machine *machine, enum sibling_kind kind)
{
    for (size_t i = 0; i < machine->cpu_count; i++) {
        if (is_text(siblings_of(&machine->cpus[i], kind)))
            return true;
    }
    return false;
}

/* perf 7.0 and later read an entry for each CPU that NRCPUS has online: u32 number, u32 domains. */
void weir_feature_append_end(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    weir_buf_append_u32(out, 0); /* version of /proc/schedstat */
    weir_buf_append_u32(out, 1); /* levels */
    for (uint32_t i = 0; cpus_available(machine) > 0 && i < machine->cpus_online; i++) {
        weir_buf_append_u32(out, i < machine->cpu_count ? machine->cpus[i].id : i);
        weir_buf_append_u32(out, 0);
    }
}

/* NULL for numbers that are not online. *cursor: an index into cpus, which ascend by id; starts at 0. */
static const struct weir_machine_cpu *cpu_by_number(const struct weir_machine *machine, uint32_t number, size_t *cursor)
{
    while (*cursor < machine->cpu_count && machine->cpus[*cursor].id < number)
        (*cursor)++;
    if (*cursor == machine->cpu_count || machine->cpus[*cursor].id != number)
        return NULL;
    return &machine->cpus[*cursor];
}

/* Per CPU number: i32 core id, i32 package id; -1 when unknown or not online. */
static void append_core_and_package_ids(struct weir_buf *out, const struct weir_machine *machine)
{
    uint32_t available = cpus_available(machine);
    size_t cursor = 0;
    for (uint32_t number = 0; number < available; number++) {
        const struct weir_machine_cpu *cpu = cpu_by_number(machine, number, &cursor);
        weir_buf_append_u32(out, (uint32_t)(cpu ? cpu->core_id : -1));
        weir_buf_append_u32(out, (uint32_t)(cpu ? cpu->package_id : -1));
    }
}

static void append_die_ids(struct weir_buf *out, const struct weir_machine *machine)
{
    uint32_t available = cpus_available(machine);
    size_t cursor = 0;
    for (uint32_t number = 0; number < available; number++) {
        const struct weir_machine_cpu *cpu = cpu_by_number(machine, number, &cursor);
        weir_buf_append_u32(out, (uint32_t)(cpu ? cpu->die_id : -1));
    }
}

/* CPU_TOPOLOGY: package lists, thread lists, ids per CPU; where dies are known also die lists and die ids per CPU. */
bool weir_feature_append_cpu_topology(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    if (!has_lists(machine, PACKAGE_SIBLINGS) && !has_lists(machine, THREAD_SIBLINGS))
        return false;
    append_lists(out, machine, PACKAGE_SIBLINGS);
    append_lists(out, machine, THREAD_SIBLINGS);
    append_core_and_package_ids(out, machine);
    if (has_lists(machine, DIE_SIBLINGS)) {
        append_lists(out, machine, DIE_SIBLINGS);
        append_die_ids(out, machine);
    }
    return true;
}

/* NUMA_TOPOLOGY: u32 count; per node u32 number, u64 total kB, u64 free kB, string CPU list. */
bool weir_feature_append_numa_topology(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    if (machine->node_count == 0)
        return false;
    weir_buf_append_u32(out, (uint32_t)machine->node_count);
    for (size_t i = 0; i < machine->node_count; i++) {
        weir_buf_append_u32(out, machine->nodes[i].id);
        weir_buf_append_u64(out, machine->nodes[i].mem_total_kb);
        weir_buf_append_u64(out, machine->nodes[i].mem_free_kb);
        weir_feature_append_string(out, machine->nodes[i].cpus);
    }
    return true;
}

/* PMU_MAPPINGS: u32 count; per PMU u32 type, string name. */
bool weir_feature_append_pmu_mappings(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    if (machine->pmu_count == 0)
        return false;
    weir_buf_append_u32(out, (uint32_t)machine->pmu_count);
    for (size_t i = 0; i < machine->pmu_count; i++) {
        weir_buf_append_u32(out, machine->pmus[i].type);
        weir_feature_append_string(out, machine->pmus[i].name);
    }
    return true;
}

/* HYBRID_TOPOLOGY: of the core PMUs where there are several: u32 count; per PMU string name, string CPU list. */
bool weir_feature_append_hybrid_topology(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    uint32_t count = 0;
    for (size_t i = 0; i < machine->pmu_count; i++)
        count += machine->pmus[i].cpus != NULL;
    if (count == 0)
        return false;
    weir_buf_append_u32(out, count);
    for (size_t i = 0; i < machine->pmu_count; i++) {
        if (!machine->pmus[i].cpus)
            continue;
        weir_feature_append_string(out, machine->pmus[i].name);
        weir_feature_append_string(out, machine->pmus[i].cpus);
    }
    return true;
}

static void append_caps(struct weir_buf *out, const struct weir_machine_pmu *pmu)
{
    weir_buf_append_u32(out, (uint32_t)pmu->cap_count);
    for (size_t i = 0; i < pmu->cap_count; i++) {
        weir_feature_append_string(out, pmu->caps[i].name);
        weir_feature_append_string(out, pmu->caps[i].value);
    }
}

static bool is_cpu_pmu(const struct weir_machine_pmu *pmu)
{
    return strcmp(pmu->name, "cpu") == 0;
}

/* CPU_PMU_CAPS: of the PMU "cpu": u32 count; per capability string name, string value. */
bool weir_feature_append_cpu_pmu_caps(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    for (size_t i = 0; i < machine->pmu_count; i++) {
        if (is_cpu_pmu(&machine->pmus[i]) && machine->pmus[i].cap_count > 0) {
            append_caps(out, &machine->pmus[i]);
            return true;
        }
    }
    return false;
}

/* PMU_CAPS: of all others that have any: u32 count; per PMU as above, then string name of the PMU. */
bool weir_feature_append_pmu_caps(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    uint32_t count = 0;
    for (size_t i = 0; i < machine->pmu_count; i++)
        count += !is_cpu_pmu(&machine->pmus[i]) && machine->pmus[i].cap_count > 0;
    if (count == 0)
        return false;
    weir_buf_append_u32(out, count);
    for (size_t i = 0; i < machine->pmu_count; i++) {
        if (is_cpu_pmu(&machine->pmus[i]) || machine->pmus[i].cap_count == 0)
            continue;
        append_caps(out, &machine->pmus[i]);
        weir_feature_append_string(out, machine->pmus[i].name);
    }
    return true;
}

static void append_cache(struct weir_buf *out, const struct weir_machine_cache *cache)
{
    weir_buf_append_u32(out, cache->level);
    weir_buf_append_u32(out, cache->line_bytes);
    weir_buf_append_u32(out, cache->sets);
    weir_buf_append_u32(out, cache->ways);
    weir_feature_append_string(out, cache->type);
    weir_feature_append_string(out, cache->size);
    weir_feature_append_string(out, cache->cpus);
}

/* The least level above `above`; -1 when there is none. */
static int64_t next_cache_level(const struct weir_machine *machine, int64_t above)
{
    int64_t least = -1;
    for (size_t i = 0; i < machine->cache_count; i++) {
        int64_t level = machine->caches[i].level;
        if (level > above && (least < 0 || level < least))
            least = level;
    }
    return least;
}

/*
 * CACHE: u32 version, u32 count; per cache u32 level, line bytes, sets, ways; string type, size, CPU list. Ascending by
 * level as perf sorts them; within a level in the machine's order.
 */
bool weir_feature_append_cache(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    if (machine->cache_count == 0)
        return false;
    weir_buf_append_u32(out, CACHE_VERSION);
    weir_buf_append_u32(out, (uint32_t)machine->cache_count);

    for (int64_t level = next_cache_level(machine, -1); level >= 0; level = next_cache_level(machine, level)) {
        for (size_t i = 0; i < machine->cache_count; i++) {
            if (machine->caches[i].level == level)
                append_cache(out, &machine->caches[i]);
        }
    }
    return true;
}

static void append_memory_node(struct weir_buf *out, const struct weir_machine_node *node)
{
    size_t words = (node->memory_block_bits + BITMAP_WORD_BITS - 1) / BITMAP_WORD_BITS;
    weir_buf_append_u64(out, node->id);
    weir_buf_append_u64(out, node->memory_block_bits);
    weir_buf_append_u64(out, node->memory_block_bits); /* the bitmap's own length in front of it */
    weir_buf_append(out, node->memory_blocks, words * sizeof(uint64_t));
}

/* MEM_TOPOLOGY: u64 version, block bytes, node count; per node u64 number, bits, bits, bitmap in u64 words. */
bool weir_feature_append_mem_topology(struct weir_buf *out, const struct weir_features_input *input)
{
    const struct weir_machine *machine = input->machine;
    uint64_t nodes_known = 0;
    for (size_t i = 0; i < machine->node_count; i++)
        nodes_known += machine->nodes[i].memory_blocks != NULL;
    if (machine->memory_block_bytes == 0 || nodes_known == 0)
        return false;

    weir_buf_append_u64(out, MEM_TOPOLOGY_VERSION);
    weir_buf_append_u64(out, machine->memory_block_bytes);
    weir_buf_append_u64(out, nodes_known);
    for (size_t i = 0; i < machine->node_count; i++) {
        if (machine->nodes[i].memory_blocks)
            append_memory_node(out, &machine->nodes[i]);
    }
    return true;
}

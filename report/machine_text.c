/* Reads features. Source of their layouts: docs/format.md. */
#include "report/machine_text.h"

#include "base/cpuset.h"
#include "format/bytes.h"
#include "format/text_out.h"

#define ITEMS_MAX 65536u

/* The payload of a feature as a cursor; release payload afterwards. An absent feature is an empty payload. */
static struct weir_cursor open_feature(struct weir_perf_input *input, unsigned feature, struct weir_buf *payload)
{
    *payload = (struct weir_buf)WEIR_BUF_INIT;
    if (weir_perf_input_feature(input, feature, payload, NULL) != 1)
        return (struct weir_cursor){.failed = true};
    return (struct weir_cursor){.data = payload->data, .bytes = payload->used};
}

static void append_string(struct weir_buf *out, const char *text)
{
    if (text)
        weir_text_append_json_string(out, text);
    else
        weir_buf_append(out, "null", 4);
}

void weir_machine_text_append(struct weir_buf *out, struct weir_perf_input *input, unsigned feature)
{
    struct weir_buf payload;
    struct weir_cursor cursor = open_feature(input, feature, &payload);
    append_string(out, weir_cursor_string(&cursor));
    weir_buf_fini(&payload);
}

void weir_machine_online_append(struct weir_buf *out, struct weir_perf_input *input)
{
    struct weir_buf payload;
    struct weir_cursor cursor = open_feature(input, WEIR_FEATURE_NRCPUS, &payload);
    weir_cursor_u32(&cursor); /* those that are there */
    uint32_t online = weir_cursor_u32(&cursor);
    if (cursor.failed)
        append_string(out, NULL);
    else
        weir_buf_printf(out, "%u", online);
    weir_buf_fini(&payload);
}

void weir_machine_command_append(struct weir_buf *out, struct weir_perf_input *input)
{
    struct weir_buf payload;
    struct weir_cursor cursor = open_feature(input, WEIR_FEATURE_CMDLINE, &payload);
    uint32_t count = weir_cursor_u32(&cursor);
    if (cursor.failed) {
        append_string(out, NULL);
    } else {
        weir_buf_append_u8(out, '[');
        for (uint32_t i = 0; i < count && i < ITEMS_MAX; i++) {
            const char *word = weir_cursor_string(&cursor);
            if (!word)
                break;
            if (i > 0)
                weir_buf_append_u8(out, ',');
            weir_text_append_json_string(out, word);
        }
        weir_buf_append_u8(out, ']');
    }
    weir_buf_fini(&payload);
}

/* u32 nodes; of each u32 number, u64 memory, u64 free memory, string of CPUs. */
static void find_nodes(struct weir_perf_input *input, struct weir_cpu_place *places, uint32_t count)
{
    struct weir_buf payload;
    struct weir_cursor cursor = open_feature(input, WEIR_FEATURE_NUMA_TOPOLOGY, &payload);
    uint32_t nodes = weir_cursor_u32(&cursor);
    for (uint32_t i = 0; i < nodes && i < ITEMS_MAX && !cursor.failed; i++) {
        struct weir_cpuset cpus = WEIR_CPUSET_INIT;
        uint32_t node = weir_cursor_u32(&cursor);
        weir_cursor_take(&cursor, 2 * sizeof(uint64_t));
        const char *list = weir_cursor_string(&cursor);
        if (list && weir_cpuset_parse(&cpus, list, NULL) == 0) {
            WEIR_CPUSET_FOREACH(cpu, &cpus) {
                if ((uint32_t)cpu < count)
                    places[cpu].node = (int)node;
            }
        }
        weir_cpuset_fini(&cpus);
    }
    weir_buf_fini(&payload);
}

/* Two lists of strings: u32 and as many strings; then u32 core and u32 package of each CPU. */
static void find_cores(struct weir_perf_input *input, struct weir_cpu_place *places, uint32_t count)
{
    struct weir_buf payload;
    struct weir_cursor cursor = open_feature(input, WEIR_FEATURE_CPU_TOPOLOGY, &payload);
    for (unsigned list = 0; list < 2; list++) {
        uint32_t strings = weir_cursor_u32(&cursor);
        for (uint32_t i = 0; i < strings && !cursor.failed; i++)
            weir_cursor_string(&cursor);
    }
    for (uint32_t cpu = 0; cpu < count && !cursor.failed; cpu++) {
        uint32_t core = weir_cursor_u32(&cursor), package = weir_cursor_u32(&cursor);
        if (cursor.failed)
            break;
        places[cpu].core = (int)core;
        places[cpu].package = (int)package;
    }
    weir_buf_fini(&payload);
}

void weir_machine_places(struct weir_perf_input *input, struct weir_cpu_place *places, uint32_t count)
{
    for (uint32_t cpu = 0; cpu < count; cpu++)
        places[cpu] = (struct weir_cpu_place){WEIR_PLACE_UNKNOWN, WEIR_PLACE_UNKNOWN, WEIR_PLACE_UNKNOWN};
    find_nodes(input, places, count);
    find_cores(input, places, count);
}

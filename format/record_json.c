/*
 * The JSON of the parts of a record that its schema does not list: lists, alternatives, bytes. Names are those of
 * linux/perf_event.h and of perf's structures (tools/lib/perf/include/perf/event.h). One thread.
 */
#include "format/record_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "format/auxtrace_text.h"
#include "format/bytes.h"
#include "format/cpu_map_text.h"
#include "format/kernel_record_text.h"
#include "format/perf_file.h"
#include "format/sample_layout.h"
#include "format/schedstat_text.h"
#include "format/text_out.h"
#include "format/user_record_text.h"

#define BUILD_ID_BYTES  20u /* at most, of MMAP2 */
#define NAMESPACE_BYTES 16u
#define BPF_TAG_BYTES   8u
#define ENTRY_BYTES     32u /* of ID_INDEX */
#define THREAD_BYTES    24u
#define STAT_PAIR_BYTES 16u

/* Of BPF_METADATA: a program's name (KSYM_NAME_LEN bytes), u64 count, per variable a key and a value. */
#define PROGRAM_NAME_BYTES   512u
#define METADATA_ENTRIES_AT  528u
#define METADATA_ENTRY_BYTES 320u
#define METADATA_KEY_BYTES   64u

static void append_u64(const char *name, uint64_t value, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"%s\":%" PRIu64, name, value);
}

static void append_true(const char *name, bool is_so, struct weir_buf *out)
{
    if (is_so)
        weir_buf_printf(out, ",\"%s\":true", name);
}

static void append_hex(const char *name, const uint8_t *data, size_t bytes, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"%s\":\"", name);
    weir_text_append_hex(out, data, bytes);
    weir_buf_append_u8(out, '"');
}

/* ,"name":[...]: calls `append` for each of the entries that are there, of `count` that the record claims. */
static void append_list(const char *name, const struct weir_text_record *record, size_t first, uint64_t count,
                        unsigned entry_bytes, void (*append)(const uint8_t *entry, uint64_t n, struct weir_buf *out),
                        struct weir_buf *out)
{
    count = weir_min_u64(count, (record->body_bytes - first) / entry_bytes);
    weir_buf_printf(out, ",\"%s\":[", name);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0)
            weir_buf_append_u8(out, ',');
        append(record->data + first + i * entry_bytes, i, out);
    }
    weir_buf_append_u8(out, ']');
}

/* ---- of the kernel ---- */

static void append_mapped_file(const struct weir_text_record *record, struct weir_buf *out)
{
    if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        append_hex("build_id", record->data + 44, weir_min_u64(record->data[40], BUILD_ID_BYTES), out);
        return;
    }
    append_u64("maj", weir_text_u32_at(record, 40), out);
    append_u64("min", weir_text_u32_at(record, 44), out);
    append_u64("ino", weir_text_u64_at(record, 48), out);
    append_u64("ino_generation", weir_text_u64_at(record, 56), out);
}

static void append_ids(uint64_t format, struct weir_cursor *cursor, struct weir_buf *out)
{
    if (format & PERF_FORMAT_ID)
        append_u64("id", weir_cursor_u64(cursor), out);
    if (format & PERF_FORMAT_LOST)
        append_u64("lost", weir_cursor_u64(cursor), out);
}

/* The members of a group, as far as they are there. */
static void append_members(uint64_t format, uint64_t count, struct weir_cursor *cursor, struct weir_buf *out)
{
    size_t member_bytes = weir_read_words(format) * sizeof(uint64_t);
    weir_buf_printf(out, ",\"values\":[");
    for (uint64_t i = 0; i < count && cursor->bytes >= member_bytes; i++) {
        weir_buf_printf(out, "%s{\"value\":%" PRIu64, i ? "," : "", weir_cursor_u64(cursor));
        append_ids(format, cursor, out);
        weir_buf_append_u8(out, '}');
    }
    weir_buf_append_u8(out, ']');
}

/* struct read_format in linux/perf_event.h: the count, or how many members follow the times. */
static void append_counts(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t format = record->event ? record->event->attr.read_format : 0;
    struct weir_cursor cursor = {.data = record->data + 16, .bytes = record->body_bytes - 16};
    uint64_t first = weir_cursor_u64(&cursor);
    append_u64(format & PERF_FORMAT_GROUP ? "nr" : "value", first, out);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        append_u64("time_enabled", weir_cursor_u64(&cursor), out);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        append_u64("time_running", weir_cursor_u64(&cursor), out);
    if (format & PERF_FORMAT_GROUP)
        append_members(format, first, &cursor, out);
    else
        append_ids(format, &cursor, out);
}

static void append_namespace(const uint8_t *entry, uint64_t n, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"name\":\"%s\"", weir_namespace_name(n));
    append_u64("dev", weir_load_u64(entry), out);
    append_u64("inode", weir_load_u64(entry + 8), out);
    weir_buf_append_u8(out, '}');
}

static void append_poke(const struct weir_text_record *record, struct weir_buf *out)
{
    uint16_t old_bytes = weir_load_u16(record->data + 16), new_bytes = weir_load_u16(record->data + 18);
    struct weir_cursor cursor = {.data = record->data + 20, .bytes = record->body_bytes - 20};
    const uint8_t *data = weir_cursor_take(&cursor, (uint64_t)old_bytes + new_bytes);
    if (!data)
        return;
    append_hex("old_bytes", data, old_bytes, out);
    append_hex("new_bytes", data + old_bytes, new_bytes, out);
}

static void append_address(const uint8_t *entry, uint64_t n, struct weir_buf *out)
{
    (void)n;
    weir_buf_printf(out, "\"%#" PRIx64 "\"", weir_load_u64(entry));
}

static void append_of_kernel(const struct weir_text_record *record, struct weir_buf *out)
{
    switch (record->type) {
    case PERF_RECORD_MMAP2:
        append_mapped_file(record, out);
        break;
    case PERF_RECORD_COMM:
        append_true("exec", record->misc & PERF_RECORD_MISC_COMM_EXEC, out);
        break;
    case PERF_RECORD_READ:
        append_counts(record, out);
        break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        append_true("out", record->misc & PERF_RECORD_MISC_SWITCH_OUT, out);
        append_true("preempt", record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, out);
        break;
    case PERF_RECORD_NAMESPACES:
        append_list("namespaces", record, 24, weir_text_u64_at(record, 16), NAMESPACE_BYTES, append_namespace, out);
        break;
    case PERF_RECORD_BPF_EVENT:
        append_hex("tag", record->data + 16, BPF_TAG_BYTES, out);
        break;
    case PERF_RECORD_TEXT_POKE:
        append_poke(record, out);
        break;
    case WEIR_RECORD_CALLCHAIN_DEFERRED:
        append_list("ips", record, 24, weir_text_u64_at(record, 16), sizeof(uint64_t), append_address, out);
        break;
    default:
        break;
    }
}

/* ---- of user space ---- */

static void append_index_entry(const uint8_t *entry, uint64_t n, struct weir_buf *out)
{
    (void)n;
    weir_buf_printf(out, "{\"id\":%" PRIu64 ",\"idx\":%" PRIu64 ",\"cpu\":%" PRId64 ",\"tid\":%" PRId64 "}",
                    weir_load_u64(entry), weir_load_u64(entry + 8), (int64_t)weir_load_u64(entry + 16),
                    (int64_t)weir_load_u64(entry + 24));
}

static void append_thread(const uint8_t *entry, uint64_t n, struct weir_buf *out)
{
    (void)n;
    weir_buf_printf(out, "{\"pid\":%" PRId64 ",\"comm\":", (int64_t)weir_load_u64(entry));
    weir_text_append_json(out, entry + 8, THREAD_BYTES - 8);
    weir_buf_append_u8(out, '}');
}

static void append_stat_pair(const uint8_t *entry, uint64_t n, struct weir_buf *out)
{
    (void)n;
    weir_buf_printf(out, "{\"tag\":%" PRIu64 ",\"val\":%" PRIu64 "}", weir_load_u64(entry), weir_load_u64(entry + 8));
}

static void append_cpus(const uint8_t *map, size_t bytes, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"cpus\":\"");
    weir_cpu_map_append(map, bytes, out);
    weir_buf_append_u8(out, '"');
}

static void append_scale(const uint8_t *value, size_t bytes, struct weir_buf *out)
{
    double scale;
    if (bytes < sizeof(scale))
        return;
    memcpy(&scale, value, sizeof(scale));
    if (isfinite(scale)) /* else it has no form in JSON */
        weir_buf_printf(out, ",\"scale\":%.17g", scale);
}

static void append_update(const struct weir_text_record *record, struct weir_buf *out)
{
    const uint8_t *value = record->data + 24;
    size_t left = record->bytes - 24;
    switch (weir_text_u64_at(record, 8)) {
    case WEIR_EVENT_UPDATE_UNIT:
    case WEIR_EVENT_UPDATE_NAME:
        weir_buf_printf(out, ",\"%s\":", weir_text_u64_at(record, 8) == WEIR_EVENT_UPDATE_UNIT ? "unit" : "name");
        weir_text_append_json(out, value, left);
        break;
    case WEIR_EVENT_UPDATE_SCALE:
        append_scale(value, left, out);
        break;
    case WEIR_EVENT_UPDATE_CPUS:
        if (left >= sizeof(uint16_t))
            append_cpus(value, left, out);
        break;
    default:
        break;
    }
}

static void append_conversion(const struct weir_text_record *record, struct weir_buf *out)
{
    if (record->bytes < WEIR_TIME_CONV_BYTES)
        return;
    append_u64("time_cycles", weir_text_u64_at(record, 32), out);
    weir_buf_printf(out, ",\"time_mask\":\"%#" PRIx64 "\"", weir_text_u64_at(record, 40));
    append_u64("cap_user_time_zero", record->data[48], out);
    append_u64("cap_user_time_short", record->data[49], out);
}

static void append_build_id(const struct weir_text_record *record, struct weir_buf *out)
{
    append_hex("build_id", record->data + 12, weir_build_id_record_bytes(record), out);
}

static void append_variable(const uint8_t *entry, uint64_t n, struct weir_buf *out)
{
    (void)n;
    weir_buf_printf(out, "{\"key\":");
    weir_text_append_json(out, entry, METADATA_KEY_BYTES);
    weir_buf_printf(out, ",\"value\":");
    weir_text_append_json(out, entry + METADATA_KEY_BYTES, METADATA_ENTRY_BYTES - METADATA_KEY_BYTES);
    weir_buf_append_u8(out, '}');
}

/* Read-only variables of a BPF program whose names begin with bpf_metadata_. */
static void append_metadata(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"prog_name\":");
    weir_text_append_json(out, record->data + sizeof(struct perf_event_header), PROGRAM_NAME_BYTES);
    append_list("variables", record, METADATA_ENTRIES_AT,
                weir_text_u64_at(record, sizeof(struct perf_event_header) + PROGRAM_NAME_BYTES), METADATA_ENTRY_BYTES,
                append_variable, out);
}

static void append_of_user(const struct weir_text_record *record, struct weir_buf *out)
{
    switch (record->type) {
    case WEIR_RECORD_BUILD_ID:
        append_build_id(record, out);
        break;
    case WEIR_RECORD_ID_INDEX:
        append_list("entries", record, 16, weir_text_u64_at(record, 8), ENTRY_BYTES, append_index_entry, out);
        break;
    case WEIR_RECORD_AUXTRACE_INFO:
        weir_auxtrace_info_json_append(record->data, record->bytes, out);
        break;
    case WEIR_RECORD_THREAD_MAP:
        append_list("threads", record, 16, weir_text_u64_at(record, 8), THREAD_BYTES, append_thread, out);
        break;
    case WEIR_RECORD_CPU_MAP:
        append_cpus(record->data + sizeof(struct perf_event_header), record->bytes - sizeof(struct perf_event_header),
                    out);
        break;
    case WEIR_RECORD_STAT_CONFIG:
        append_list("data", record, 16, weir_text_u64_at(record, 8), STAT_PAIR_BYTES, append_stat_pair, out);
        break;
    case WEIR_RECORD_EVENT_UPDATE:
        append_update(record, out);
        break;
    case WEIR_RECORD_TIME_CONV:
        append_conversion(record, out);
        break;
    case WEIR_RECORD_BPF_METADATA:
        append_metadata(record, out);
        break;
    case WEIR_RECORD_SCHEDSTAT_CPU:
    case WEIR_RECORD_SCHEDSTAT_DOMAIN:
        weir_schedstat_json_append(record, out);
        break;
    default:
        break;
    }
}

void weir_record_json_members(const struct weir_text_record *record, struct weir_buf *out)
{
    if (record->type < WEIR_RECORD_ATTR)
        append_of_kernel(record, out);
    else
        append_of_user(record, out);
}

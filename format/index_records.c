/* Builders of ID_INDEX, THREAD_MAP, CPU_MAP and EVENT_UPDATE records. Coordinator, when an output begins. */
#include "format/index_records.h"

#include <string.h>

#include "base/bits.h"

#define COUNT_BYTES       16u /* header and u64 count */
#define TASK_BYTES        24u /* u64 tid, 16 bytes of name */
#define CPU_LIST          0u  /* PERF_CPU_MAP__CPUS */
#define LIST_HEADER_BYTES 4u  /* u16 sort, u16 count */
#define CPU_LIST_OFFSET   12u /* header, and these */
#define UPDATE_BYTES      24u /* header, u64 sort, u64 id */
#define UNIT_MAX_BYTES    255u
#define CPUS_CHANGED_MAX  32750u /* CPUs of one record */
#define MACHINE_BYTES(n)  (COUNT_BYTES + (n) * sizeof(struct weir_id_index_entry))

_Static_assert(MACHINE_BYTES(WEIR_ID_INDEX_MAX) <= WEIR_RECORD_MAX_BYTES, "ID_INDEX");
_Static_assert(MACHINE_BYTES(WEIR_ID_INDEX_MAX + 1) > WEIR_RECORD_MAX_BYTES, "ID_INDEX");
_Static_assert(COUNT_BYTES + WEIR_THREAD_MAP_MAX * TASK_BYTES <= WEIR_RECORD_MAX_BYTES, "THREAD_MAP");
_Static_assert(COUNT_BYTES + (WEIR_THREAD_MAP_MAX + 1) * TASK_BYTES > WEIR_RECORD_MAX_BYTES, "THREAD_MAP");
_Static_assert(UPDATE_BYTES + LIST_HEADER_BYTES + CPUS_CHANGED_MAX * sizeof(uint16_t) <= WEIR_RECORD_MAX_BYTES,
               "EVENT_UPDATE");
_Static_assert(CPU_LIST_OFFSET + WEIR_CPU_MAP_MAX * sizeof(uint16_t) <= WEIR_RECORD_MAX_BYTES, "CPU_MAP");

static void append_header(struct weir_buf *out, enum weir_user_record type, size_t bytes)
{
    struct perf_event_header header = {.type = type, .size = (uint16_t)bytes};
    weir_buf_append(out, &header, sizeof(header));
}

void weir_record_id_index(struct weir_buf *out, const struct weir_id_index_entry *entries, size_t count)
{
    for (size_t at = 0; at < count; at += WEIR_ID_INDEX_MAX) {
        size_t part = weir_min_u64(count - at, WEIR_ID_INDEX_MAX);
        append_header(out, WEIR_RECORD_ID_INDEX, COUNT_BYTES + part * sizeof(*entries));
        weir_buf_append_u64(out, part);
        weir_buf_append(out, entries + at, part * sizeof(*entries));
    }
}

void weir_record_thread_map(struct weir_buf *out, const pid_t *tids, size_t count)
{
    for (size_t at = 0; at < count; at += WEIR_THREAD_MAP_MAX) {
        size_t part = weir_min_u64(count - at, WEIR_THREAD_MAP_MAX);
        append_header(out, WEIR_RECORD_THREAD_MAP, COUNT_BYTES + part * TASK_BYTES);
        weir_buf_append_u64(out, part);
        for (size_t i = at; i < at + part; i++) {
            weir_buf_append_u64(out, (uint64_t)(int64_t)tids[i]);
            weir_buf_append_zeros(out, TASK_BYTES - sizeof(uint64_t));
        }
    }
}

void weir_record_time_conv(struct weir_buf *out, const struct weir_time_conv *conv)
{
    append_header(out, WEIR_RECORD_TIME_CONV, sizeof(struct perf_event_header) + sizeof(*conv));
    weir_buf_append(out, conv, sizeof(*conv));
}

/* struct perf_record_cpu_map_data, behind fixed_bytes of the record. */
static void append_cpus(struct weir_buf *out, size_t fixed_bytes, const int *cpus, size_t count)
{
    weir_buf_append_u16(out, CPU_LIST);
    weir_buf_append_u16(out, (uint16_t)count);
    for (size_t i = 0; i < count; i++)
        weir_buf_append_u16(out, (uint16_t)cpus[i]);
    size_t bytes = fixed_bytes + LIST_HEADER_BYTES + count * sizeof(uint16_t);
    weir_buf_append_zeros(out, weir_align_up(bytes, 8) - bytes);
}

void weir_record_cpu_map(struct weir_buf *out, const int *cpus, size_t count)
{
    size_t listed = weir_min_u64(count, WEIR_CPU_MAP_MAX);
    append_header(out, WEIR_RECORD_CPU_MAP, weir_align_up(CPU_LIST_OFFSET + listed * sizeof(uint16_t), 8));
    append_cpus(out, sizeof(struct perf_event_header), cpus, listed);
}

static void begin_update(struct weir_buf *out, uint64_t sort, uint64_t id, size_t data_bytes)
{
    append_header(out, WEIR_RECORD_EVENT_UPDATE, UPDATE_BYTES + data_bytes);
    weir_buf_append_u64(out, sort);
    weir_buf_append_u64(out, id);
}

void weir_record_event_unit(struct weir_buf *out, uint64_t id, const char *unit)
{
    size_t bytes = strnlen(unit, UNIT_MAX_BYTES), room = weir_align_up(bytes + 1, sizeof(uint64_t));
    begin_update(out, WEIR_EVENT_UPDATE_UNIT, id, room);
    weir_buf_append(out, unit, bytes);
    weir_buf_append_zeros(out, room - bytes);
}

void weir_record_event_scale(struct weir_buf *out, uint64_t id, double scale)
{
    begin_update(out, WEIR_EVENT_UPDATE_SCALE, id, sizeof(scale));
    weir_buf_append(out, &scale, sizeof(scale));
}

void weir_record_event_cpus(struct weir_buf *out, uint64_t id, const int *cpus, size_t count)
{
    weir_record_cpus_changed(out, id, cpus, count);
}

void weir_record_cpus_changed(struct weir_buf *out, uint64_t id, const int *cpus, size_t count)
{
    size_t listed = weir_min_u64(count, CPUS_CHANGED_MAX);
    begin_update(out, WEIR_EVENT_UPDATE_CPUS, id,
                 weir_align_up(UPDATE_BYTES + LIST_HEADER_BYTES + listed * sizeof(uint16_t), 8) - UPDATE_BYTES);
    append_cpus(out, UPDATE_BYTES, cpus, listed);
}

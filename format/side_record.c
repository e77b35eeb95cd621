/* The parser of side records. Any thread. */
#include "format/side_record.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/event_desc.h"

#define TASK_BYTES      32u /* header, pid, ppid, tid, ptid, time: FORK and EXIT */
#define COMM_OFFSET     16u /* header, pid, tid */
#define MMAP_NAME       40u /* header, pid, tid, addr, len, pgoff */
#define MMAP2_NAME      72u /* and maj, min, ino, ino_generation or the build id; prot, flags */
#define MMAP2_BUILD_ID  40u /* u8 size, u8, u16, u8[20] */
#define MMAP2_PROTECTED 64u
#define BPF_EVENT_BYTES 24u /* header, u16 type, u16 flags, u32 id, tag */
#define LOST_BYTES      24u /* header, u64 id, u64 lost */

void weir_side_layout_init(struct weir_side_layout *layout, const struct perf_event_attr *attr)
{
    layout->trailer_bytes = weir_attr_sample_id_bytes(attr);
    layout->time_offset = layout->trailer_bytes;
    if (layout->trailer_bytes > 0 && (attr->sample_type & PERF_SAMPLE_TIME))
        layout->time_offset = attr->sample_type & PERF_SAMPLE_TID ? 8 : 0;
}

/* The text in [offset, end) of the record when it ends in a zero there, else NULL. */
static const char *text_at(const uint8_t *data, size_t offset, size_t end)
{
    if (offset >= end || !memchr(data + offset, '\0', end - offset))
        return NULL;
    return (const char *)data + offset;
}

static bool parse_task(const uint8_t *data, size_t end, struct weir_side_record *record)
{
    if (end < TASK_BYTES)
        return false;
    record->pid = (pid_t)weir_load_u32(data + 8);
    record->ppid = (pid_t)weir_load_u32(data + 12);
    record->tid = (pid_t)weir_load_u32(data + 16);
    record->ptid = (pid_t)weir_load_u32(data + 20);
    return true;
}

static bool parse_comm(const uint8_t *data, size_t end, struct weir_side_record *record)
{
    record->comm = text_at(data, COMM_OFFSET, end);
    return record->comm != NULL;
}

static bool parse_map(const uint8_t *data, size_t end, struct weir_side_record *record)
{
    bool is_second = record->type == PERF_RECORD_MMAP2;
    struct weir_record_map *map = &record->map;
    map->filename = text_at(data, is_second ? MMAP2_NAME : MMAP_NAME, end);
    if (!map->filename)
        return false;
    map->pid = record->pid;
    map->tid = record->tid;
    map->start = weir_load_u64(data + 16);
    map->bytes = weir_load_u64(data + 24);
    map->page_offset = weir_load_u64(data + 32);
    map->cpumode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (!is_second)
        return true;
    map->protection = weir_load_u32(data + MMAP2_PROTECTED);
    map->flags = weir_load_u32(data + MMAP2_PROTECTED + 4);
    if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        uint8_t size = data[MMAP2_BUILD_ID];
        record->build_id.bytes = (uint8_t)weir_min_u64(size, WEIR_BUILD_ID_MAX_BYTES);
        memcpy(record->build_id.data, data + MMAP2_BUILD_ID + 4, record->build_id.bytes);
        return true;
    }
    map->major = weir_load_u32(data + 40);
    map->minor = weir_load_u32(data + 44);
    map->inode = weir_load_u64(data + 48);
    map->inode_generation = weir_load_u64(data + 56);
    return true;
}

/* u16 type, u16 flags, u32 id, tag. */
static bool parse_bpf_event(const uint8_t *data, size_t end, struct weir_side_record *record)
{
    uint16_t type;
    if (end < BPF_EVENT_BYTES)
        return false;
    memcpy(&type, data + 8, sizeof(type));
    record->pid = record->tid = -1; /* of no task */
    record->bpf_program = type == PERF_BPF_EVENT_PROG_LOAD ? weir_load_u32(data + 12) : 0;
    return true;
}

static bool parse_lost(const uint8_t *data, size_t end, struct weir_side_record *record)
{
    if (end < LOST_BYTES)
        return false;
    record->pid = record->tid = -1; /* of nobody knows which */
    record->lost = weir_load_u64(data + 16);
    return true;
}

static bool parse_body(const uint8_t *data, size_t end, struct weir_side_record *record)
{
    if (end < COMM_OFFSET)
        return false;
    record->pid = (pid_t)weir_load_u32(data + 8);
    record->tid = (pid_t)weir_load_u32(data + 12);
    switch (record->type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return parse_task(data, end, record);
    case PERF_RECORD_COMM:
        return parse_comm(data, end, record);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return parse_map(data, end, record);
    case PERF_RECORD_BPF_EVENT:
        return parse_bpf_event(data, end, record);
    case PERF_RECORD_LOST:
        return parse_lost(data, end, record);
    default:
        return false;
    }
}

int weir_side_record_parse(const struct weir_side_layout *layout, const uint8_t *data, size_t bytes,
                           struct weir_side_record *record)
{
    struct perf_event_header header;
    if (bytes < sizeof(header))
        return 0;
    memcpy(&header, data, sizeof(header));
    if (header.size < sizeof(header) || header.size % 8)
        return -EBADMSG;
    if (header.size > bytes)
        return 0;

    *record = (struct weir_side_record){.type = header.type, .misc = header.misc, .bytes = header.size};
    size_t end = header.size - weir_min_u64(layout->trailer_bytes, header.size);
    if (!parse_body(data, end, record)) {
        record->type = 0;
        return header.size;
    }
    if (layout->time_offset + 8 <= layout->trailer_bytes)
        record->time_ns = weir_load_u64(data + end + layout->time_offset);
    return header.size;
}

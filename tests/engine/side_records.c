/* Side records for tests, made with the builders of format/records.h and given a time. */
#include "tests/engine/side_records.h"

#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "format/event_desc.h"

#define TRAILER     32u
#define TIME_OFFSET 8u

const struct perf_event_attr side_attr = {
    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
    .sample_id_all = 1,
};

static void set_time(const struct weir_buf *out, uint64_t time_ns)
{
    weir_assert(weir_attr_sample_id_bytes(&side_attr) == TRAILER);
    memcpy(out->data + out->used - TRAILER + TIME_OFFSET, &time_ns, sizeof(time_ns));
}

void side_change_misc(const struct weir_buf *out, size_t at, uint16_t set, uint16_t clear)
{
    struct perf_event_header header;
    memcpy(&header, out->data + at, sizeof(header));
    header.misc = (uint16_t)((header.misc | set) & ~clear);
    memcpy(out->data + at, &header, sizeof(header));
}

void side_fork(struct weir_buf *out, uint64_t time_ns, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid)
{
    size_t at = out->used;
    weir_record_fork(out, pid, ppid, tid, ptid, TRAILER);
    set_time(out, time_ns);
    if (time_ns > 0) /* of the kernel: the maps are inherited */
        side_change_misc(out, at, 0, PERF_RECORD_MISC_FORK_EXEC);
}

void side_exit(struct weir_buf *out, uint64_t time_ns, pid_t pid, pid_t tid)
{
    size_t at = out->used;
    weir_record_fork(out, pid, 0, tid, 0, TRAILER);
    const uint32_t type = PERF_RECORD_EXIT;
    memcpy(out->data + at, &type, sizeof(type));
    set_time(out, time_ns);
}

void side_comm(struct weir_buf *out, uint64_t time_ns, pid_t pid, pid_t tid, const char *comm, bool exec)
{
    weir_record_comm(out, pid, tid, comm, exec, TRAILER);
    set_time(out, time_ns);
}

void side_map(struct weir_buf *out, uint64_t time_ns, pid_t pid, uint64_t start, uint64_t end, uint64_t inode,
              const char *name)
{
    struct weir_record_map map = {
        .pid = pid,
        .tid = pid,
        .start = start,
        .bytes = end - start,
        .page_offset = start,
        .major = 8,
        .minor = 1,
        .inode = inode,
        .protection = PROT_READ | PROT_EXEC,
        .flags = MAP_PRIVATE,
        .cpumode = PERF_RECORD_MISC_USER,
        .filename = name,
    };
    weir_record_mmap2(out, &map, TRAILER);
    set_time(out, time_ns);
}

void side_kernel_map(struct weir_buf *out, const char *name)
{
    struct weir_record_map map = {
        .pid = -1, .start = 0xffffffff81000000, .bytes = 4096, .cpumode = PERF_RECORD_MISC_KERNEL, .filename = name};
    weir_record_mmap(out, &map, TRAILER);
}

void side_lost(struct weir_buf *out, uint64_t time_ns, uint64_t lost)
{
    const struct {
        struct perf_event_header header;
        uint64_t id, lost;
        uint8_t trailer[TRAILER];
    } record = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)}, .lost = lost};
    weir_buf_append(out, &record, sizeof(record));
    set_time(out, time_ns);
}

size_t side_parse(const struct weir_buf *out, size_t at, struct weir_side_record *record)
{
    struct weir_side_layout layout;
    weir_side_layout_init(&layout, &side_attr);
    int bytes = weir_side_record_parse(&layout, out->data + at, out->used - at, record);
    weir_assert(bytes > 0 && record->type != 0);
    return at + (size_t)bytes;
}

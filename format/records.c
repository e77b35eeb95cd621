/*
 * Builders of the records that user space writes.
 *
 * The synthesis threads and the coordinator run them, each on a buffer of its own. Only weir_record_fill_padding() runs
 * on the data path: it writes into the caller's memory and allocates nothing.
 *
 * A record is: header, fixed part, text padded with zeros to 8 bytes, sample_id trailer. The structures below are the
 * fixed parts. Source: include/uapi/linux/perf_event.h (enum perf_event_type) for the kernel's types,
 * tools/lib/perf/include/perf/event.h of Linux 6.12 for user space's.
 */
#include "format/records.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/event_desc.h"

#define RECORD_ALIGN   8u
#define COMM_MAX_BYTES 15u /* TASK_COMM_LEN without its zero */

struct mmap_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, bytes, page_offset;
};
_Static_assert(sizeof(struct mmap_record) == 40, "PERF_RECORD_MMAP up to its filename");
WEIR_FIELD_AT(struct mmap_record, pid, 8);
WEIR_FIELD_AT(struct mmap_record, tid, 12);
WEIR_FIELD_AT(struct mmap_record, start, 16);
WEIR_FIELD_AT(struct mmap_record, bytes, 24);
WEIR_FIELD_AT(struct mmap_record, page_offset, 32);

struct mmap2_record {
    struct mmap_record map;
    union {
        struct {
            uint32_t major, minor;
            uint64_t inode, inode_generation;
        };
        struct { /* with PERF_RECORD_MISC_MMAP_BUILD_ID */
            uint8_t build_id_bytes, reserved[3];
            uint8_t build_id[WEIR_BUILD_ID_MAX_BYTES];
        };
    };
    uint32_t protection, flags;
};
_Static_assert(sizeof(struct mmap2_record) == 72, "PERF_RECORD_MMAP2 up to its filename");
WEIR_FIELD_AT(struct mmap2_record, major, 40);
WEIR_FIELD_AT(struct mmap2_record, minor, 44);
WEIR_FIELD_AT(struct mmap2_record, inode, 48);
WEIR_FIELD_AT(struct mmap2_record, inode_generation, 56);
WEIR_FIELD_AT(struct mmap2_record, build_id_bytes, 40);
WEIR_FIELD_AT(struct mmap2_record, reserved, 41);
WEIR_FIELD_AT(struct mmap2_record, build_id, 44);
WEIR_FIELD_AT(struct mmap2_record, protection, 64);
WEIR_FIELD_AT(struct mmap2_record, flags, 68);

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
};
_Static_assert(sizeof(struct comm_record) == 16, "PERF_RECORD_COMM up to its comm");
WEIR_FIELD_AT(struct comm_record, pid, 8);
WEIR_FIELD_AT(struct comm_record, tid, 12);

struct ksymbol_record {
    struct perf_event_header header;
    uint64_t address;
    uint32_t bytes;
    uint16_t type, flags;
};
_Static_assert(sizeof(struct ksymbol_record) == 24, "PERF_RECORD_KSYMBOL up to its name");
WEIR_FIELD_AT(struct ksymbol_record, address, 8);
WEIR_FIELD_AT(struct ksymbol_record, bytes, 16);
WEIR_FIELD_AT(struct ksymbol_record, type, 20);
WEIR_FIELD_AT(struct ksymbol_record, flags, 22);

struct bpf_event_record {
    struct perf_event_header header;
    uint16_t type, flags;
    uint32_t id;
    uint8_t tag[8];
};
_Static_assert(sizeof(struct bpf_event_record) == 24, "PERF_RECORD_BPF_EVENT");
WEIR_FIELD_AT(struct bpf_event_record, type, 8);
WEIR_FIELD_AT(struct bpf_event_record, flags, 10);
WEIR_FIELD_AT(struct bpf_event_record, id, 12);
WEIR_FIELD_AT(struct bpf_event_record, tag, 16);

struct fork_record {
    struct perf_event_header header;
    uint32_t pid, ppid, tid, ptid;
    uint64_t time;
};
_Static_assert(sizeof(struct fork_record) == 32, "PERF_RECORD_FORK");
WEIR_FIELD_AT(struct fork_record, pid, 8);
WEIR_FIELD_AT(struct fork_record, ppid, 12);
WEIR_FIELD_AT(struct fork_record, tid, 16);
WEIR_FIELD_AT(struct fork_record, ptid, 20);
WEIR_FIELD_AT(struct fork_record, time, 24);

struct namespaces_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t count;
    struct weir_namespace namespaces[WEIR_NAMESPACES];
};
_Static_assert(sizeof(struct namespaces_record) == 24 + 16 * WEIR_NAMESPACES, "PERF_RECORD_NAMESPACES");
WEIR_FIELD_AT(struct namespaces_record, pid, 8);
WEIR_FIELD_AT(struct namespaces_record, tid, 12);
WEIR_FIELD_AT(struct namespaces_record, count, 16);
WEIR_FIELD_AT(struct namespaces_record, namespaces, 24);

struct cgroup_record {
    struct perf_event_header header;
    uint64_t id;
};
_Static_assert(sizeof(struct cgroup_record) == 16, "PERF_RECORD_CGROUP up to its path");
WEIR_FIELD_AT(struct cgroup_record, id, 8);

struct lost_samples_record {
    struct perf_event_header header;
    uint64_t lost;
};
_Static_assert(sizeof(struct lost_samples_record) == 16, "PERF_RECORD_LOST_SAMPLES");
WEIR_FIELD_AT(struct lost_samples_record, lost, 8);

_Static_assert(WEIR_RECORD_MAX_BYTES % RECORD_ALIGN == 0 && WEIR_RECORD_MAX_BYTES <= UINT16_MAX, "u16 record size");

/* Both append a record. fixed: starts with the header, whose size is filled in here. */

static void append_plain(struct weir_buf *out, struct perf_event_header *fixed, size_t fixed_bytes,
                         size_t sample_id_bytes)
{
    weir_assert(sample_id_bytes % RECORD_ALIGN == 0);
    fixed->size = (uint16_t)(fixed_bytes + sample_id_bytes);
    weir_buf_append(out, fixed, fixed_bytes);
    weir_buf_append_zeros(out, sample_id_bytes);
}

/* text is cut to most_bytes, and to the room that the record has. */
static void append_named(struct weir_buf *out, struct perf_event_header *fixed, size_t fixed_bytes, const char *text,
                         size_t most_bytes, size_t sample_id_bytes)
{
    weir_assert(sample_id_bytes % RECORD_ALIGN == 0);
    weir_assert(fixed_bytes + sample_id_bytes + RECORD_ALIGN <= WEIR_RECORD_MAX_BYTES);
    most_bytes = weir_min_u64(most_bytes, WEIR_RECORD_MAX_BYTES - fixed_bytes - sample_id_bytes - 1);
    size_t text_bytes = strnlen(text, most_bytes), room = weir_align_up(text_bytes + 1, RECORD_ALIGN);
    fixed->size = (uint16_t)(fixed_bytes + room + sample_id_bytes);
    weir_buf_append(out, fixed, fixed_bytes);
    weir_buf_append(out, text, text_bytes);
    weir_buf_append_zeros(out, room - text_bytes + sample_id_bytes);
}

/* The kernel marks user maps that hold no code, and consumers keep those apart (perf_event_mmap_event()). */
static uint16_t map_misc(const struct weir_record_map *map)
{
    bool data_map = map->cpumode == PERF_RECORD_MISC_USER && !(map->protection & PROT_EXEC);
    return data_map ? map->cpumode | PERF_RECORD_MISC_MMAP_DATA : map->cpumode;
}

static struct mmap_record map_fields(uint32_t type, const struct weir_record_map *map)
{
    return (struct mmap_record){
        .header = {.type = type, .misc = map_misc(map)},
        .pid = (uint32_t)map->pid,
        .tid = (uint32_t)map->tid,
        .start = map->start,
        .bytes = map->bytes,
        .page_offset = map->page_offset,
    };
}

void weir_record_mmap(struct weir_buf *out, const struct weir_record_map *map, size_t sample_id_bytes)
{
    struct mmap_record record = map_fields(PERF_RECORD_MMAP, map);
    append_named(out, &record.header, sizeof(record), map->filename, SIZE_MAX, sample_id_bytes);
}

void weir_record_mmap2(struct weir_buf *out, const struct weir_record_map *map, size_t sample_id_bytes)
{
    struct mmap2_record record = {
        .map = map_fields(PERF_RECORD_MMAP2, map),
        .protection = map->protection,
        .flags = map->flags,
    };
    if (map->build_id && map->build_id->bytes > 0) {
        record.map.header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
        record.build_id_bytes = map->build_id->bytes;
        memcpy(record.build_id, map->build_id->data, map->build_id->bytes);
    } else {
        record.major = map->major;
        record.minor = map->minor;
        record.inode = map->inode;
        record.inode_generation = map->inode_generation;
    }
    append_named(out, &record.map.header, sizeof(record), map->filename, SIZE_MAX, sample_id_bytes);
}

void weir_record_comm(struct weir_buf *out, pid_t pid, pid_t tid, const char *comm, int exec, size_t sample_id_bytes)
{
    struct comm_record record = {
        .header = {.type = PERF_RECORD_COMM, .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0},
        .pid = (uint32_t)pid,
        .tid = (uint32_t)tid,
    };
    append_named(out, &record.header, sizeof(record), comm, COMM_MAX_BYTES, sample_id_bytes);
}

void weir_record_ksymbol(struct weir_buf *out, uint64_t address, uint32_t bytes, const char *name,
                         size_t sample_id_bytes)
{
    struct ksymbol_record record = {
        .header = {.type = PERF_RECORD_KSYMBOL},
        .address = address,
        .bytes = bytes,
        .type = PERF_RECORD_KSYMBOL_TYPE_BPF,
    };
    append_named(out, &record.header, sizeof(record), name, SIZE_MAX, sample_id_bytes);
}

void weir_record_bpf_event(struct weir_buf *out, uint32_t id, const uint8_t tag[8], size_t sample_id_bytes)
{
    struct bpf_event_record record = {
        .header = {.type = PERF_RECORD_BPF_EVENT},
        .type = PERF_BPF_EVENT_PROG_LOAD,
        .id = id,
    };
    memcpy(record.tag, tag, sizeof(record.tag));
    append_plain(out, &record.header, sizeof(record), sample_id_bytes);
}

void weir_record_fork(struct weir_buf *out, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid, size_t sample_id_bytes)
{
    struct fork_record record = {
        .header = {.type = PERF_RECORD_FORK, .misc = PERF_RECORD_MISC_FORK_EXEC},
        .pid = (uint32_t)pid,
        .ppid = (uint32_t)ppid,
        .tid = (uint32_t)tid,
        .ptid = (uint32_t)ptid,
    };
    append_plain(out, &record.header, sizeof(record), sample_id_bytes);
}

void weir_record_namespaces(struct weir_buf *out, pid_t pid, pid_t tid,
                            const struct weir_namespace namespaces[WEIR_NAMESPACES], size_t sample_id_bytes)
{
    struct namespaces_record record = {
        .header = {.type = PERF_RECORD_NAMESPACES},
        .pid = (uint32_t)pid,
        .tid = (uint32_t)tid,
        .count = WEIR_NAMESPACES,
    };
    memcpy(record.namespaces, namespaces, sizeof(record.namespaces));
    append_plain(out, &record.header, sizeof(record), sample_id_bytes);
}

void weir_record_cgroup(struct weir_buf *out, uint64_t id, const char *path, size_t sample_id_bytes)
{
    struct cgroup_record record = {.header = {.type = PERF_RECORD_CGROUP}, .id = id};
    append_named(out, &record.header, sizeof(record), path, SIZE_MAX, sample_id_bytes);
}

static void append_bare(struct weir_buf *out, uint32_t type)
{
    struct perf_event_header header = {.type = type, .size = sizeof(header)};
    weir_buf_append(out, &header, sizeof(header));
}

void weir_record_finished_round(struct weir_buf *out)
{
    append_bare(out, WEIR_RECORD_FINISHED_ROUND);
}

void weir_record_finished_init(struct weir_buf *out)
{
    append_bare(out, WEIR_RECORD_FINISHED_INIT);
}

/* Fields in the order of struct sample_id, perf_event_open(2). */
static void append_sample_id(struct weir_buf *out, const struct weir_record_sample_id *values)
{
    if (values->sample_type & PERF_SAMPLE_TID) {
        weir_buf_append_u32(out, values->pid);
        weir_buf_append_u32(out, values->tid);
    }
    if (values->sample_type & PERF_SAMPLE_TIME)
        weir_buf_append_u64(out, values->time_ns);
    if (values->sample_type & PERF_SAMPLE_ID)
        weir_buf_append_u64(out, values->id);
    if (values->sample_type & PERF_SAMPLE_STREAM_ID)
        weir_buf_append_u64(out, values->stream_id);
    if (values->sample_type & PERF_SAMPLE_CPU)
        weir_buf_append_u64(out, values->cpu); /* u32 cpu, u32 reserved */
    if (values->sample_type & PERF_SAMPLE_IDENTIFIER)
        weir_buf_append_u64(out, values->id);
}

void weir_record_lost_samples(struct weir_buf *out, uint64_t lost, const struct weir_record_sample_id *trailer)
{
    struct perf_event_attr layout = {.sample_type = trailer->sample_type, .sample_id_all = 1};
    struct lost_samples_record record = {
        .header = {.type = PERF_RECORD_LOST_SAMPLES,
                   .size = (uint16_t)(sizeof(record) + weir_attr_sample_id_bytes(&layout))},
        .lost = lost,
    };
    weir_assert(record.header.size <= WEIR_RECORD_LOST_SAMPLES_MAX_BYTES);
    weir_buf_append(out, &record, sizeof(record));
    append_sample_id(out, trailer);
}

void weir_record_returned(struct weir_buf *out, const struct weir_record_sample_id *trailer)
{
    size_t at = out->used;
    const uint16_t misc = WEIR_RECORD_MISC_RETURNED;
    weir_record_lost_samples(out, 0, trailer);
    if (weir_buf_error(out) == 0)
        memcpy(out->data + at + offsetof(struct perf_event_header, misc), &misc, sizeof(misc));
}

void weir_record_fill_padding(void *data, size_t bytes)
{
    weir_assert(bytes % RECORD_ALIGN == 0 && bytes >= WEIR_RECORD_PADDING_LEAST && bytes <= WEIR_RECORD_MAX_BYTES);
    struct perf_event_header header = {.type = WEIR_RECORD_EVENT_TYPE, .size = (uint16_t)bytes};
    memset(data, 0, bytes);
    memcpy(data, &header, sizeof(header));
}

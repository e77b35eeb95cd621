/*
 * Builders of the records that user space writes. Each appends one whole record, a multiple of 8 bytes.
 * sample_id_bytes: size of the zeroed sample_id trailer, weir_attr_sample_id_bytes(). A name that would make the record
 * longer than WEIR_RECORD_MAX_BYTES is cut (names up to PATH_MAX never are). Allocation errors stay in the buffer.
 */
#ifndef WEIR_FORMAT_RECORDS_H
#define WEIR_FORMAT_RECORDS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "format/build_id.h"
#include "format/perf_file.h"

struct weir_record_map { /* fields of PERF_RECORD_MMAP2 */
    pid_t pid, tid;
    uint64_t start, bytes, page_offset;
    uint32_t major, minor;
    uint64_t inode, inode_generation;
    uint32_t protection, flags; /* PROT_*, MAP_* */
    uint16_t cpumode;           /* PERF_RECORD_MISC_KERNEL, _USER, ... */
    const char *filename;
    const struct weir_build_id
        *build_id; /* MMAP2 only, in the place of device and inode; NULL or empty: none; borrowed */
};

/* Append MMAP and MMAP2. Both set PERF_RECORD_MISC_MMAP_DATA for user maps without PROT_EXEC, as the kernel does. */
void weir_record_mmap(struct weir_buf *out, const struct weir_record_map *map, size_t sample_id_bytes);
void weir_record_mmap2(struct weir_buf *out, const struct weir_record_map *map, size_t sample_id_bytes);
/* Appends COMM. exec: sets PERF_RECORD_MISC_COMM_EXEC. comm is cut at 15 bytes. */
void weir_record_comm(struct weir_buf *out, pid_t pid, pid_t tid, const char *comm, int exec, size_t sample_id_bytes);
/* Appends FORK with PERF_RECORD_MISC_FORK_EXEC: the new task's maps follow, so consumers must not copy the parent's. */
void weir_record_fork(struct weir_buf *out, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid, size_t sample_id_bytes);
#define WEIR_NAMESPACES 7 /* NR_NAMESPACES, include/uapi/linux/perf_event.h: net, uts, ipc, pid, user, mnt, cgroup */

struct weir_namespace { /* device and inode of /proc/PID/ns/NAME by stat(2); both 0: unknown */
    uint64_t device, inode;
};

_Static_assert(sizeof(struct weir_namespace) == 16, "perf_ns_link_info");
WEIR_FIELD_AT(struct weir_namespace, device, 0);
WEIR_FIELD_AT(struct weir_namespace, inode, 8);

void weir_record_namespaces(struct weir_buf *out, pid_t pid, pid_t tid,
                            const struct weir_namespace namespaces[WEIR_NAMESPACES], size_t sample_id_bytes);
/* Appends CGROUP. path: from the root of the hierarchy; "/" is the root. */
void weir_record_cgroup(struct weir_buf *out, uint64_t id, const char *path, size_t sample_id_bytes);
/* Appends KSYMBOL: code of a BPF program was registered at an address. */
void weir_record_ksymbol(struct weir_buf *out, uint64_t address, uint32_t bytes, const char *name,
                         size_t sample_id_bytes);
/* Appends BPF_EVENT: a BPF program was loaded. */
void weir_record_bpf_event(struct weir_buf *out, uint32_t id, const uint8_t tag[8], size_t sample_id_bytes);
void weir_record_finished_round(struct weir_buf *out);
void weir_record_finished_init(struct weir_buf *out);

struct weir_record_sample_id { /* values of a trailer that is not zero */
    uint64_t sample_type;      /* attr.sample_type: the fields that the trailer has */
    uint32_t pid, tid;
    uint64_t time_ns, id, stream_id;
    uint32_t cpu;
};

#define WEIR_RECORD_LOST_SAMPLES_MAX_BYTES 64u /* with the longest trailer */

/* Appends LOST_SAMPLES: `lost` samples of the event whose id the trailer names. */
void weir_record_lost_samples(struct weir_buf *out, uint64_t lost, const struct weir_record_sample_id *trailer);
/* Appends LOST_SAMPLES of zero samples with WEIR_RECORD_MISC_RETURNED: the CPU in the trailer is on line again. The
 * trailer names one event. */
void weir_record_returned(struct weir_buf *out, const struct weir_record_sample_id *trailer);

/* The shortest padding. A perf that reads a file of the other byte order swaps the event_id in place, also behind a
 * record that has none, where the next record stands. */
struct weir_record_padding {
    struct perf_event_header header; /* of type WEIR_RECORD_EVENT_TYPE */
    uint64_t event_id;               /* 0 */
};
#define WEIR_RECORD_PADDING_LEAST ((uint32_t)sizeof(struct weir_record_padding))

/* Fills `bytes` bytes (a multiple of 8, WEIR_RECORD_PADDING_LEAST .. 65528) with one record of type
 * WEIR_RECORD_EVENT_TYPE, which consumers skip. */
void weir_record_fill_padding(void *data, size_t bytes);

#endif

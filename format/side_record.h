/*
 * Taking side records apart: those of the kernel, and synthesised ones, that say which task runs what.
 *
 * Pure: looks at the bytes given and nothing else. Source of the layouts: include/uapi/linux/perf_event.h of
 * Linux 6.12, perf_event_open(2).
 */
#ifndef WEIR_FORMAT_SIDE_RECORD_H
#define WEIR_FORMAT_SIDE_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/build_id.h"
#include "format/records.h"

/* Where the trailer of a recording's side records has what; the same for all of its events. */
struct weir_side_layout {
    size_t trailer_bytes;
    size_t time_offset; /* in the trailer; == trailer_bytes: it has no time */
};

void weir_side_layout_init(struct weir_side_layout *layout, const struct perf_event_attr *attr);

struct weir_side_record {
    uint32_t type;    /* PERF_RECORD_COMM, _FORK, _EXIT, _MMAP (both sorts), _MMAP2, _BPF_EVENT or _LOST */
    uint16_t misc;    /* PERF_RECORD_MISC_* */
    uint16_t bytes;   /* of the whole record */
    uint64_t time_ns; /* 0: synthesised */
    pid_t pid, tid;   /* FORK: of the child */
    pid_t ppid, ptid; /* FORK and EXIT */
    const char *comm; /* COMM; borrowed from the record, ends in a zero */
    /* MMAP, MMAP2. filename is borrowed from the record; MMAP says nothing of device, inode and protection (0). */
    struct weir_record_map map;
    uint32_t bpf_program;          /* BPF_EVENT: the id of a program that is loaded; 0: of one that was unloaded */
    uint64_t lost;                 /* LOST: records, of any task, for which the ring had no room */
    struct weir_build_id build_id; /* MMAP2 with PERF_RECORD_MISC_MMAP_BUILD_ID, in the place of device and inode */
};

/*
 * Takes the first record of data apart. Returns its bytes; record->type is 0 when it is of another type, or not what
 * its type promises. 0 when data ends before the record does; -EBADMSG when its header cannot be.
 */
int weir_side_record_parse(const struct weir_side_layout *layout, const uint8_t *data, size_t bytes,
                           struct weir_side_record *record);

#endif

/*
 * Parses side records, which describe tasks and what they run: those of the kernel, and synthesized ones.
 *
 * Pure: reads the given bytes and nothing else. Source of the layouts: include/uapi/linux/perf_event.h of Linux 6.12,
 * perf_event_open(2).
 */
#ifndef WEIR_FORMAT_SIDE_RECORD_H
#define WEIR_FORMAT_SIDE_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/build_id.h"
#include "format/records.h"

/* The trailer of a recording's side records; the same for all of its events. */
struct weir_side_layout {
    size_t trailer_bytes;
    size_t time_offset; /* in the trailer; equal to trailer_bytes: no time */
};

void weir_side_layout_init(struct weir_side_layout *layout, const struct perf_event_attr *attr);

struct weir_side_record {
    uint32_t type;    /* PERF_RECORD_COMM, _FORK, _EXIT, _MMAP (code and data), _MMAP2, _BPF_EVENT or _LOST */
    uint16_t misc;    /* PERF_RECORD_MISC_* */
    uint16_t bytes;   /* of the whole record */
    uint64_t time_ns; /* 0: synthesized */
    pid_t pid, tid;   /* FORK: of the child */
    pid_t ppid, ptid; /* FORK and EXIT */
    const char *comm; /* COMM; borrowed from the record, ends in a zero */
    /* MMAP, MMAP2. filename is borrowed from the record; with MMAP, device, inode and protection are 0. */
    struct weir_record_map map;
    uint32_t bpf_program; /* BPF_EVENT: the id of a program that was loaded; 0: a program was unloaded */
    uint64_t lost;        /* LOST: the number of records, of any task, that found no room in the ring */
    struct weir_build_id
        build_id; /* MMAP2 with PERF_RECORD_MISC_MMAP_BUILD_ID, which has it in place of device and inode */
};

/*
 * Parses the first record of data. Returns its size; record->type is 0 if the record has another type, or is malformed.
 * 0: the record does not end inside data; -EBADMSG: its header is impossible.
 */
int weir_side_record_parse(const struct weir_side_layout *layout, const uint8_t *data, size_t bytes,
                           struct weir_side_record *record);

#endif

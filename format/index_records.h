/*
 * Records that say what was recorded: which id is of which CPU and task, and the lists of tasks and CPUs. Each builder
 * appends as many records as its list needs: the size of a record has 16 bits. They carry no sample_id trailer.
 *
 * Source: struct perf_record_id_index, perf_record_thread_map and perf_record_cpu_map in
 * tools/lib/perf/include/perf/event.h of Linux 6.12. Allocation errors stay in the buffer.
 */
#ifndef WEIR_FORMAT_INDEX_RECORDS_H
#define WEIR_FORMAT_INDEX_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "format/perf_file.h"

struct weir_id_index_entry { /* struct id_index_entry */
    uint64_t id;
    uint64_t index; /* number of the place where it counts */
    uint64_t cpu;   /* all bits set: any */
    uint64_t tid;   /* all bits set: any */
};

_Static_assert(sizeof(struct weir_id_index_entry) == 32, "struct id_index_entry");
WEIR_FIELD_AT(struct weir_id_index_entry, id, 0);
WEIR_FIELD_AT(struct weir_id_index_entry, index, 8);
WEIR_FIELD_AT(struct weir_id_index_entry, cpu, 16);
WEIR_FIELD_AT(struct weir_id_index_entry, tid, 24);

#define WEIR_ID_INDEX_MAX   2047u  /* entries of one record */
#define WEIR_THREAD_MAP_MAX 2729u  /* tasks of one record */
#define WEIR_CPU_MAP_MAX    32758u /* CPUs of one record */

/* No record for no entries. */
void weir_record_id_index(struct weir_buf *out, const struct weir_id_index_entry *entries, size_t count);
/* tids: -1 for "any"; perf record gives no names here either. */
void weir_record_thread_map(struct weir_buf *out, const pid_t *tids, size_t count);
/* cpus: -1 for "any". As a plain list, which every reader knows; what is beyond WEIR_CPU_MAP_MAX is left out. */
void weir_record_cpu_map(struct weir_buf *out, const int *cpus, size_t count);

struct weir_time_conv { /* behind the header of a TIME_CONV record: time_* of struct perf_event_mmap_page */
    uint64_t shift, multiplier, zero, cycles, mask;
    uint8_t has_zero, has_short; /* cap_user_time_zero, cap_user_time_short */
    uint8_t reserved[6];
};

_Static_assert(sizeof(struct weir_time_conv) == 48, "struct perf_record_time_conv");

/* How decoders make times of what a CPU's own counter says. Source: struct perf_record_time_conv in
 * tools/lib/perf/include/perf/event.h, Linux 6.1. */
void weir_record_time_conv(struct weir_buf *out, const struct weir_time_conv *conv);

/* EVENT_UPDATE of sorts UNIT and SCALE: what the counts of the event are in, once multiplied. id: one of its ids. unit:
 * at most 255 bytes of it. */
void weir_record_event_unit(struct weir_buf *out, uint64_t id, const char *unit);
void weir_record_event_scale(struct weir_buf *out, uint64_t id, double scale);

/* EVENT_UPDATE of sort CPUS, before FINISHED_INIT: the CPUs that the event's PMU counts on. As the next. */
void weir_record_event_cpus(struct weir_buf *out, uint64_t id, const int *cpus, size_t count);

/* EVENT_UPDATE of sort CPUS: from here on the events count on these CPUs. id: of any of the events; it must be one
 * that the head has at all times. Between FINISHED_INIT and the end. */
void weir_record_cpus_changed(struct weir_buf *out, uint64_t id, const int *cpus, size_t count);

#endif

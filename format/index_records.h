/*
 * Records that describe what was recorded: the CPU and task of each id, and the lists of tasks and CPUs. Each builder
 * appends as many records as its list needs, because the size of a record has 16 bits. The records carry no sample_id
 * trailer.
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
    uint64_t index; /* number of the CPU or task that the event counts on */
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

/* Appends ID_INDEX records; none for no entries. */
void weir_record_id_index(struct weir_buf *out, const struct weir_id_index_entry *entries, size_t count);
/* Appends THREAD_MAP records. tids: -1 for "any". Without names, as in files of perf record. */
void weir_record_thread_map(struct weir_buf *out, const pid_t *tids, size_t count);
/* Appends a CPU_MAP record. cpus: -1 for "any". The record holds a plain list, which every consumer knows, cut at
 * WEIR_CPU_MAP_MAX. */
void weir_record_cpu_map(struct weir_buf *out, const int *cpus, size_t count);

struct weir_time_conv { /* the body of a TIME_CONV record: time_* of struct perf_event_mmap_page */
    uint64_t shift, multiplier, zero, cycles, mask;
    uint8_t has_zero, has_short; /* cap_user_time_zero, cap_user_time_short */
    uint8_t reserved[6];
};

_Static_assert(sizeof(struct weir_time_conv) == 48, "struct perf_record_time_conv");

/* Appends a TIME_CONV record, by which decoders convert values of a CPU's own counter to times. Source: struct
 * perf_record_time_conv in tools/lib/perf/include/perf/event.h, Linux 6.1. */
void weir_record_time_conv(struct weir_buf *out, const struct weir_time_conv *conv);

/* Append EVENT_UPDATE records of the types UNIT and SCALE: the unit of the event's counts, and the factor that converts
 * counts to it. id: one of the event's ids. unit: cut at 255 bytes. */
void weir_record_event_unit(struct weir_buf *out, uint64_t id, const char *unit);
void weir_record_event_scale(struct weir_buf *out, uint64_t id, double scale);

/* Appends an EVENT_UPDATE record of the type CPUS: the CPUs that the event's PMU counts on. It goes before
 * FINISHED_INIT. id: one of the event's ids. */
void weir_record_event_cpus(struct weir_buf *out, uint64_t id, const int *cpus, size_t count);

/* Appends an EVENT_UPDATE record of the type CPUS: from here on the events count on these CPUs. It goes between
 * FINISHED_INIT and the end. id: of any event; the head must contain it at all times. */
void weir_record_cpus_changed(struct weir_buf *out, uint64_t id, const int *cpus, size_t count);

#endif

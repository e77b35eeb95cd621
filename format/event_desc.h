/* A recorded event as a file describes it. Attrs, ids, EVENT_DESC and TRACING_DATA are written from it. */
#ifndef WEIR_FORMAT_EVENT_DESC_H
#define WEIR_FORMAT_EVENT_DESC_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct weir_event_desc {
    struct perf_event_attr attr; /* as opened */
    const char *name;            /* perf's spelling: "cycles", "sched:sched_switch"; borrowed */
    const uint64_t *ids;         /* PERF_EVENT_IOC_ID of each open descriptor of the event; borrowed */
    size_t id_count;
    size_t leader;                 /* index of its group's leader; its own index without a group */
    const char *group_name;        /* of a leader; NULL: the group has no name; borrowed */
    const char *tracepoint_system; /* NULL when not a tracepoint; borrowed */
    const char *tracepoint_name;
};

/* Returns the least attr.size that holds every field in use, at least PERF_ATTR_SIZE_VER0: old consumers refuse sizes
 * above their own (docs/format.md). */
uint32_t weir_attr_least_size(const struct perf_event_attr *attr);

/* Returns the attr.size for all events of a file: the greatest of their least sizes. It is one size because perf
 * advances from attr to attr by attr.size, and other consumers by header.attr_size. PERF_ATTR_SIZE_VER0 without events.
 */
uint32_t weir_event_desc_attr_bytes(const struct weir_event_desc *events, size_t event_count);

/* Appends the first attr_bytes of attr with attr.size set to attr_bytes, which is at least weir_attr_least_size(). */
void weir_attr_append(struct weir_buf *out, const struct perf_event_attr *attr, uint32_t attr_bytes);

/* Returns the size of the sample_id trailer that attr gives to records other than samples (perf_event_open(2),
 * sample_id_all); 0 without sample_id_all. */
size_t weir_attr_sample_id_bytes(const struct perf_event_attr *attr);

/* Returns the offset of a field in a PERF_RECORD_SAMPLE of this attr, from the record's start; -1: attr does not have
 * it. bit: a field before the first variable-size one (PERF_SAMPLE_IDENTIFIER, _IP, _TID, _TIME, _ADDR, _ID,
 * _STREAM_ID, _CPU, _PERIOD). */
int weir_attr_sample_offset(const struct perf_event_attr *attr, uint64_t bit);

#endif

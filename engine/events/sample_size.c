/* Adds up the fields of a sample. */
#include "engine/events/sample_size.h"

#include <errno.h>

#include "base/bits.h"
#include "format/event_desc.h"
#include "format/perf_file.h"

#define FIELD_BYTES 8u
#define LOST_BYTES  24u /* PERF_RECORD_LOST up to its trailer */

/* One u64 each. */
#define FIXED_FIELDS                                                                                      \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |    \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | \
     PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | \
     PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

/* These fields begin with one u64: a count, the type of registers, or the like. */
#define COUNTED_FIELDS                                                                                               \
    (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | \
     PERF_SAMPLE_REGS_INTR)

uint64_t weir_sample_bytes_least(const struct perf_event_attr *attr)
{
    uint64_t words = (unsigned)__builtin_popcountll(attr->sample_type & (FIXED_FIELDS | COUNTED_FIELDS));
    if (attr->sample_type & PERF_SAMPLE_REGS_USER)
        words += (unsigned)__builtin_popcountll(attr->sample_regs_user);
    if (attr->sample_type & PERF_SAMPLE_REGS_INTR)
        words += (unsigned)__builtin_popcountll(attr->sample_regs_intr);
    uint64_t bytes = sizeof(struct perf_event_header) + words * FIELD_BYTES;
    if (attr->sample_type & PERF_SAMPLE_STACK_USER)
        bytes += FIELD_BYTES + attr->sample_stack_user + FIELD_BYTES; /* size, copy, size that is in use */
    if (attr->sample_type & PERF_SAMPLE_AUX)
        bytes += FIELD_BYTES + weir_align_down(attr->aux_sample_size, FIELD_BYTES);
    return weir_min_u64(bytes, WEIR_RECORD_MAX_BYTES); /* the kernel cuts the stack, then the trace, to that */
}

int weir_sample_check_ring(const struct weir_event_list *list, uint64_t ring_bytes, struct weir_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        uint64_t sample_bytes = weir_sample_bytes_least(&event->attr);
        uint64_t needed = sample_bytes + LOST_BYTES + weir_attr_sample_id_bytes(&event->attr);
        if (event->sideband || needed < ring_bytes)
            continue;
        weir_error_set(err, -EINVAL, "a sample of event '%s' (%llu bytes) never fits into a ring of %llu KiB",
                       event->name, (unsigned long long)sample_bytes, (unsigned long long)ring_bytes >> 10);
        bool has_trace = event->attr.aux_sample_size > event->attr.sample_stack_user;
        weir_error_hint(err, "-m %lluK fits; or copy less of %s=%sBYTES",
                        (unsigned long long)weir_round_up_power_of_two(needed + 1) >> 10,
                        has_trace ? "the AUX area with --aux-sample" : "the stack with --call-graph",
                        has_trace ? "" : "dwarf,");
        return -EINVAL;
    }
    return 0;
}

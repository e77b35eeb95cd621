/*
 * Samples that hold counts (PERF_SAMPLE_READ, as with :S): one for each event whose count has grown since its last one,
 * by as much. So does perf (evlist__deliver_sample() in tools/perf/util/session.c of Linux 6.1).
 *
 * One thread. Both passes split the samples in the order of the file, and so alike.
 */
#ifndef WEIR_REPORT_SAMPLE_SPLIT_H
#define WEIR_REPORT_SAMPLE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/input_events.h"
#include "report/row_table.h"

struct weir_sample_part {
    uint32_t event; /* index */
    uint64_t weight;
};

struct weir_sample_split {
    struct weir_row_table counts;   /* id; its last count */
    struct weir_sample_part *parts; /* owned; of the last sample */
    size_t count, capacity;
};

void weir_sample_split_init(struct weir_sample_split *split, uint64_t seed);
void weir_sample_split_fini(struct weir_sample_split *split);

static inline bool weir_sample_is_split(const struct weir_input_event *event)
{
    return event->attr.sample_type & PERF_SAMPLE_READ;
}

/* Fills parts from a sample of an event that is split; a malformed one has none. 0 or -ENOMEM. */
int weir_sample_split_take(struct weir_sample_split *split, struct weir_input_events *events,
                           const struct weir_input_event *event, const struct weir_record_view *record);

#endif

/* Chunks of samples for tests of aggregation: two places without ids, told apart by their CPU, one event and the
 * sideband event. No Criterion here: a race program uses it, too. */
#ifndef WEIR_TESTS_ENGINE_AGGREGATE_RIG_H
#define WEIR_TESTS_ENGINE_AGGREGATE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/aggregate.h"

#define AGGREGATE_RIG_PLACES 2u
#define AGGREGATE_RIG_EVENTS 2u /* with the sideband event */
#define AGGREGATE_RIG_FRAMES 8u

struct aggregate_rig {
    struct weir_event events[AGGREGATE_RIG_EVENTS];
    struct weir_event_list list;
    struct weir_id_entry by_cpu[AGGREGATE_RIG_PLACES];
    struct weir_aggregate aggregate;
};

struct aggregate_sample {
    uint32_t pid, tid, cpu;
    uint64_t ip, time_ns, period, weight;
    unsigned frames; /* each is ip + its number */
};

/* False: no memory. */
bool aggregate_rig_init(struct aggregate_rig *rig, uint64_t interval_ns, bool by_process);
void aggregate_rig_fini(struct aggregate_rig *rig);

/* Append to a chunk whose data has room. */
void aggregate_rig_append_sample(struct weir_chunk *chunk, const struct aggregate_sample *sample);
void aggregate_rig_append_comm(struct weir_chunk *chunk, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* Reads the record at *at and moves on. 1: a sample; 0: another record; -1: the end. */
int aggregate_rig_next(const struct weir_chunk *chunk, uint32_t *at, struct aggregate_sample *sample);

/* Sums over the samples of a chunk; each weight of 0 counts as 1. */
struct aggregate_sums {
    uint64_t records, samples, period;
};
void aggregate_rig_add(const struct weir_chunk *chunk, struct aggregate_sums *sums);

#endif

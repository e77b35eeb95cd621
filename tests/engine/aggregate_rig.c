#include "tests/engine/aggregate_rig.h"

#include <linux/perf_event.h>
#include <string.h>

#include "format/bytes.h"
#include "tests/engine/chunk_append.h"

#define SAMPLE_TYPE                                                                               \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_WEIGHT)

struct fixed {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
    uint64_t period, frames;
};

struct comm {
    struct perf_event_header header;
    uint32_t pid, tid;
    char name[8];
    uint32_t own_pid, own_tid; /* the trailer */
    uint64_t time_ns;
    uint32_t cpu, reserved;
};

bool aggregate_rig_init(struct aggregate_rig *rig, uint64_t interval_ns, bool by_process)
{
    memset(rig, 0, sizeof(*rig));
    for (unsigned i = 0; i < AGGREGATE_RIG_EVENTS; i++) {
        rig->events[i].attr.sample_id_all = 1;
        rig->events[i].attr.sample_type = SAMPLE_TYPE;
    }
    rig->events[1].sideband = true;
    rig->events[1].attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    rig->list.events = rig->events;
    rig->list.count = AGGREGATE_RIG_EVENTS;
    for (unsigned place = 0; place < AGGREGATE_RIG_PLACES; place++)
        rig->by_cpu[place] = (struct weir_id_entry){.id = 1 + place, .event = 0, .place = place};
    const struct weir_aggregate_setup setup = {
        .layout = {.by_cpu = rig->by_cpu,
                   .by_cpu_count = AGGREGATE_RIG_PLACES,
                   .id_offset = offsetof(struct fixed, cpu),
                   .time_offset = offsetof(struct fixed, time_ns),
                   .place_stride = AGGREGATE_RIG_EVENTS,
                   .sideband_event = 1},
        .list = &rig->list,
        .place_count = AGGREGATE_RIG_PLACES,
        .interval_ns = interval_ns,
        .by_process = by_process,
    };
    return weir_aggregate_init(&rig->aggregate, &setup) == 0;
}

void aggregate_rig_fini(struct aggregate_rig *rig)
{
    weir_aggregate_fini(&rig->aggregate);
}

void aggregate_rig_append_sample(struct weir_chunk *chunk, const struct aggregate_sample *sample)
{
    const struct fixed fixed = {
        .header = {.type = PERF_RECORD_SAMPLE,
                   .misc = PERF_RECORD_MISC_USER,
                   .size = (uint16_t)(sizeof(fixed) + (sample->frames + 1) * sizeof(uint64_t))},
        .ip = sample->ip,
        .pid = sample->pid,
        .tid = sample->tid,
        .time_ns = sample->time_ns,
        .cpu = sample->cpu,
        .period = sample->period,
        .frames = sample->frames,
    };
    chunk_append(chunk, &fixed, sizeof(fixed));
    for (unsigned i = 0; i < sample->frames; i++)
        chunk_append_word(chunk, sample->ip + i);
    chunk_append_word(chunk, sample->weight);
}

void aggregate_rig_append_comm(struct weir_chunk *chunk, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    const struct comm comm = {
        .header = {.type = PERF_RECORD_COMM, .size = sizeof(comm)},
        .pid = pid,
        .tid = tid,
        .name = "renamed",
        .own_pid = pid,
        .own_tid = tid,
        .time_ns = time_ns,
    };
    chunk_append(chunk, &comm, sizeof(comm));
}

int aggregate_rig_next(const struct weir_chunk *chunk, uint32_t *at, struct aggregate_sample *sample)
{
    if (*at >= chunk->used)
        return -1;
    const uint8_t *record = chunk->data + *at;
    struct fixed fixed;
    memcpy(&fixed.header, record, sizeof(fixed.header));
    *at += fixed.header.size;
    if (fixed.header.type != PERF_RECORD_SAMPLE)
        return 0;
    memcpy(&fixed, record, sizeof(fixed));
    *sample = (struct aggregate_sample){
        .pid = fixed.pid,
        .tid = fixed.tid,
        .cpu = fixed.cpu,
        .ip = fixed.ip,
        .time_ns = fixed.time_ns,
        .period = fixed.period,
        .weight = weir_load_u64(record + fixed.header.size - sizeof(uint64_t)),
        .frames = (unsigned)fixed.frames,
    };
    return 1;
}

void aggregate_rig_add(const struct weir_chunk *chunk, struct aggregate_sums *sums)
{
    struct aggregate_sample sample;
    int found;
    for (uint32_t at = 0; (found = aggregate_rig_next(chunk, &at, &sample)) >= 0;) {
        sums->records += (uint64_t)found;
        sums->samples += found ? sample.weight + (sample.weight == 0) : 0;
        sums->period += found ? sample.period : 0;
    }
}

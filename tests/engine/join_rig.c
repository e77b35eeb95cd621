#include "tests/engine/join_rig.h"

#include <linux/perf_event.h>
#include <string.h>

#include "format/bytes.h"
#include "format/perf_file.h"
#include "tests/engine/chunk_append.h"

#define COMMON (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct fixed {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
    uint64_t frames;
};

struct trailer {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
};

bool join_rig_init(struct join_rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    for (unsigned i = 0; i < JOIN_RIG_EVENTS; i++) {
        rig->events[i].attr.sample_id_all = 1;
        rig->events[i].attr.sample_type = COMMON | (i < 2 ? PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_WEIGHT : 0);
    }
    rig->events[0].attr.defer_callchain = 1;
    rig->events[2].attr.defer_output = 1;
    rig->list.events = rig->events;
    rig->list.count = JOIN_RIG_EVENTS;
    for (unsigned cpu = 0; cpu < 2; cpu++)
        rig->by_cpu[cpu] = (struct weir_id_entry){.id = 1 + cpu, .event = cpu};
    const struct weir_join_step_setup setup = {
        .layout = {.by_cpu = rig->by_cpu,
                   .by_cpu_count = 2,
                   .id_offset = offsetof(struct fixed, cpu),
                   .time_offset = offsetof(struct fixed, time_ns)},
        .list = &rig->list,
    };
    return weir_join_step_init(&rig->step, &setup) == 0;
}

void join_rig_fini(struct join_rig *rig)
{
    weir_join_step_fini(&rig->step);
}

void join_rig_append(struct weir_chunk *chunk, const struct join_sample *sample)
{
    unsigned tail = sample->cookie == 0 ? 0 : sample->has_no_cookie ? 1 : 2;
    unsigned words = tail + (sample->kernel > 0 ? sample->kernel + 1 : 0);
    struct fixed fixed = {
        .header = {.type = PERF_RECORD_SAMPLE,
                   .misc = sample->kernel > 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
                   .size = (uint16_t)(sizeof(fixed) + (words + 1) * sizeof(uint64_t))},
        .ip = sample->ip,
        .pid = sample->tid,
        .tid = sample->tid,
        .time_ns = sample->time_ns,
        .cpu = sample->cpu,
        .frames = words,
    };
    chunk_append(chunk, &fixed, sizeof(fixed));
    if (sample->kernel > 0)
        chunk_append_word(chunk, (uint64_t)PERF_CONTEXT_KERNEL);
    for (unsigned i = 0; i < sample->kernel; i++)
        chunk_append_word(chunk, JOIN_RIG_KERNEL + i);
    if (tail > 0)
        chunk_append_word(chunk, WEIR_CONTEXT_USER_DEFERRED);
    if (tail > 1)
        chunk_append_word(chunk, sample->cookie);
    chunk_append_word(chunk, 3); /* the weight */
}

void join_rig_append_record(struct weir_chunk *chunk, uint32_t tid, uint64_t cookie, uint64_t first_frame,
                            unsigned frames)
{
    const struct trailer trailer = {.pid = tid, .tid = tid};
    struct perf_event_header header = {
        .type = WEIR_RECORD_CALLCHAIN_DEFERRED,
        .misc = PERF_RECORD_MISC_USER,
        .size = (uint16_t)(sizeof(header) + (2 + frames) * sizeof(uint64_t) + sizeof(trailer))};
    chunk_append(chunk, &header, sizeof(header));
    chunk_append_word(chunk, cookie);
    chunk_append_word(chunk, frames);
    for (unsigned i = 0; i < frames; i++)
        chunk_append_word(chunk, first_frame + i);
    chunk_append(chunk, &trailer, sizeof(trailer));
}

int join_rig_next(const struct weir_chunk *chunk, uint32_t *at, struct joined *sample)
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
    *sample = (struct joined){.tid = fixed.tid, .cpu = fixed.cpu, .time_ns = fixed.time_ns, .frames = fixed.frames};
    for (uint64_t i = 0; i < fixed.frames && i < JOIN_RIG_CHAIN; i++)
        sample->chain[i] = weir_load_u64(record + sizeof(fixed) + i * sizeof(uint64_t));
    sample->weight = weir_load_u64(record + fixed.header.size - sizeof(uint64_t));
    return 1;
}

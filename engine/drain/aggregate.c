/* Merges equal samples of a chunk. Worker threads; take_back() runs on the writer. See aggregate.h. */
#include "engine/drain/aggregate.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/sample_layout.h"
#include "unwind/unwound_sample.h"

#define WORD_BYTES    8u
#define TABLE_ENTRIES (1u << 14) /* a chunk of 2 MiB holds that many samples of 128 bytes */
#define PROBES_MAX    16u        /* entries that a sample looks at */
#define COMMS_MAX     1024u      /* COMM records of a chunk; with more, its samples stay apart */
#define COMM_BUCKETS  512u
#define NO_COMM       UINT16_MAX

/* Fields that stand behind WEIGHT, each a word (perf_event_open(2), PERF_RECORD_SAMPLE). */
#define BEHIND_WEIGHT                                                                              \
    (PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | \
     PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)
#define FIELDS_NEEDED (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT)

struct entry {
    uint32_t generation; /* of the table; another one: empty */
    uint32_t hash;
    uint32_t at; /* of the sample, in the chunk's bytes */
};

struct comm { /* a thread takes a name */
    uint64_t time_ns;
    uint32_t tid;
    uint16_t next; /* of the same bucket */
};

struct worker {
    struct weir_aggregate *aggregate; /* borrowed */
    uint32_t generation;              /* of the entries that are in use */
    struct entry entries[TABLE_ENTRIES];

    /* COMM records of the chunk. */
    unsigned comm_count; /* COMMS_MAX + 1: there are more */
    uint16_t buckets[COMM_BUCKETS];
    struct comm comms[COMMS_MAX];

    /* Merged samples that merged[] does not count yet. */
    uint64_t counter, pending;
};

/* ---- the step ---- */

static void flush_count(struct worker *worker)
{
    if (worker->pending == 0)
        return;
    struct weir_aggregate *aggregate = worker->aggregate;
    atomic_fetch_add_explicit(&aggregate->merged[worker->counter], worker->pending, memory_order_relaxed);
    atomic_fetch_add_explicit(&aggregate->merged_sum, worker->pending, memory_order_relaxed);
    worker->pending = 0;
}

static void count_merged(struct worker *worker, const struct weir_id_entry *of)
{
    uint64_t counter = (uint64_t)of->place * worker->aggregate->layout.place_stride + of->event;
    if (counter != worker->counter)
        flush_count(worker);
    worker->counter = counter;
    worker->pending++;
}

static void store_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

/* ---- names of threads ---- */

static void note_comm(struct worker *worker, const uint8_t *record, uint32_t size)
{
    uint32_t back = worker->aggregate->comm_time_back;
    if (back == 0 || size < 16 + back || worker->comm_count > COMMS_MAX)
        return;
    if (worker->comm_count == COMMS_MAX) {
        worker->comm_count++;
        return;
    }
    uint32_t tid = weir_load_u32(record + 12);
    uint16_t *bucket = &worker->buckets[tid % COMM_BUCKETS];
    worker->comms[worker->comm_count] =
        (struct comm){.time_ns = weir_load_u64(record + size - back), .tid = tid, .next = *bucket};
    *bucket = (uint16_t)worker->comm_count++;
}

/* Finds the COMM records of a chunk: those of a sideband ring stand behind the samples of the same time. */
static void find_comms(struct worker *worker, const struct weir_chunk *chunk)
{
    if (worker->comm_count > 0)
        memset(worker->buckets, 0xff, sizeof(worker->buckets));
    worker->comm_count = 0;
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, chunk->data + at, sizeof(header));
        if (header.type == PERF_RECORD_COMM)
            note_comm(worker, chunk->data + at, header.size);
        at += header.size;
    }
}

/* Whether the thread has taken a name between two times. */
static bool changes_name(const struct worker *worker, uint32_t tid, uint64_t one_ns, uint64_t other_ns)
{
    if (worker->comm_count == 0)
        return false;
    if (worker->comm_count > COMMS_MAX)
        return true;
    uint64_t from_ns = weir_min_u64(one_ns, other_ns), to_ns = weir_max_u64(one_ns, other_ns);
    for (uint16_t i = worker->buckets[tid % COMM_BUCKETS]; i != NO_COMM; i = worker->comms[i].next) {
        const struct comm *comm = &worker->comms[i];
        if (comm->tid == tid && comm->time_ns > from_ns && comm->time_ns <= to_ns)
            return true;
    }
    return false;
}

/* ---- samples ---- */

/* The parts of a sample that have to be equal, from byte to byte: all but three words, of which the first is TIME. */
struct parts {
    uint32_t from[4], to[4];
};

static struct parts parts_of(const struct weir_aggregate_event *event, uint32_t size)
{
    uint32_t weight = size - event->weight_back;
    return (struct parts){
        .from = {sizeof(struct perf_event_header), event->time + WORD_BYTES, event->period + WORD_BYTES,
                 weight + WORD_BYTES},
        .to = {event->time, event->period, weight, size},
    };
}

/* Mixes words as wyhash does its tail (github.com/wangyi-fudan/wyhash): one multiplication of 128 bits for each. */
static uint32_t hash_of(const uint8_t *sample, const struct parts *parts, uint32_t size)
{
    uint64_t hash = size;
    for (unsigned part = 0; part < WEIR_ARRAY_COUNT(parts->from); part++) {
        for (uint32_t at = parts->from[part]; at < parts->to[part]; at += WORD_BYTES) {
            unsigned __int128 product = (unsigned __int128)(hash ^ weir_load_u64(sample + at)) * 0x9e3779b97f4a7c15ull;
            hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ (hash << 1);
        }
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

/* Whether two samples of the same event are equal, but for their times. Type, misc and size stand in the first word. */
static bool are_alike(const uint8_t *one, const uint8_t *other, const struct parts *parts)
{
    bool alike = weir_load_u64(one) == weir_load_u64(other);
    for (unsigned part = 0; alike && part < WEIR_ARRAY_COUNT(parts->from); part++)
        alike = memcmp(one + parts->from[part], other + parts->from[part], parts->to[part] - parts->from[part]) == 0;
    return alike;
}

/* Whether one may stand for the other as far as their times say. */
static bool are_close(const struct worker *worker, const struct weir_aggregate_event *event, const uint8_t *one,
                      const uint8_t *other)
{
    uint64_t one_ns = weir_load_u64(one + event->time), other_ns = weir_load_u64(other + event->time);
    uint64_t apart_ns = one_ns < other_ns ? other_ns - one_ns : one_ns - other_ns;
    return apart_ns < worker->aggregate->interval_ns &&
           !changes_name(worker, weir_load_u32(one + event->tid + sizeof(uint32_t)), one_ns, other_ns);
}

/* Adds a sample to one that stands for it. */
static void add(uint8_t *to, const uint8_t *sample, const struct weir_aggregate_event *event, uint32_t size)
{
    uint8_t *weight = to + size - event->weight_back, *period = to + event->period;
    store_u64(period, weir_load_u64(period) + weir_load_u64(sample + event->period));
    store_u64(weight, weir_load_u64(weight) + 1);
}

/*
 * Adds the sample to an equal one before it. False: there is none; the sample is to stand at `to` and gets a place in
 * the table, if there is room.
 */
static bool merge(struct worker *worker, uint8_t *data, uint32_t to, const uint8_t *sample, uint32_t size,
                  const struct weir_aggregate_event *event)
{
    struct parts parts = parts_of(event, size);
    uint32_t hash = hash_of(sample, &parts, size);
    for (uint32_t probe = 0; probe < PROBES_MAX; probe++) {
        struct entry *entry = &worker->entries[(hash + probe) % TABLE_ENTRIES];
        bool is_free = entry->generation != worker->generation;
        uint8_t *earlier = data + entry->at;
        if (!is_free && (entry->hash != hash || !are_alike(earlier, sample, &parts)))
            continue;
        if (!is_free && are_close(worker, event, earlier, sample)) {
            add(earlier, sample, event, size);
            return true;
        }
        *entry = (struct entry){.generation = worker->generation, .hash = hash, .at = to};
        return false;
    }
    atomic_fetch_add_explicit(&worker->aggregate->unplaced, 1, memory_order_relaxed);
    return false;
}

/* The event of a sample that can be merged; NULL: it passes as it is. */
static const struct weir_aggregate_event *event_of(const struct weir_aggregate *aggregate, const uint8_t *record,
                                                   uint32_t size, const struct weir_id_entry **entry)
{
    *entry = weir_walk_find_sample(&aggregate->layout, record, size);
    if (!*entry || (*entry)->event >= aggregate->event_count)
        return NULL;
    const struct weir_aggregate_event *event = &aggregate->events[(*entry)->event];
    return event->weight_back > 0 && size >= event->least ? event : NULL;
}

/* Takes a sample that would stand at `to`. True: another one stands for it. */
static bool take_sample(struct worker *worker, uint8_t *data, uint32_t to, uint8_t *record, uint32_t size)
{
    const struct weir_id_entry *entry;
    const struct weir_aggregate_event *event = event_of(worker->aggregate, record, size, &entry);
    if (!event)
        return false;
    store_u64(record + size - event->weight_back, 1);
    if (worker->aggregate->by_process)
        memcpy(record + event->tid + sizeof(uint32_t), record + event->tid, sizeof(uint32_t));
    bool merged = merge(worker, data, to, record, size, event);
    if (merged)
        count_merged(worker, entry);
    return merged;
}

static void rewrite(void *state, struct weir_chunk *chunk, bool is_hurried)
{
    (void)is_hurried;
    struct worker *worker = state;
    uint8_t *data = chunk->data;
    uint32_t to = 0;
    find_comms(worker, chunk);
    worker->generation++;
    if (worker->generation == 0) { /* entries of 2^32 chunks ago */
        memset(worker->entries, 0, sizeof(worker->entries));
        worker->generation = 1;
    }
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.type != PERF_RECORD_SAMPLE || !take_sample(worker, data, to, data + at, header.size)) {
            if (to != at)
                memmove(data + to, data + at, header.size);
            to += header.size;
        }
        at += header.size;
    }
    chunk->used = to;
    flush_count(worker);
}

static size_t state_bytes(const void *plan, uint32_t chunk_bytes)
{
    (void)plan;
    (void)chunk_bytes;
    return sizeof(struct worker);
}

static void *begin(const void *plan, uint32_t chunk_bytes)
{
    (void)chunk_bytes;
    struct worker *worker = calloc(1, sizeof(*worker));
    if (worker) {
        worker->aggregate = (struct weir_aggregate *)(uintptr_t)plan; /* its counts are atomic */
        memset(worker->buckets, 0xff, sizeof(worker->buckets));
    }
    return worker;
}

/* Takes the samples that were merged into samples of [records, records + bytes) out of the counts of merged samples.
 * Adds them to each of the tables of samples. Writer. */
static void take_back(const void *plan, const uint8_t *records, uint64_t bytes, uint64_t *const samples[],
                      unsigned count)
{
    struct weir_aggregate *aggregate = (struct weir_aggregate *)(uintptr_t)plan;
    uint64_t sum = 0;
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, records + at, sizeof(header));
        const struct weir_id_entry *entry;
        const struct weir_aggregate_event *event =
            header.type == PERF_RECORD_SAMPLE ? event_of(aggregate, records + at, header.size, &entry) : NULL;
        uint64_t more = event ? weir_load_u64(records + at + header.size - event->weight_back) - 1 : 0;
        at += header.size;
        if (more == 0)
            continue;
        uint64_t counter = (uint64_t)entry->place * aggregate->layout.place_stride + entry->event;
        for (unsigned i = 0; i < count; i++)
            samples[i][counter] += more;
        atomic_fetch_sub_explicit(&aggregate->merged[counter], more, memory_order_relaxed);
        sum += more;
    }
    atomic_fetch_sub_explicit(&aggregate->merged_sum, sum, memory_order_relaxed);
}

struct weir_chunk_rewriter weir_aggregate_rewriter(const struct weir_aggregate *aggregate)
{
    return (struct weir_chunk_rewriter){
        .plan = aggregate,
        .state_bytes = state_bytes,
        .begin = begin,
        .end = free,
        .rewrite = rewrite,
        .take_back = take_back,
    };
}

/* ---- set-up ---- */

static struct weir_aggregate_event places_of(const struct perf_event_attr *attr)
{
    struct weir_sample_layout layout;
    weir_sample_layout_init(&layout, attr);
    if ((attr->sample_type & FIELDS_NEEDED) != FIELDS_NEEDED)
        return (struct weir_aggregate_event){0};
    uint32_t behind = 1 + (uint32_t)__builtin_popcountll(attr->sample_type & BEHIND_WEIGHT);
    uint32_t chain = attr->sample_type & PERF_SAMPLE_CALLCHAIN ? WORD_BYTES : 0;
    return (struct weir_aggregate_event){
        .tid = (uint16_t)layout.tid,
        .time = (uint16_t)layout.time,
        .period = (uint16_t)layout.period,
        .weight_back = (uint16_t)(behind * WORD_BYTES),
        .least = (uint16_t)(layout.variable + chain + behind * WORD_BYTES),
    };
}

static uint16_t comm_time_back(const struct perf_event_attr *attr)
{
    struct weir_sample_layout layout;
    weir_sample_layout_init(&layout, attr);
    return layout.trailer_time == WEIR_LAYOUT_ABSENT ? 0
                                                     : (uint16_t)(layout.trailer_bytes - (unsigned)layout.trailer_time);
}

int weir_aggregate_init(struct weir_aggregate *aggregate, const struct weir_aggregate_setup *setup)
{
    const struct weir_event_list *list = setup->list;
    *aggregate = (struct weir_aggregate){
        .layout = setup->layout,
        .interval_ns = setup->interval_ns,
        .by_process = setup->by_process,
        .event_count = (unsigned)list->count,
        .counter_count = (uint64_t)setup->place_count * setup->layout.place_stride,
    };
    aggregate->events = calloc(weir_max_u64(list->count, 1), sizeof(*aggregate->events));
    aggregate->merged = calloc(weir_max_u64(aggregate->counter_count, 1), sizeof(*aggregate->merged));
    if (!aggregate->events || !aggregate->merged) {
        weir_aggregate_fini(aggregate);
        return -ENOMEM;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct perf_event_attr attr = list->events[i].attr;
        if (setup->are_unwound && weir_unwound_is_wanted(&attr))
            weir_unwound_attr(&attr);
        if (!list->events[i].sideband)
            aggregate->events[i] = places_of(&attr);
        else
            aggregate->comm_time_back = comm_time_back(&attr);
    }
    return 0;
}

void weir_aggregate_fini(struct weir_aggregate *aggregate)
{
    free(aggregate->events);
    free(aggregate->merged);
    *aggregate = (struct weir_aggregate){0};
}

uint64_t weir_aggregate_merged(const struct weir_aggregate *aggregate, unsigned place, unsigned event)
{
    return atomic_load_explicit(&aggregate->merged[(uint64_t)place * aggregate->layout.place_stride + event],
                                memory_order_relaxed);
}

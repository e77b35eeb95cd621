/* Joins the call chains of a chunk. Worker threads, but for init() and fini(). See join_step.h. */
#include "engine/drain/join_step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"

#define WORD_BYTES       8u
#define COOKIE_AT        8u /* in a record: header, u64 cookie, u64 count, words */
#define COUNT_AT         16u
#define WORDS_AT         24u
#define RECORD_MAX_BYTES 65528u /* of any record */
#define BYTES_PER_ENTRY  32u    /* of a chunk: its records are larger, so that the table is never full */
#define TAIL_MAX_WORDS   2u     /* what stands for a user part that is missing: mark and address */

struct entry {
    uint32_t generation;  /* of the table; another one: empty */
    uint32_t at : 31;     /* of the record, in the chunk's bytes */
    uint32_t is_used : 1; /* a sample has its frames */
};

struct worker {
    struct weir_join_step *step; /* borrowed; written: its counts only */
    uint32_t chunk_bytes;
    uint8_t *out;          /* owned: chunk_bytes */
    struct entry *entries; /* owned */
    uint32_t entry_count;  /* a power of two */
    uint32_t generation;   /* of the entries that are in use */

    /* Of the present chunk. */
    struct weir_joined_sum counts;
    uint64_t rest_bytes; /* of the records behind the present one, which are neither joined nor left out yet */
};

/* A sample's chain in two parts, as the step found or made it. */
struct parts {
    const uint8_t *words; /* of the chain, in the record */
    uint64_t kernel;      /* words that stay */
    uint64_t gone;        /* words behind them that go: mark and cookie */
    uint64_t head[TAIL_MAX_WORDS];
    unsigned head_count; /* words of head[] that follow the kernel's */
    const uint8_t *user; /* words that follow those, in a record */
    uint64_t user_count;
};

/* ---- records ---- */

/* Returns the entry of a record of the chunk, or the empty one where it would be. */
static struct entry *find_entry(const struct worker *worker, const uint8_t *data, uint64_t cookie, uint32_t tid)
{
    uint64_t hash = (cookie ^ (uint64_t)tid << 32) * 0x9e3779b97f4a7c15ull;
    for (uint64_t i = hash >> 32;; i++) {
        struct entry *entry = &worker->entries[i & (worker->entry_count - 1)];
        const uint8_t *record = data + entry->at;
        struct weir_sample_id id;
        if (entry->generation != worker->generation)
            return entry;
        weir_sample_id_parse(&id, &worker->step->record_layout, record,
                             weir_load_u16(record + offsetof(struct perf_event_header, size)));
        if (weir_load_u64(record + COOKIE_AT) == cookie && id.tid == tid)
            return entry;
    }
}

/* Notes a record. A malformed one, and the second one of a cookie, stay unused. */
static void note_record(struct worker *worker, const uint8_t *data, uint32_t at, uint32_t size)
{
    const struct weir_sample_layout *layout = &worker->step->record_layout;
    const uint8_t *record = data + at;
    struct weir_sample_id id;
    worker->counts.records++;
    worker->counts.unused++;
    if (size < WORDS_AT + layout->trailer_bytes || !weir_sample_id_parse(&id, layout, record, size) ||
        weir_load_u64(record + COUNT_AT) > (size - WORDS_AT - layout->trailer_bytes) / WORD_BYTES)
        return;
    struct entry *entry = find_entry(worker, data, weir_load_u64(record + COOKIE_AT), id.tid);
    if (entry->generation != worker->generation)
        *entry = (struct entry){.generation = worker->generation, .at = at};
}

/* Notes the records of a chunk, and the bytes of all others. */
static void note_records(struct worker *worker, const struct weir_chunk *chunk)
{
    if (++worker->generation == 0) { /* entries of 2^32 chunks ago */
        memset(worker->entries, 0, worker->entry_count * sizeof(*worker->entries));
        worker->generation = 1;
    }
    worker->rest_bytes = 0;
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, chunk->data + at, sizeof(header));
        if (header.type == WEIR_RECORD_CALLCHAIN_DEFERRED)
            note_record(worker, chunk->data, at, header.size);
        else
            worker->rest_bytes += header.size;
        at += header.size;
    }
}

/* ---- samples ---- */

/* The event of a sample whose chain may be deferred; NULL: it passes as it is. */
static const struct weir_join_step_event *event_of(const struct weir_join_step *step, const uint8_t *record,
                                                   uint32_t size)
{
    const struct weir_id_entry *entry = weir_walk_find_sample(&step->layout, record, size);
    if (!entry || entry->event >= step->event_count || !step->events[entry->event].is_deferred)
        return NULL;
    return &step->events[entry->event];
}

static uint64_t word_of(const struct weir_sample *sample, uint64_t index)
{
    return weir_load_u64(sample->callchain.data + index * WORD_BYTES);
}

/* Finds mark and cookie, which end a chain; at the kernel's limit of marks the cookie can be missing. False: the chain
 * is whole. */
static bool split(const struct weir_sample *sample, struct parts *parts, uint64_t *cookie)
{
    uint64_t count = sample->callchain.count;
    *parts = (struct parts){.words = sample->callchain.data};
    *cookie = 0;
    if (count >= 2 && word_of(sample, count - 2) == WEIR_CONTEXT_USER_DEFERRED) {
        parts->gone = 2;
        *cookie = word_of(sample, count - 1);
    } else if (count >= 1 && word_of(sample, count - 1) == WEIR_CONTEXT_USER_DEFERRED) {
        parts->gone = 1;
    }
    parts->kernel = count - parts->gone;
    return parts->gone > 0;
}

static uint64_t size_with(const struct parts *parts, uint32_t size)
{
    return size - (parts->gone - parts->head_count - parts->user_count) * WORD_BYTES;
}

/* Gives the sample the frames of its record, if it is there and the whole has at most `room` bytes. Returns the
 * count of what becomes of the sample. */
static uint64_t *take_frames(struct worker *worker, const uint8_t *data, const struct weir_sample *sample,
                             uint64_t cookie, struct parts *parts, uint32_t size, uint64_t room)
{
    struct entry *entry = parts->gone == 2 ? find_entry(worker, data, cookie, sample->id.tid) : NULL;
    if (!entry || entry->generation != worker->generation)
        return &worker->counts.apart;
    worker->counts.unused -= !entry->is_used;
    entry->is_used = true;
    struct parts joined = *parts;
    joined.user_count = weir_load_u64(data + entry->at + COUNT_AT);
    joined.user = data + entry->at + WORDS_AT;
    joined.head[joined.head_count++] = (uint64_t)PERF_CONTEXT_USER;
    if (joined.user_count == 0)
        return &worker->counts.unreadable;
    if (size_with(&joined, size) > room)
        return &worker->counts.no_room;
    *parts = joined;
    return &worker->counts.joined;
}

/* A sample of user space has one frame in any case. */
static void take_own_address(const uint8_t *record, const struct weir_sample *sample, struct parts *parts,
                             uint32_t size, uint64_t room)
{
    unsigned misc = weir_load_u16(record + offsetof(struct perf_event_header, misc));
    struct parts own = *parts;
    own.head[own.head_count++] = (uint64_t)PERF_CONTEXT_USER;
    own.head[own.head_count++] = sample->ip;
    if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER && (sample->fields & PERF_SAMPLE_IP) &&
        size_with(&own, size) <= room)
        *parts = own;
}

/* Writes the sample with the chain of `parts`. Returns its bytes. */
static uint32_t write_sample(uint8_t *out, const uint8_t *record, uint32_t size, const struct parts *parts)
{
    uint64_t count = parts->kernel + parts->head_count + parts->user_count;
    size_t front = (size_t)(parts->words - record) + parts->kernel * WORD_BYTES, to = front;
    uint16_t written = (uint16_t)size_with(parts, size);
    memcpy(out, record, front);
    memcpy(out + offsetof(struct perf_event_header, size), &written, sizeof(written));
    memcpy(out + (parts->words - record) - WORD_BYTES, &count, sizeof(count));
    memcpy(out + to, parts->head, parts->head_count * WORD_BYTES);
    to += parts->head_count * WORD_BYTES;
    if (parts->user_count > 0)
        memcpy(out + to, parts->user, parts->user_count * WORD_BYTES);
    to += parts->user_count * WORD_BYTES;
    size_t back = front + parts->gone * WORD_BYTES;
    memcpy(out + to, record + back, size - back);
    return written;
}

/* Writes the sample at `at` to `out`, in at most `room` bytes, which are at least its own. Returns its bytes; 0: it
 * passes as it is. */
static uint32_t take_sample(struct worker *worker, const uint8_t *data, uint32_t at, uint32_t size, uint8_t *out,
                            uint64_t room)
{
    const uint8_t *record = data + at;
    const struct weir_join_step_event *event = event_of(worker->step, record, size);
    struct weir_sample sample;
    struct parts parts;
    uint64_t cookie;
    size_t bad_offset;
    if (!event || weir_sample_parse(&sample, &event->layout, record, size, &bad_offset) < 0 ||
        !split(&sample, &parts, &cookie))
        return 0;
    room = weir_min_u64(room, RECORD_MAX_BYTES);
    uint64_t *became = take_frames(worker, data, &sample, cookie, &parts, size, room);
    if (became != &worker->counts.joined)
        take_own_address(record, &sample, &parts, size, room);
    worker->counts.samples++;
    ++*became;
    return write_sample(out, record, size, &parts);
}

/* ---- the step ---- */

static void rewrite(void *state, struct weir_chunk *chunk, bool is_hurried)
{
    (void)is_hurried;
    struct worker *worker = state;
    uint32_t to = 0;
    note_records(worker, chunk);
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        const uint8_t *record = chunk->data + at;
        memcpy(&header, record, sizeof(header));
        uint32_t written = 0, size = header.size;
        if (header.type != WEIR_RECORD_CALLCHAIN_DEFERRED) {
            worker->rest_bytes -= size;
            if (header.type == PERF_RECORD_SAMPLE)
                written = take_sample(worker, chunk->data, at, size, worker->out + to,
                                      worker->chunk_bytes - to - worker->rest_bytes);
            if (written == 0)
                memcpy(worker->out + to, record, size);
            to += written > 0 ? written : size;
        }
        at += size;
    }
    memcpy(chunk->data, worker->out, to);
    chunk->used = to;
    weir_step_counts_add(worker->step->counts, &worker->counts, sizeof(worker->counts));
}

static uint32_t entries_for(uint32_t chunk_bytes)
{
    return 2 * (uint32_t)weir_round_down_power_of_two(chunk_bytes / BYTES_PER_ENTRY | 1);
}

static size_t state_bytes(const void *plan, uint32_t chunk_bytes)
{
    (void)plan;
    return sizeof(struct worker) + chunk_bytes + entries_for(chunk_bytes) * sizeof(struct entry);
}

static void end(void *state)
{
    struct worker *worker = state;
    if (worker) {
        free(worker->out);
        free(worker->entries);
    }
    free(worker);
}

static void *begin(const void *plan, uint32_t chunk_bytes)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL;
    worker->step = (struct weir_join_step *)(uintptr_t)plan; /* its counts are atomic */
    worker->chunk_bytes = chunk_bytes;
    worker->entry_count = entries_for(chunk_bytes);
    worker->out = malloc(chunk_bytes);
    worker->entries = calloc(worker->entry_count, sizeof(*worker->entries));
    if (worker->out && worker->entries)
        return worker;
    end(worker);
    return NULL;
}

struct weir_chunk_rewriter weir_join_step_rewriter(const struct weir_join_step *step)
{
    return (struct weir_chunk_rewriter){
        .plan = step, .state_bytes = state_bytes, .begin = begin, .end = end, .rewrite = rewrite};
}

/* ---- set-up ---- */

int weir_join_step_init(struct weir_join_step *step, const struct weir_join_step_setup *setup)
{
    const struct weir_event_list *list = setup->list;
    *step = (struct weir_join_step){.layout = setup->layout, .event_count = (unsigned)list->count};
    step->events = calloc(weir_max_u64(list->count, 1), sizeof(*step->events));
    if (!step->events)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        const struct perf_event_attr *attr = &list->events[i].attr;
        weir_sample_layout_init(&step->events[i].layout, attr);
        step->events[i].is_deferred = attr->defer_callchain;
        if (attr->defer_output)
            step->record_layout = step->events[i].layout;
    }
    return 0;
}

void weir_join_step_fini(struct weir_join_step *step)
{
    free(step->events);
    *step = (struct weir_join_step){.events = NULL};
}

struct weir_joined_sum weir_join_step_sum(const struct weir_join_step *step)
{
    struct weir_joined_sum sum;
    weir_step_counts_read(step->counts, &sum, sizeof(sum));
    return sum;
}

/* Trims and drops samples, and reports drops. Reader thread, but for the plan. See shed.h. */
#include "engine/drain/shed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"

#define STACK_SHARE     4u
#define STACK_BYTES_MIN 1024u
#define WORD_BYTES      8u

/* The fixed part of a sample: header, IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD. */
#define FIXED_BYTES_MAX (10u * WORD_BYTES)

const char *weir_shed_word(enum weir_shed shed)
{
    static const char *const words[] = {"batches", "stacks", "cpus"};
    weir_assert(shed < WEIR_SHED_COUNT);
    return words[shed];
}

/* ---- the plan ---- */

int weir_shed_plan_init(struct weir_shed_plan *plan, enum weir_shed most, const struct weir_event_list *list)
{
    *plan = (struct weir_shed_plan){.most = most, .event_count = (unsigned)list->count};
    plan->events = calloc(weir_max_u64(list->count, 1), sizeof(*plan->events));
    if (!plan->events)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        const struct perf_event_attr *attr = &list->events[i].attr;
        struct weir_shed_event *event = &plan->events[i];
        weir_sample_layout_init(&event->layout, attr);
        weir_assert(event->layout.variable <= FIXED_BYTES_MAX);
        if (!(attr->sample_type & PERF_SAMPLE_STACK_USER))
            continue;
        event->stack_bytes =
            (uint32_t)weir_align_up(weir_max_u64(attr->sample_stack_user / STACK_SHARE, STACK_BYTES_MIN), WORD_BYTES);
        plan->has_stacks = true;
    }
    return 0;
}

void weir_shed_plan_fini(struct weir_shed_plan *plan)
{
    free(plan->events);
    *plan = (struct weir_shed_plan){0};
}

/* The event of an id; NULL: of no event of the plan. */
static const struct weir_id_entry *find_event(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout,
                                              const uint8_t *id_at)
{
    const struct weir_id_entry *entry = weir_walk_find(layout, weir_load_u64(id_at));
    return entry && entry->event < plan->event_count ? entry : NULL;
}

/* ---- stack dumps ---- */

static void store_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

/*
 * Cuts the dump of a sample in place and returns the sample's new size, which the caller stores in header.size. The
 * dump is u64 size, the bytes, u64 used; without bytes the last word is not there (perf_event_open(2), "stack_user").
 */
static uint32_t trim_sample(const struct weir_shed_event *event, uint8_t *record, uint32_t size,
                            struct weir_shed_trimmed *trimmed)
{
    struct weir_sample sample;
    size_t bad_offset;
    if (weir_sample_parse(&sample, &event->layout, record, size, &bad_offset) < 0 || !sample.user_stack.data)
        return size;
    uint64_t room_at = sample.user_stack_offset, room = weir_load_u64(record + room_at);
    uint64_t used = weir_min_u64(sample.user_stack.count, event->stack_bytes);
    uint64_t new_room = weir_align_up(used, WORD_BYTES);
    if (new_room >= room)
        return size;
    uint64_t behind_at = room_at + WORD_BYTES + room + WORD_BYTES; /* the fields behind the dump */
    uint64_t at = room_at + WORD_BYTES + new_room;
    store_u64(record + room_at, new_room);
    if (new_room > 0) {
        store_u64(record + at, used);
        at += WORD_BYTES;
    }
    memmove(record + at, record + behind_at, size - behind_at);
    trimmed->samples += used < sample.user_stack.count;
    trimmed->bytes += behind_at - at;
    return (uint32_t)(size - (behind_at - at));
}

/* Trims a sample by the plan of its event. Returns the new size of the record. */
static uint32_t trim_record(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout, uint8_t *record,
                            uint32_t size, struct weir_shed_trimmed *trimmed)
{
    if (size < (uint32_t)layout->id_offset + WORD_BYTES)
        return size;
    const struct weir_id_entry *entry = find_event(plan, layout, record + layout->id_offset);
    if (!entry || plan->events[entry->event].stack_bytes == 0)
        return size;
    return trim_sample(&plan->events[entry->event], record, size, trimmed);
}

uint64_t weir_shed_trim(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout, uint8_t *data,
                        uint64_t bytes, struct weir_shed_trimmed *trimmed)
{
    uint64_t to = 0;
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        uint32_t size = header.size;
        if (header.type == PERF_RECORD_SAMPLE)
            header.size = (uint16_t)trim_record(plan, layout, data + at, size, trimmed);
        memcpy(data + at, &header, sizeof(header));
        if (to != at)
            memmove(data + to, data + at, header.size);
        at += size;
        to += header.size;
    }
    return to;
}

/* ---- dropping ---- */

/* Reads the fixed fields of the record at `at`, of which the ring has `bytes`. False: no whole sample of a known event.
 */
static bool read_sample(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout,
                        const struct weir_ring *ring, uint64_t at, uint64_t bytes, uint8_t fixed[FIXED_BYTES_MAX],
                        const struct weir_id_entry **entry)
{
    struct perf_event_header header;
    if (bytes < sizeof(header))
        return false;
    weir_ring_copy(ring, at, &header, sizeof(header));
    if (header.type != PERF_RECORD_SAMPLE || header.size > bytes || header.size % WORD_BYTES ||
        header.size < (unsigned)layout->id_offset + WORD_BYTES)
        return false;
    weir_ring_copy(ring, at, fixed, weir_min_u64(header.size, FIXED_BYTES_MAX));
    *entry = find_event(plan, layout, fixed + layout->id_offset);
    return *entry && header.size >= plan->events[(*entry)->event].layout.variable;
}

static uint64_t word_at(const uint8_t *fixed, int offset)
{
    return offset == WEIR_LAYOUT_ABSENT ? 0 : weir_load_u64(fixed + offset);
}

static void note_dropped(struct weir_shed_gap *gap, const struct weir_sample_layout *layout, const uint8_t *fixed)
{
    uint64_t tid = word_at(fixed, layout->tid);
    gap->samples++;
    gap->untold++;
    gap->last = (struct weir_sample_id){
        .pid = (uint32_t)tid,
        .tid = (uint32_t)(tid >> 32),
        .time = word_at(fixed, layout->time),
        .id = word_at(fixed, layout->identifier != WEIR_LAYOUT_ABSENT ? layout->identifier : layout->id),
        .stream_id = word_at(fixed, layout->stream_id),
        .cpu = (uint32_t)word_at(fixed, layout->cpu),
    };
}

uint64_t weir_shed_drop(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout,
                        const struct weir_ring *ring, uint64_t head, uint64_t kept, struct weir_shed_gap *gaps)
{
    uint64_t at = ring->tail;
    while (head - at > kept) {
        uint8_t fixed[FIXED_BYTES_MAX];
        const struct weir_id_entry *entry;
        if (!read_sample(plan, layout, ring, at, head - at, fixed, &entry))
            break;
        note_dropped(&gaps[entry->event], &plan->events[entry->event].layout, fixed);
        struct perf_event_header header;
        memcpy(&header, fixed, sizeof(header));
        at += header.size;
    }
    return at;
}

/* ---- telling ---- */

static void put_word(uint8_t *trailer, int offset, uint64_t value)
{
    if (offset != WEIR_LAYOUT_ABSENT)
        store_u64(trailer + offset, value);
}

uint32_t weir_shed_tell(const struct weir_shed_plan *plan, unsigned event, struct weir_shed_gap *gap,
                        uint8_t to[WEIR_SHED_TOLD_BYTES_MAX])
{
    if (gap->untold == 0)
        return 0;
    const struct weir_sample_layout *layout = &plan->events[event].layout;
    const struct weir_sample_id *last = &gap->last;
    struct perf_event_header header = {
        .type = PERF_RECORD_LOST_SAMPLES,
        .misc = WEIR_RECORD_MISC_SHED,
        .size = (uint16_t)(sizeof(header) + WORD_BYTES + layout->trailer_bytes),
    };
    weir_assert(header.size <= WEIR_SHED_TOLD_BYTES_MAX);
    memcpy(to, &header, sizeof(header));
    store_u64(to + sizeof(header), gap->untold);
    uint8_t *trailer = to + sizeof(header) + WORD_BYTES;
    put_word(trailer, layout->trailer_tid, (uint64_t)last->tid << 32 | last->pid);
    put_word(trailer, layout->trailer_time, last->time);
    put_word(trailer, layout->trailer_id, last->id);
    put_word(trailer, layout->trailer_stream_id, last->stream_id);
    put_word(trailer, layout->trailer_cpu, last->cpu);
    put_word(trailer, layout->trailer_identifier, last->id);
    gap->untold = 0;
    return header.size;
}

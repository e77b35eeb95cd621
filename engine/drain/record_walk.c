/*
 * The walk over record headers. Called by readers on bytes that they have just copied (so they are in the first-level
 * cache) and by the writer on chunks that could not be written.
 */
#include "engine/drain/record_walk.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "format/event_desc.h"

struct weir_walk_layout weir_walk_layout_of(const struct weir_event_set *set)
{
    const struct perf_event_attr *attr = &set->list->events[0].attr;
    return (struct weir_walk_layout){
        .ids = &set->id_map,
        .by_cpu = set->by_cpu,
        .by_cpu_count = set->by_cpu_count,
        .id_offset = weir_attr_sample_offset(attr, set->by_cpu ? PERF_SAMPLE_CPU : PERF_SAMPLE_IDENTIFIER),
        .time_offset = weir_attr_sample_offset(attr, PERF_SAMPLE_TIME),
        .sideband_event = weir_event_set_sideband(set),
    };
}

static uint64_t load_u64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

/* Where the side record arose. The sample_id trailer is TID, TIME, CPU and the id (PERF_SAMPLE_IDENTIFIER,
 * perf_event_open(2) on sample_id_all), where records have one. Synthesised records have 0 in all of them. */
static const struct weir_id_entry *find_side_record(const struct weir_walk_layout *layout,
                                                    const struct perf_event_header *header, const uint8_t *record)
{
    uint64_t word = header->size >= 16 ? load_u64(record + header->size - 8) : 0;
    if (layout->by_cpu) {
        uint64_t time_ns = header->size >= 24 ? load_u64(record + header->size - 16) : 0;
        return time_ns ? weir_walk_find(layout, word) : NULL;
    }
    const struct weir_id_entry *entry = word ? weir_walk_find(layout, word) : NULL;
    return entry && entry->event >= layout->sideband_event ? entry : NULL;
}

static void count_side_record(const struct weir_walk_layout *layout, const struct perf_event_header *header,
                              const uint8_t *record, struct weir_walk_counts *counts)
{
    const struct weir_id_entry *entry = find_side_record(layout, header, record);
    if (entry)
        counts->samples[entry->place * layout->place_stride + layout->sideband_event]++;
}

/* perf_event_open(2): aux_offset, aux_size, flags. */
static void count_aux(const struct perf_event_header *header, const uint8_t *record, struct weir_walk_counts *counts)
{
    if (header->size < 32)
        return;
    counts->aux_records++;
    counts->aux_truncated += load_u64(record + 24) & PERF_AUX_FLAG_TRUNCATED ? 1 : 0;
    counts->aux_end = load_u64(record + 8) + load_u64(record + 16);
}

/* Everything but samples as they should be. Rare, so kept out of the loop. */
static __attribute__((noinline)) void count_other(const struct weir_walk_layout *layout,
                                                  const struct perf_event_header *header, const uint8_t *record,
                                                  struct weir_walk_counts *counts)
{
    counts->other_bytes += header->size;
    if (header->type == PERF_RECORD_SAMPLE) { /* too short for its id and time */
        counts->unknown_samples++;
        return;
    }
    if (header->type == PERF_RECORD_LOST || header->type == PERF_RECORD_LOST_SAMPLES) {
        if (header->type == PERF_RECORD_LOST && header->size >= 24)
            counts->lost_reported += load_u64(record + 16); /* header, id, lost */
        return;
    }
    if (layout->place_stride)
        count_side_record(layout, header, record, counts);
    counts->other_records++;
    counts->throttled += header->type == PERF_RECORD_THROTTLE;
    if (header->type == PERF_RECORD_AUX)
        count_aux(header, record, counts);
}

static uint64_t *sample_counter(const struct weir_walk_layout *layout, struct weir_walk_counts *counts, uint64_t id)
{
    const struct weir_id_entry *entry = weir_walk_find(layout, id);
    return entry ? &counts->samples[entry->place * layout->place_stride + entry->event] : &counts->unknown_samples;
}

static unsigned record_bytes(const uint8_t *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof(header));
    return header.size;
}

int64_t weir_record_walk(const struct weir_walk_layout *layout, const uint8_t *data, uint64_t bytes,
                         struct weir_walk_counts *counts)
{
    const int last_offset = layout->time_offset > layout->id_offset ? layout->time_offset : layout->id_offset;
    const unsigned needed = (unsigned)last_offset + 8;
    const uint8_t *last_sample = NULL;
    uint64_t current_id = 0, *counter = NULL;
    uint64_t at = 0;

    while (bytes - at >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size % 8) {
            if (at == 0)
                return -EBADMSG;
            break;
        }
        if (header.size > bytes - at)
            break;
        if (header.type == PERF_RECORD_SAMPLE && header.size >= needed) {
            uint64_t id = load_u64(data + at + layout->id_offset);
            if (id != current_id || !counter) {
                current_id = id;
                counter = sample_counter(layout, counts, id);
            }
            (*counter)++;
            last_sample = data + at;
            if (counts->first_sample_ns == 0 && layout->time_offset >= 0)
                counts->first_sample_ns = load_u64(last_sample + layout->time_offset);
        } else {
            count_other(layout, &header, data + at, counts);
        }
        at += header.size;
    }
    if (last_sample && layout->time_offset >= 0)
        counts->last_sample_ns = load_u64(last_sample + layout->time_offset);
    counts->ends_with_sample = last_sample && last_sample + record_bytes(last_sample) == data + at;
    return (int64_t)at;
}

size_t weir_record_whole_bytes(const uint8_t *data, size_t bytes)
{
    struct perf_event_header header;
    size_t at = 0;
    for (; bytes - at >= sizeof(header); at += header.size) {
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > bytes - at)
            break;
    }
    return at;
}

void weir_record_mend_maps(uint8_t *data, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.type == PERF_RECORD_MMAP2 && (header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
            header.misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
            memcpy(data + at, &header, sizeof(header));
        }
        at += header.size;
    }
}

/*
 * The walk over record headers. Readers call it on bytes that they have just copied, which are in the first-level
 * cache; the writer calls it on chunks whose write has failed.
 */
#include "engine/drain/record_walk.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"
#include "base/copy.h"
#include "format/bytes.h"
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
        .trailer_bytes = (unsigned)weir_attr_sample_id_bytes(attr),
        .sideband_event = weir_event_set_sideband(set),
    };
}

#define KSYMBOL_NAME_OFFSET 24u /* behind address, length, type and flags */
#define BPF_EVENT_BYTES     24u
#define TEXT_POKE_LENGTHS   16u /* behind the address: of the old and the new code, which follow */

/* Where the sample_id of a side record ends: with the record, but for those that weir_record_mend_trailers() mends. */
static size_t trailer_end(const struct weir_walk_layout *layout, const struct perf_event_header *header,
                          const uint8_t *record)
{
    size_t body = header->size;
    if (header->type == PERF_RECORD_BPF_EVENT)
        body = BPF_EVENT_BYTES;
    else if (header->type == PERF_RECORD_KSYMBOL && header->size > KSYMBOL_NAME_OFFSET)
        body = KSYMBOL_NAME_OFFSET +
               weir_align_up(
                   strnlen((const char *)record + KSYMBOL_NAME_OFFSET, header->size - KSYMBOL_NAME_OFFSET) + 1, 8);
    else if (header->type == PERF_RECORD_TEXT_POKE && header->size >= TEXT_POKE_LENGTHS + 4)
        body = TEXT_POKE_LENGTHS +
               weir_align_up(
                   4u + weir_load_u16(record + TEXT_POKE_LENGTHS) + weir_load_u16(record + TEXT_POKE_LENGTHS + 2), 8);
    return layout->trailer_bytes ? weir_min_u64(body + layout->trailer_bytes, header->size) : header->size;
}

/* The place of a side record. The sample_id trailer is TID, TIME, CPU and the id (PERF_SAMPLE_IDENTIFIER,
 * perf_event_open(2) on sample_id_all), where records have one. Synthesized records have 0 in all of them. */
static const struct weir_id_entry *find_side_record(const struct weir_walk_layout *layout,
                                                    const struct perf_event_header *header, const uint8_t *record)
{
    size_t end = trailer_end(layout, header, record);
    uint64_t word = end >= 16 ? weir_load_u64(record + end - 8) : 0;
    if (layout->by_cpu) {
        uint64_t time_ns = end >= 24 ? weir_load_u64(record + end - 16) : 0;
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
    counts->aux_truncated += weir_load_u64(record + 24) & PERF_AUX_FLAG_TRUNCATED ? 1 : 0;
    counts->aux_end = weir_load_u64(record + 8) + weir_load_u64(record + 16);
}

/* Counts any record but a well-formed sample. Rare, so kept out of the loop. */
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
            counts->lost_reported += weir_load_u64(record + 16); /* header, id, lost */
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

static uint16_t load_size(const uint8_t *record)
{
    return weir_load_u16(record + offsetof(struct perf_event_header, size));
}

static uint32_t load_type(const uint8_t *record)
{
    return weir_load_u32(record + offsetof(struct perf_event_header, type));
}

/* Sets the counts that are of this walk only. first and last: samples, or NULL; end: of the last record. */
static void note_walk(const struct weir_walk_layout *layout, const uint8_t *first, const uint8_t *last,
                      const uint8_t *end, struct weir_walk_counts *counts)
{
    bool timed = last && layout->time_offset >= 0;
    counts->first_sample_ns = timed ? weir_load_u64(first + layout->time_offset) : 0;
    counts->last_sample_ns = timed ? weir_load_u64(last + layout->time_offset) : 0;
    counts->ends_with_sample = last && last + load_size(last) == end;
}

/* The place of id and time in a sample, and the size that a well-formed sample has at least. */
struct sample_shape {
    uint64_t id_offset;
    uint64_t needed; /* bytes, for the id and the time */
};

#define NO_ID  UINT32_MAX
#define ID_MAX (NO_ID - 1) /* largest id that a lane holds; the kernel counts ids from 1, and CPUs from 0 */

typedef uint32_t lanes __attribute__((vector_size(sizeof(uint32_t) * WEIR_WALK_IDS)));

/* The ids of the fast path, and the samples that the walk has counted of each. The tally stays in registers during the
 * walk. A store of the tally would wait behind the stores of the copy just made, which reach the cache one by one, and
 * the walk would wait for that store. */
struct tally {
    lanes ids;     /* NO_ID in unused lanes */
    lanes samples; /* of each id */
    unsigned used;
    bool is_short; /* an id was met that got no lane */
};

static inline lanes all_lanes(uint64_t v)
{
    return (lanes){(uint32_t)v, (uint32_t)v, (uint32_t)v, (uint32_t)v};
}

static inline bool any_lane(lanes mask)
{
    typedef uint64_t halves __attribute__((vector_size(sizeof(lanes))));
    halves h = (halves)mask;
    return (h[0] | h[1]) != 0;
}

/* Whether the next record is a whole, well-formed sample; *size: its bytes. */
static inline bool is_sample(const uint8_t *data, uint64_t bytes, struct sample_shape shape, uint64_t *size)
{
    if (bytes < sizeof(struct perf_event_header))
        return false;
    *size = load_size(data);
    return load_type(data) == PERF_RECORD_SAMPLE && *size >= shape.needed && *size % 8 == 0 && *size <= bytes;
}

/* Copied with each sample: about the bytes of a small sample, so that the walk of one block of small samples copies the
 * next block. A block has few large samples. */
#define COPY_STEP_BYTES (2u * WEIR_CACHE_LINE_BYTES)

/* Copies the next lines, if so many are left; returns the bytes copied so far. */
static inline uint64_t copy_step(uint8_t *to, const uint8_t *from, uint64_t bytes, uint64_t copied)
{
    if (copied + COPY_STEP_BYTES > bytes)
        return copied;
    weir_copy_line_past_caches(to + copied, from + copied);
    weir_copy_line_past_caches(to + copied + WEIR_CACHE_LINE_BYTES, from + copied + WEIR_CACHE_LINE_BYTES);
    return copied + COPY_STEP_BYTES;
}

/*
 * Three loops that count samples from data on. The first sample is whole and well-formed. A loop ends at a sample that
 * is not, at another record, or at an id that the loop does not count. All return the bytes of the counted samples;
 * *last: the last of them. They are separate functions, so that each has all registers. The address of the next header
 * takes the load of a size and an addition: that chain is the time of a sample.
 */

/* For a tally with one id. */
static __attribute__((noinline)) uint64_t walk_one(const uint8_t *data, uint64_t bytes, struct sample_shape shape,
                                                   struct tally *tally, struct weir_walk_copy *copy,
                                                   const uint8_t **last)
{
    uint8_t *const to = copy->to;
    const uint8_t *const from = copy->from, *const end = data + bytes;
    const uint64_t only = tally->ids[0], to_copy = copy->bytes;
    const uint8_t *at = data, *newest = NULL;
    uint64_t size = load_size(data), samples = 0, copied = copy->copied;
    while (weir_load_u64(at + shape.id_offset) == only) {
        copied = copy_step(to, from, to_copy, copied);
        samples++;
        newest = at;
        at += size;
        if (!is_sample(at, (uint64_t)(end - at), shape, &size))
            break;
    }
    copy->copied = copied;
    tally->samples[0] += (uint32_t)samples;
    *last = newest ? newest : *last;
    return (uint64_t)(at - data);
}

/* For all ids of the tally. The id decides no branch, because no predictor would foresee it. */
static __attribute__((noinline)) uint64_t walk_few(const uint8_t *data, uint64_t bytes, struct sample_shape shape,
                                                   struct tally *tally, struct weir_walk_copy *copy,
                                                   const uint8_t **last)
{
    uint8_t *const to = copy->to;
    const uint8_t *const from = copy->from, *const end = data + bytes;
    const uint64_t to_copy = copy->bytes;
    const lanes ids = tally->ids;
    lanes samples = tally->samples;
    const uint8_t *at = data, *newest = NULL;
    uint64_t size = load_size(data), copied = copy->copied;
    do {
        uint64_t id = weir_load_u64(at + shape.id_offset);
        lanes found = (lanes)(ids == all_lanes(id));
        if (!any_lane(found) || id > ID_MAX)
            break;
        copied = copy_step(to, from, to_copy, copied);
        samples -= found; /* lanes of the mask are 0 or -1 */
        newest = at;
        at += size;
    } while (is_sample(at, (uint64_t)(end - at), shape, &size));
    copy->copied = copied;
    tally->samples = samples;
    *last = newest ? newest : *last;
    return (uint64_t)(at - data);
}

/* For any id. */
static __attribute__((noinline)) uint64_t walk_many(const struct weir_walk_layout *layout, const uint8_t *data,
                                                    uint64_t bytes, struct sample_shape shape,
                                                    struct weir_walk_counts *counts, struct weir_walk_copy *copy,
                                                    const uint8_t **last)
{
    const uint8_t *at = data, *const end = data + bytes;
    uint64_t size = load_size(data);
    do {
        ++*sample_counter(layout, counts, weir_load_u64(at + shape.id_offset));
        copy->copied = copy_step(copy->to, copy->from, copy->bytes, copy->copied);
        *last = at;
        at += size;
    } while (is_sample(at, (uint64_t)(end - at), shape, &size));
    return (uint64_t)(at - data);
}

/* Adds an id to the tally, which does not have it. False: no lane is free, or the id does not fit. */
static bool tally_takes(struct tally *tally, uint64_t id)
{
    tally->is_short |= tally->used == WEIR_WALK_IDS;
    if (tally->is_short || id > ID_MAX)
        return false;
    tally->ids[tally->used++] = (uint32_t)id;
    return true;
}

/* Runs the loop for the first sample's id. 0: come again. */
static uint64_t walk_samples(const struct weir_walk_layout *layout, const uint8_t *data, uint64_t bytes,
                             struct sample_shape shape, struct tally *tally, struct weir_walk_counts *counts,
                             struct weir_walk_copy *copy, const uint8_t **last)
{
    uint64_t walked = 0;
    if (tally->used == 1)
        walked = walk_one(data, bytes, shape, tally, copy, last);
    else if (tally->used > 1)
        walked = walk_few(data, bytes, shape, tally, copy, last);
    if (walked == 0 && !tally_takes(tally, weir_load_u64(data + shape.id_offset)))
        walked = walk_many(layout, data, bytes, shape, counts, copy, last);
    return walked;
}

/* Builds the vectors in registers. A load of vectors built in memory would wait for the stores of their parts, and
 * these for the stores of the copy just made. */
static struct tally begin_tally(const struct weir_walk_counts *counts)
{
    static const lanes numbers = {0, 1, 2, 3};
    const lanes used = (lanes)(numbers < all_lanes(counts->id_count));
    lanes ids;
    memcpy(&ids, counts->ids, sizeof(ids));
    return (struct tally){.ids = (ids & used) | (all_lanes(NO_ID) & ~used), .used = counts->id_count};
}

/* With too few lanes the next walk chooses ids anew: the present ones may be rare. */
static void end_tally(const struct weir_walk_layout *layout, const struct tally *tally, struct weir_walk_counts *counts)
{
    counts->id_count = tally->is_short ? 0 : tally->used;
    for (unsigned i = 0; i < tally->used; i++) {
        counts->ids[i] = tally->ids[i];
        if (tally->samples[i] > 0)
            *sample_counter(layout, counts, tally->ids[i]) += tally->samples[i];
    }
}

int64_t weir_record_walk_copying(const struct weir_walk_layout *layout, const uint8_t *data, uint64_t bytes,
                                 struct weir_walk_counts *counts, struct weir_walk_copy *copy)
{
    const int last_offset = layout->time_offset > layout->id_offset ? layout->time_offset : layout->id_offset;
    const struct sample_shape shape = {(uint64_t)layout->id_offset, (uint64_t)last_offset + 8};
    const uint8_t *first_sample = NULL, *last_sample = NULL;
    struct tally tally = begin_tally(counts);
    uint64_t at = 0;

    while (bytes - at >= sizeof(struct perf_event_header)) {
        const uint8_t *record = data + at;
        uint64_t size;
        if (is_sample(record, bytes - at, shape, &size)) {
            at += walk_samples(layout, record, bytes - at, shape, &tally, counts, copy, &last_sample);
            first_sample = first_sample ? first_sample : record;
            continue;
        }
        struct perf_event_header header;
        memcpy(&header, record, sizeof(header));
        if (header.size < sizeof(header) || header.size % 8) {
            if (at == 0)
                return -EBADMSG;
            break;
        }
        if (header.size > bytes - at)
            break;
        count_other(layout, &header, record, counts);
        at += header.size;
    }
    end_tally(layout, &tally, counts);
    note_walk(layout, first_sample, last_sample, data + at, counts);
    return (int64_t)at;
}

int64_t weir_record_walk(const struct weir_walk_layout *layout, const uint8_t *data, uint64_t bytes,
                         struct weir_walk_counts *counts)
{
    struct weir_walk_copy nothing = {0};
    return weir_record_walk_copying(layout, data, bytes, counts, &nothing);
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

void weir_record_mend_trailers(const struct weir_walk_layout *layout, uint8_t *data, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        uint8_t *record = data + at;
        size_t end = trailer_end(layout, &header, record);
        if (end < header.size) {
            size_t gap = header.size - end;
            uint8_t *trailer = record + end - layout->trailer_bytes;
            memmove(trailer + gap, trailer, layout->trailer_bytes);
            memset(trailer, 0, gap);
        }
        at += header.size;
    }
}

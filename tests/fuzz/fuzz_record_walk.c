/*
 * The walk over records (engine/drain/record_walk.h). Input: a byte that chooses the layout of samples, a byte that
 * chooses where to cut, and the bytes to walk.
 *
 * A second walker, which takes nothing from the first, counts the same; the counts account for every record; and two
 * walks over the two sides of any record boundary add up to one.
 */
#include "engine/drain/record_walk.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"

#define EVENT_COUNT    3u
#define CPU_COUNT      2u
#define COUNTER_COUNT  (EVENT_COUNT * CPU_COUNT)
#define SIDEBAND_EVENT 2u
#define HEADER_BYTES   8u
#define CHOICE_BYTES   2u /* before the bytes to walk */

/* Bits of the first byte. */
#define CHOICE_TIME_MASK 3u
#define CHOICE_LATE_ID   4u
#define CHOICE_PER_CPU   8u

/* Ids from 1 on, small ones so that they are met: event (id - 1) % 3 on CPU (id - 1) / 3. */
static void *init(void)
{
    struct weir_id_map *ids = calloc(1, sizeof(*ids));
    weir_assert(ids && weir_id_map_init(ids, COUNTER_COUNT) == 0);
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        weir_id_map_add(ids, i + 1, i % EVENT_COUNT, i / EVENT_COUNT);
    return ids;
}

static void fini(void *ids)
{
    weir_id_map_fini(ids);
    free(ids);
}

static struct weir_walk_layout choose_layout(const struct weir_id_map *ids, uint8_t choice)
{
    static const int time_offsets[] = {-1, 16, 24, 40};
    return (struct weir_walk_layout){
        .ids = ids,
        .id_offset = choice & CHOICE_LATE_ID ? 32 : 8,
        .time_offset = time_offsets[choice & CHOICE_TIME_MASK],
        .place_stride = choice & CHOICE_PER_CPU ? EVENT_COUNT : 0,
        .sideband_event = SIDEBAND_EVENT,
    };
}

/* ---- the second walker ---- */

struct tally {
    uint64_t records;
    uint64_t loss_reports; /* counted by none of the counts */
    uint64_t side_samples; /* side records that also count as produced by the sideband event */
    uint64_t samples[COUNTER_COUNT];
    struct weir_walk_counts counts;
    bool has_sample; /* with room for its id and time */
    int64_t walked;
};

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t number = 0;
    while (bytes-- > 0)
        number = number << 8 | at[bytes];
    return number;
}

/* The counter of id, or COUNTER_COUNT when it is nobody's. */
static unsigned counter_of(const struct weir_walk_layout *layout, uint64_t id)
{
    if (id < 1 || id > COUNTER_COUNT)
        return COUNTER_COUNT;
    unsigned event = (unsigned)(id - 1) % EVENT_COUNT, cpu = (unsigned)(id - 1) / EVENT_COUNT;
    return layout->place_stride ? cpu * EVENT_COUNT + event : event;
}

static void tally_sample(struct tally *tally, const struct weir_walk_layout *layout, const uint8_t *record,
                         unsigned size)
{
    if (size < (unsigned)layout->id_offset + 8 ||
        (layout->time_offset >= 0 && size < (unsigned)layout->time_offset + 8)) {
        tally->counts.unknown_samples++;
        return;
    }
    unsigned counter = counter_of(layout, number_at(record + layout->id_offset, 8));
    if (counter < COUNTER_COUNT)
        tally->samples[counter]++;
    else
        tally->counts.unknown_samples++;
    if (layout->time_offset >= 0) {
        uint64_t time_ns = number_at(record + layout->time_offset, 8);
        if (!tally->has_sample)
            tally->counts.first_sample_ns = time_ns;
        tally->counts.last_sample_ns = time_ns;
    }
    tally->has_sample = tally->counts.ends_with_sample = true;
}

static void tally_record(struct tally *tally, const struct weir_walk_layout *layout, const uint8_t *record,
                         unsigned size)
{
    tally->counts.ends_with_sample = false;
    switch (number_at(record, 4)) {
    case PERF_RECORD_SAMPLE:
        tally_sample(tally, layout, record, size);
        return;
    case PERF_RECORD_LOST:
        tally->counts.lost_reported += size >= 24 ? number_at(record + 16, 8) : 0;
        tally->loss_reports++;
        return;
    case PERF_RECORD_LOST_SAMPLES:
        tally->loss_reports++;
        return;
    case PERF_RECORD_THROTTLE:
        tally->counts.throttled++;
        break;
    }
    tally->counts.other_records++;
    uint64_t id = size >= 16 ? number_at(record + size - 8, 8) : 0;
    unsigned counter = counter_of(layout, id);
    if (layout->place_stride && counter < COUNTER_COUNT && (id - 1) % EVENT_COUNT == SIDEBAND_EVENT) {
        tally->samples[counter]++;
        tally->side_samples++;
    }
}

static void tally_all(struct tally *tally, const struct weir_walk_layout *layout, const uint8_t *data, size_t bytes)
{
    size_t at = 0;
    bool cannot_be = false;
    while (bytes - at >= HEADER_BYTES) {
        unsigned size = (unsigned)number_at(data + at + 6, 2);
        cannot_be = size < HEADER_BYTES || size % 8 != 0;
        if (cannot_be || size > bytes - at)
            break;
        tally_record(tally, layout, data + at, size);
        tally->records++;
        at += size;
    }
    tally->walked = cannot_be && at == 0 ? -EBADMSG : (int64_t)at;
}

/* ---- what must hold ---- */

static void check_equal(const struct weir_walk_counts *counts, const struct weir_walk_counts *expected,
                        const uint64_t *expected_samples)
{
    weir_assert(memcmp(counts->samples, expected_samples, COUNTER_COUNT * sizeof(*expected_samples)) == 0);
    weir_assert(counts->other_records == expected->other_records);
    weir_assert(counts->unknown_samples == expected->unknown_samples);
    weir_assert(counts->lost_reported == expected->lost_reported);
    weir_assert(counts->throttled == expected->throttled);
}

/* What is of the last walk only. */
static void check_ends(const struct weir_walk_counts *counts, const struct weir_walk_counts *expected)
{
    weir_assert(counts->first_sample_ns == expected->first_sample_ns);
    weir_assert(counts->last_sample_ns == expected->last_sample_ns);
    weir_assert(counts->ends_with_sample == expected->ends_with_sample);
}

static void check_sum(const struct tally *tally)
{
    uint64_t sum = tally->counts.other_records + tally->counts.unknown_samples + tally->loss_reports;
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        sum += tally->samples[i];
    weir_assert(sum == tally->records + tally->side_samples);
}

/* Where the record begins that has share / 256 of all records before it. */
static size_t boundary_at(const uint8_t *data, const struct tally *tally, unsigned share)
{
    size_t at = 0;
    for (uint64_t i = 0; i < tally->records * share / 256; i++)
        at += number_at(data + at + 6, 2);
    return at;
}

static void check_cut(const struct weir_walk_layout *layout, const uint8_t *data, size_t bytes, unsigned share,
                      const struct tally *tally)
{
    uint64_t samples[COUNTER_COUNT] = {0};
    struct weir_walk_counts counts = {.samples = samples};
    size_t cut = boundary_at(data, tally, share);
    weir_assert(weir_record_walk(layout, data, cut, &counts) == (int64_t)cut);
    int64_t rest = weir_record_walk(layout, data + cut, bytes - cut, &counts);
    weir_assert((int64_t)cut + (rest == -EBADMSG ? 0 : rest) == tally->walked);
    check_equal(&counts, &tally->counts, tally->samples);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    if (bytes < CHOICE_BYTES)
        return;
    struct weir_walk_layout layout = choose_layout(fixture, data[0]);
    unsigned share = data[1];
    data += CHOICE_BYTES;
    bytes -= CHOICE_BYTES;

    struct tally tally = {.records = 0};
    tally_all(&tally, &layout, data, bytes);
    check_sum(&tally);

    uint64_t samples[COUNTER_COUNT] = {0};
    struct weir_walk_counts counts = {.samples = samples};
    int64_t walked = weir_record_walk(&layout, data, bytes, &counts);
    weir_assert(walked == tally.walked && walked <= (int64_t)bytes);
    check_equal(&counts, &tally.counts, tally.samples);
    check_ends(&counts, &tally.counts);
    if (walked >= 0)
        check_cut(&layout, data, bytes, share, &tally);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};

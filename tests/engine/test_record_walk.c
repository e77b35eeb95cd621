/*
 * The walk over records: where it stops, what it counts as what. Data lies in heap blocks of its exact size, so that
 * AddressSanitizer sees a read behind it.
 */
#include "engine/drain/record_walk.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "format/perf_file.h"
#include "tests/engine/test_record.h"

#define ID_A        11u /* event 0 on CPU 0 */
#define ID_B        12u /* event 1 on CPU 0 */
#define ID_C        13u /* event 0 on CPU 1 */
#define ID_SIDE     14u /* the sideband event on CPU 0 */
#define ID_SIDE_1   15u /* the same on CPU 1 */
#define ID_STRANGE  99u
#define EVENT_COUNT 3u
#define CPU_COUNT   2u
#define SIDEBAND    2u

struct walk {
    struct weir_id_map ids;
    struct weir_walk_layout layout;
    struct weir_walk_counts counts;
    uint64_t samples[EVENT_COUNT * CPU_COUNT];
    uint8_t *data; /* owned */
    size_t bytes;
};

static void walk_init(struct walk *walk)
{
    memset(walk, 0, sizeof(*walk));
    cr_assert_eq(weir_id_map_init(&walk->ids, 5), 0);
    weir_id_map_add(&walk->ids, ID_A, 0, 0);
    weir_id_map_add(&walk->ids, ID_B, 1, 0);
    weir_id_map_add(&walk->ids, ID_C, 0, 1);
    weir_id_map_add(&walk->ids, ID_SIDE, SIDEBAND, 0);
    weir_id_map_add(&walk->ids, ID_SIDE_1, SIDEBAND, 1);
    walk->layout = (struct weir_walk_layout){
        .ids = &walk->ids,
        .id_offset = TEST_SAMPLE_ID_OFFSET,
        .time_offset = TEST_SAMPLE_TIME_OFFSET,
        .sideband_event = SIDEBAND,
    };
    walk->counts.samples = walk->samples;
}

static void walk_fini(struct walk *walk)
{
    weir_id_map_fini(&walk->ids);
    free(walk->data);
}

/* Room for one more record at the end. */
static uint8_t *grow(struct walk *walk, size_t bytes)
{
    uint8_t *grown = realloc(walk->data, walk->bytes + bytes);
    cr_assert_not_null(grown);
    walk->data = grown;
    walk->bytes += bytes;
    return walk->data + walk->bytes - bytes;
}

static void add_sample(struct walk *walk, uint64_t id, uint64_t time_ns, uint16_t bytes)
{
    test_sample_put(grow(walk, bytes), id, time_ns, 1, bytes);
}

static void add_lost(struct walk *walk, uint64_t id, uint64_t lost)
{
    test_lost_put(grow(walk, TEST_LOST_BYTES), id, lost);
}

static void add_side(struct walk *walk, uint32_t type, uint64_t id)
{
    test_side_put(grow(walk, TEST_SIDE_BYTES), type, id);
}

static int64_t walk_all(struct walk *walk)
{
    return weir_record_walk(&walk->layout, walk->data, walk->bytes, &walk->counts);
}

/* ---- what cannot be ---- */

Test(record_walk, nothing_is_walked_in_nothing)
{
    struct walk walk;
    walk_init(&walk);
    cr_assert_eq(walk_all(&walk), 0);
    for (size_t bytes = 1; bytes < sizeof(struct perf_event_header); bytes++) {
        grow(&walk, 1)[0] = 0xff;
        cr_assert_eq(walk_all(&walk), 0);
    }
    walk_fini(&walk);
}

Test(record_walk, first_header_that_cannot_be_is_refused)
{
    const uint16_t sizes[] = {0, 1, 7, 9, 12, 33, 65535};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct walk walk;
        walk_init(&walk);
        add_sample(&walk, ID_A, 1, 64);
        test_header_put(walk.data, PERF_RECORD_SAMPLE, sizes[i]);
        cr_assert_eq(walk_all(&walk), -EBADMSG, "size %u", sizes[i]);
        cr_assert_eq(walk.samples[0], 0);
        cr_assert_eq(walk.counts.other_records, 0);
        walk_fini(&walk);
    }
}

Test(record_walk, walk_stops_before_a_later_header_that_cannot_be)
{
    const uint16_t sizes[] = {0, 7, 36, 44};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct walk walk;
        walk_init(&walk);
        add_sample(&walk, ID_A, 1, 48);
        add_sample(&walk, ID_A, 2, 48);
        add_sample(&walk, ID_A, 3, 48);
        test_header_put(walk.data + 96, PERF_RECORD_SAMPLE, sizes[i]);
        cr_assert_eq(walk_all(&walk), 96, "size %u", sizes[i]);
        cr_assert_eq(walk.samples[0], 2);
        cr_assert_eq(walk.counts.last_sample_ns, 2);
        walk_fini(&walk);
    }
}

Test(record_walk, record_that_is_not_whole_is_left_alone)
{
    for (uint64_t there = 0; there < 48; there++) {
        struct walk walk;
        walk_init(&walk);
        add_sample(&walk, ID_A, 1, 32);
        uint8_t record[48];
        test_sample_put(record, ID_A, 2, 1, sizeof(record));
        memcpy(grow(&walk, there), record, there);
        cr_assert_eq(walk_all(&walk), 32);
        cr_assert_eq(walk.samples[0], 1);
        cr_assert_eq(walk.counts.last_sample_ns, 1);
        walk_fini(&walk);
    }
}

Test(record_walk, sample_without_room_for_id_and_time_is_unknown)
{
    for (uint16_t bytes = 8; bytes < TEST_SAMPLE_TIME_OFFSET + 8; bytes += 8) {
        struct walk walk;
        walk_init(&walk);
        memset(grow(&walk, bytes), 0, bytes);
        test_header_put(walk.data, PERF_RECORD_SAMPLE, bytes);
        cr_assert_eq(walk_all(&walk), bytes);
        cr_assert_eq(walk.counts.unknown_samples, 1, "%u bytes", bytes);
        cr_assert_eq(walk.counts.other_records, 0);
        cr_assert_eq(walk.counts.first_sample_ns, 0);
        walk_fini(&walk);
    }
}

Test(record_walk, samples_of_one_event_are_counted_on_both_sides_of_what_is_none)
{
    struct walk walk;
    walk_init(&walk);
    add_sample(&walk, ID_A, 1, 32);
    add_sample(&walk, ID_A, 2, 40);
    add_sample(&walk, ID_A, 3, 32);
    /* With the id in the place where samples have it. */
    test_header_put(walk.data + walk.bytes - 32, PERF_RECORD_COMM, 32);
    add_sample(&walk, ID_A, 4, 32);
    uint8_t *short_one = grow(&walk, 16);
    test_header_put(short_one, PERF_RECORD_SAMPLE, 16);
    memcpy(short_one + TEST_SAMPLE_ID_OFFSET, &(uint64_t){ID_A}, 8);
    add_sample(&walk, ID_A, 5, 32);
    add_sample(&walk, ID_B, 6, 32);
    add_sample(&walk, ID_A, 7, 32);
    cr_assert_eq(walk_all(&walk), (int64_t)walk.bytes);
    cr_assert_eq(walk.samples[0], 5);
    cr_assert_eq(walk.samples[1], 1);
    cr_assert_eq(walk.counts.unknown_samples, 1);
    cr_assert_eq(walk.counts.other_records, 1);
    walk_fini(&walk);
}

Test(record_walk, samples_with_strange_ids_are_counted_apart)
{
    struct walk walk;
    walk_init(&walk);
    add_sample(&walk, ID_STRANGE, 1, 32);
    add_sample(&walk, 0, 2, 32);
    add_sample(&walk, ID_A, 3, 32);
    add_sample(&walk, ID_STRANGE, 4, 32);
    cr_assert_eq(walk_all(&walk), 128);
    cr_assert_eq(walk.counts.unknown_samples, 3);
    cr_assert_eq(walk.samples[0], 1);
    walk_fini(&walk);
}

Test(record_walk, ids_that_are_alike_in_one_half_are_told_apart)
{
    const uint64_t strange[] = {UINT32_MAX, ID_A + (1ull << 32), UINT32_MAX + (1ull << 32), UINT64_MAX, 1ull << 32};
    const size_t count = sizeof(strange) / sizeof(strange[0]);
    struct walk walk;
    walk_init(&walk);
    for (size_t i = 0; i < count; i++) {
        add_sample(&walk, strange[i], 1, 32);
        add_sample(&walk, ID_A, 2, 32);
    }
    cr_assert_eq(walk_all(&walk), (int64_t)walk.bytes);
    cr_assert_eq(walk.counts.unknown_samples, count);
    cr_assert_eq(walk.samples[0], count);
    walk_fini(&walk);
}

/* ---- copying on the way ---- */

#define COPY_LINES 64u

/* Walks 20 samples of so many events and has that many lines to copy; checks what it has made of them. */
static uint64_t copy_while_walking(unsigned events, unsigned lines)
{
    static _Alignas(WEIR_CACHE_LINE_BYTES) uint8_t target[COPY_LINES * WEIR_CACHE_LINE_BYTES];
    static const uint64_t ids[] = {ID_A, ID_B, ID_C, ID_STRANGE, ID_SIDE, ID_SIDE_1};
    uint8_t source[sizeof(target) + 8], untouched[sizeof(target)];
    struct walk walk;
    walk_init(&walk);
    walk.layout.place_stride = EVENT_COUNT;
    for (unsigned i = 0; i < 20; i++)
        add_sample(&walk, ids[i % events], i + 1, 40);
    for (size_t i = 0; i < sizeof(source); i++)
        source[i] = (uint8_t)(i * 7 + 1);
    memset(target, 0xee, sizeof(target));
    memset(untouched, 0xee, sizeof(untouched));
    struct weir_walk_copy copy = {.to = target, .from = source + 8, .bytes = lines * WEIR_CACHE_LINE_BYTES};
    cr_assert_eq(weir_record_walk_copying(&walk.layout, walk.data, walk.bytes, &walk.counts, &copy), 800);
    weir_copy_fence();
    cr_assert_eq(walk.counts.last_sample_ns, 20);
    cr_assert_leq(copy.copied, copy.bytes);
    cr_assert_eq(copy.copied % WEIR_CACHE_LINE_BYTES, 0);
    cr_assert_eq(memcmp(target, source + 8, copy.copied), 0);
    cr_assert_eq(memcmp(target + copy.copied, untouched, sizeof(target) - copy.copied), 0);
    walk_fini(&walk);
    return copy.copied / WEIR_CACHE_LINE_BYTES;
}

Test(record_walk, lines_are_copied_with_samples_of_any_number_of_events)
{
    for (unsigned events = 1; events <= 6; events++) {
        cr_expect_eq(copy_while_walking(events, 0), 0);
        cr_expect_geq(copy_while_walking(events, COPY_LINES), 20, "%u events", events);
        for (unsigned lines = 1; lines < 20; lines++)
            cr_expect_geq(copy_while_walking(events, lines) + 1, lines, "%u events, %u lines", events, lines);
    }
}

Test(record_walk, nothing_is_copied_where_no_sample_is_walked)
{
    _Alignas(WEIR_CACHE_LINE_BYTES) uint8_t target[2 * WEIR_CACHE_LINE_BYTES];
    uint8_t source[sizeof(target)];
    struct walk walk;
    walk_init(&walk);
    add_lost(&walk, ID_A, 1);
    struct weir_walk_copy copy = {.to = target, .from = source, .bytes = sizeof(target)};
    cr_assert_eq(weir_record_walk_copying(&walk.layout, walk.data, walk.bytes, &walk.counts, &copy), TEST_LOST_BYTES);
    cr_assert_eq(copy.copied, 0);
    walk_fini(&walk);
}

/* ---- counting ---- */

Test(record_walk, each_of_many_events_is_counted)
{
    const uint64_t ids[] = {ID_A, ID_B, ID_C, ID_STRANGE, ID_SIDE, ID_SIDE_1}; /* more than WEIR_WALK_IDS */
    struct walk walk;
    walk_init(&walk);
    walk.layout.place_stride = EVENT_COUNT;
    for (unsigned i = 0; i < 7 * 6; i++)
        add_sample(&walk, ids[i % 6], i + 1, 32);
    for (unsigned walks = 0; walks < 2; walks++)
        cr_assert_eq(walk_all(&walk), 32 * 42);
    cr_assert_eq(walk.samples[0], 14);
    cr_assert_eq(walk.samples[1], 14);
    cr_assert_eq(walk.samples[SIDEBAND], 14);
    cr_assert_eq(walk.samples[EVENT_COUNT], 14);
    cr_assert_eq(walk.samples[EVENT_COUNT + SIDEBAND], 14);
    cr_assert_eq(walk.counts.unknown_samples, 14);
    cr_assert_eq(walk.counts.first_sample_ns, 1);
    cr_assert_eq(walk.counts.last_sample_ns, 42);
    walk_fini(&walk);
}

Test(record_walk, events_that_an_earlier_walk_has_not_met_are_counted)
{
    const uint64_t ids[] = {ID_A, ID_B, ID_C, ID_SIDE_1, ID_SIDE};
    struct walk walk;
    walk_init(&walk);
    walk.layout.place_stride = EVENT_COUNT;
    for (unsigned i = 0; i < 5; i++)
        add_sample(&walk, ids[i], i + 1, 32);
    for (unsigned i = 0; i < 5; i++)
        weir_record_walk(&walk.layout, walk.data + 32 * i, walk.bytes - 32 * i, &walk.counts);
    cr_assert_eq(walk.samples[0], 1);
    cr_assert_eq(walk.samples[1], 2);
    cr_assert_eq(walk.samples[EVENT_COUNT], 3);
    cr_assert_eq(walk.samples[EVENT_COUNT + SIDEBAND], 4);
    cr_assert_eq(walk.samples[SIDEBAND], 5);
    walk_fini(&walk);
}

Test(record_walk, samples_are_counted_by_event)
{
    struct walk walk;
    walk_init(&walk);
    add_sample(&walk, ID_A, 5, 32);
    add_sample(&walk, ID_A, 6, 40);
    add_sample(&walk, ID_B, 7, 48);
    add_sample(&walk, ID_C, 8, 32); /* event 0 again: without a CPU stride the CPU does not matter */
    cr_assert_eq(walk_all(&walk), 152);
    cr_assert_eq(walk.samples[0], 3);
    cr_assert_eq(walk.samples[1], 1);
    cr_assert_eq(walk.samples[2], 0);
    cr_assert_eq(walk.counts.other_records, 0);
    cr_assert_eq(walk.counts.unknown_samples, 0);
    walk_fini(&walk);
}

Test(record_walk, samples_are_counted_by_cpu_and_event_with_a_stride)
{
    struct walk walk;
    walk_init(&walk);
    walk.layout.place_stride = EVENT_COUNT;
    add_sample(&walk, ID_A, 5, 32);
    add_sample(&walk, ID_B, 6, 32);
    add_sample(&walk, ID_C, 7, 32);
    add_sample(&walk, ID_C, 8, 32);
    cr_assert_eq(walk_all(&walk), 128);
    const uint64_t expected[] = {1, 1, 0, 2, 0, 0};
    cr_assert_arr_eq(walk.samples, expected, sizeof(expected));
    walk_fini(&walk);
}

static void put_misc(uint8_t *record, uint16_t misc)
{
    memcpy(record + offsetof(struct perf_event_header, misc), &misc, sizeof(misc));
}

static uint16_t misc_of(const uint8_t *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof(header));
    return header.misc;
}

Test(record_walk, build_ids_that_maps_do_not_have_are_not_announced)
{
    const uint16_t map = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID;
    uint8_t records[4 * TEST_SIDE_BYTES], before[sizeof(records)];
    test_side_put(records, PERF_RECORD_MMAP2, ID_SIDE);
    test_side_put(records + TEST_SIDE_BYTES, PERF_RECORD_MMAP2, ID_SIDE);
    test_side_put(records + 2 * TEST_SIDE_BYTES, PERF_RECORD_SWITCH, ID_SIDE);
    test_side_put(records + 3 * TEST_SIDE_BYTES, PERF_RECORD_MMAP2, ID_SIDE);
    put_misc(records, map);
    put_misc(records + TEST_SIDE_BYTES, PERF_RECORD_MISC_USER);
    put_misc(records + 2 * TEST_SIDE_BYTES, map); /* of another type the bit means something else */
    put_misc(records + 3 * TEST_SIDE_BYTES, map);
    memcpy(before, records, sizeof(before));
    weir_record_mend_maps(records, sizeof(records));
    cr_expect_eq(misc_of(records), PERF_RECORD_MISC_USER);
    cr_expect_eq(misc_of(records + TEST_SIDE_BYTES), PERF_RECORD_MISC_USER);
    cr_expect_eq(misc_of(records + 2 * TEST_SIDE_BYTES), map);
    cr_expect_eq(misc_of(records + 3 * TEST_SIDE_BYTES), PERF_RECORD_MISC_USER);
    put_misc(records, map);
    put_misc(records + 3 * TEST_SIDE_BYTES, map);
    cr_expect_arr_eq(records, before, sizeof(before), "something else has changed");
}

#define POKED_BYTES 5u /* as a jump has */

/* Body, sample_id and bytes that nobody wrote, which look like another id. */
static void put_with_a_tail(uint8_t *record, uint32_t type, const char *name, size_t body, size_t tail)
{
    struct perf_event_header header = {.type = type, .size = (uint16_t)(body + 16 + tail)};
    uint64_t trailer[2] = {0x1234, ID_SIDE};
    memset(record, 0xee, header.size);
    memset(record, 0, body);
    memcpy(record, &header, sizeof(header));
    memcpy(record + 24, name, strlen(name));
    if (type == PERF_RECORD_TEXT_POKE)
        memcpy(record + 16, (uint16_t[]){POKED_BYTES, POKED_BYTES}, 2 * sizeof(uint16_t));
    memcpy(record + body, trailer, sizeof(trailer));
}

Test(record_walk, trailers_with_bytes_behind_them_are_found_and_put_where_readers_look)
{
    static const struct {
        uint32_t type;
        const char *name;
        size_t body, tail;
    } rows[] = {
        {PERF_RECORD_KSYMBOL, "bpf_prog", 40, 24}, /* a NUL and seven more */
        {PERF_RECORD_KSYMBOL, "prog", 32, 48},
        {PERF_RECORD_KSYMBOL, "prog", 32, 0}, /* as it should be */
        {PERF_RECORD_BPF_EVENT, "", 24, 24},
        {PERF_RECORD_TEXT_POKE, "", 32, 16}, /* address, lengths, two times five bytes, two of padding */
        {PERF_RECORD_TEXT_POKE, "", 32, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct walk walk;
        walk_init(&walk);
        walk.layout.place_stride = EVENT_COUNT;
        walk.layout.trailer_bytes = 16;
        uint8_t record[128], wanted[128];
        put_with_a_tail(record, rows[i].type, rows[i].name, rows[i].body, rows[i].tail);
        size_t bytes = rows[i].body + 16 + rows[i].tail;
        memcpy(wanted, record, rows[i].body);
        memset(wanted + rows[i].body, 0, rows[i].tail);
        memcpy(wanted + rows[i].body + rows[i].tail, record + rows[i].body, 16);
        cr_expect_eq(weir_record_walk(&walk.layout, record, bytes, &walk.counts), (int64_t)bytes);
        cr_expect_eq(walk.samples[SIDEBAND], 1, "row %zu is of no event", i);
        weir_record_mend_trailers(&walk.layout, record, bytes);
        cr_expect_arr_eq(record, wanted, bytes, "row %zu", i);
        walk_fini(&walk);
    }
}

Test(record_walk, greatest_record_is_walked)
{
    struct walk walk;
    walk_init(&walk);
    add_sample(&walk, ID_A, 5, WEIR_RECORD_MAX_BYTES);
    cr_assert_eq(walk_all(&walk), WEIR_RECORD_MAX_BYTES);
    cr_assert_eq(walk.samples[0], 1);
    walk_fini(&walk);
}

Test(record_walk, times_are_of_the_first_and_the_last_sample_of_a_walk)
{
    struct walk walk;
    walk_init(&walk);
    add_side(&walk, PERF_RECORD_COMM, ID_SIDE);
    add_sample(&walk, ID_A, 50, 32);
    add_sample(&walk, ID_A, 60, 32);
    add_side(&walk, PERF_RECORD_COMM, ID_SIDE);
    walk_all(&walk);
    cr_assert_eq(walk.counts.first_sample_ns, 50);
    cr_assert_eq(walk.counts.last_sample_ns, 60);
    add_sample(&walk, ID_A, 70, 32);
    weir_record_walk(&walk.layout, walk.data + walk.bytes - 32, 32, &walk.counts);
    cr_assert_eq(walk.counts.first_sample_ns, 70);
    cr_assert_eq(walk.counts.last_sample_ns, 70);
    add_side(&walk, PERF_RECORD_COMM, ID_SIDE);
    weir_record_walk(&walk.layout, walk.data + walk.bytes - TEST_SIDE_BYTES, TEST_SIDE_BYTES, &walk.counts);
    cr_assert_eq(walk.counts.first_sample_ns, 0);
    cr_assert_eq(walk.counts.last_sample_ns, 0);
    walk_fini(&walk);
}

Test(record_walk, walk_says_whether_it_ends_with_a_sample)
{
    struct walk walk;
    walk_init(&walk);
    walk_all(&walk);
    cr_assert_not(walk.counts.ends_with_sample);
    add_sample(&walk, ID_A, 50, 32);
    walk_all(&walk);
    cr_assert(walk.counts.ends_with_sample);
    add_side(&walk, PERF_RECORD_COMM, ID_SIDE);
    walk_all(&walk);
    cr_assert_not(walk.counts.ends_with_sample);
    add_sample(&walk, ID_A, 60, 40);
    weir_record_walk(&walk.layout, walk.data, walk.bytes - 8, &walk.counts); /* it is not whole */
    cr_assert_not(walk.counts.ends_with_sample);
    walk_all(&walk);
    cr_assert(walk.counts.ends_with_sample);
    walk_fini(&walk);
}

Test(record_walk, samples_without_time_have_no_times)
{
    struct walk walk;
    walk_init(&walk);
    walk.layout.time_offset = -1;
    memset(grow(&walk, 16), 0, 16);
    test_header_put(walk.data, PERF_RECORD_SAMPLE, 16); /* header and id are the whole sample */
    memcpy(walk.data + 8, &(uint64_t){ID_A}, 8);
    cr_assert_eq(walk_all(&walk), 16);
    cr_assert_eq(walk.samples[0], 1);
    cr_assert_eq(walk.counts.first_sample_ns, 0);
    cr_assert_eq(walk.counts.last_sample_ns, 0);
    walk_fini(&walk);
}

/* ---- side records ---- */

Test(record_walk, losses_are_summed_and_are_no_records_of_their_event)
{
    struct walk walk;
    walk_init(&walk);
    add_lost(&walk, ID_A, 5);
    add_lost(&walk, ID_SIDE, 7);
    cr_assert_eq(walk_all(&walk), 2 * TEST_LOST_BYTES);
    cr_assert_eq(walk.counts.lost_reported, 12);
    cr_assert_eq(walk.counts.other_records, 0);
    walk_fini(&walk);
}

Test(record_walk, lost_record_too_short_for_a_number_reports_none)
{
    struct walk walk;
    walk_init(&walk);
    memset(grow(&walk, 16), 0xff, 16);
    test_header_put(walk.data, PERF_RECORD_LOST, 16);
    cr_assert_eq(walk_all(&walk), 16);
    cr_assert_eq(walk.counts.lost_reported, 0);
    walk_fini(&walk);
}

Test(record_walk, throttling_is_counted)
{
    struct walk walk;
    walk_init(&walk);
    add_side(&walk, PERF_RECORD_THROTTLE, ID_A);
    add_side(&walk, PERF_RECORD_UNTHROTTLE, ID_A);
    add_side(&walk, PERF_RECORD_THROTTLE, ID_A);
    walk_all(&walk);
    cr_assert_eq(walk.counts.throttled, 2);
    cr_assert_eq(walk.counts.other_records, 3);
    walk_fini(&walk);
}

/* What the writer counts of a chunk that could not be written: side records by the CPU of their id, but not those that
 * weir itself made (id 0), nor those that tell of losses. */
Test(record_walk, side_records_are_counted_by_cpu_with_a_stride)
{
    struct walk walk;
    walk_init(&walk);
    walk.layout.place_stride = EVENT_COUNT;
    add_side(&walk, PERF_RECORD_COMM, ID_SIDE);
    add_side(&walk, PERF_RECORD_MMAP2, ID_SIDE_1);
    add_side(&walk, PERF_RECORD_EXIT, ID_SIDE_1);
    add_side(&walk, PERF_RECORD_COMM, 0);
    add_side(&walk, PERF_RECORD_COMM, ID_STRANGE);
    add_side(&walk, PERF_RECORD_THROTTLE, ID_A);
    add_lost(&walk, ID_SIDE, 3);
    add_side(&walk, PERF_RECORD_LOST_SAMPLES, ID_SIDE);
    test_header_put(grow(&walk, 8), WEIR_RECORD_FINISHED_ROUND, 8); /* no room for a trailer */
    cr_assert_eq(walk_all(&walk), (int64_t)walk.bytes);
    const uint64_t expected[] = {0, 0, 1, 0, 0, 2};
    cr_assert_arr_eq(walk.samples, expected, sizeof(expected));
    walk_fini(&walk);
}

/* ---- without ids: the word of the CPU is in their place ---- */

static const struct weir_id_entry by_cpu[] = {{.id = 1, .place = 1}, {0}, {.id = 1, .place = 0}};

static void walk_init_without_ids(struct walk *walk)
{
    walk_init(walk);
    walk->layout.by_cpu = by_cpu;
    walk->layout.by_cpu_count = 3;
    walk->layout.place_stride = EVENT_COUNT;
}

Test(record_walk, without_ids_samples_are_counted_by_their_cpu)
{
    struct walk walk;
    walk_init_without_ids(&walk);
    const uint64_t cpus[] = {0, 2, 2, 1, 3, 1ull << 32, 0, 2};
    for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
        add_sample(&walk, cpus[i], i + 1, 48);
    cr_assert_eq(walk_all(&walk), (int64_t)walk.bytes);
    cr_expect_eq(walk.samples[0], 3);
    cr_expect_eq(walk.samples[EVENT_COUNT], 2);
    cr_expect_eq(walk.counts.unknown_samples, 3);
    walk_fini(&walk);
}

/* Synthesized ones have no time, and are of no event whatever their CPU. */
Test(record_walk, without_ids_side_records_are_counted_by_their_cpu)
{
    struct walk walk;
    walk_init_without_ids(&walk);
    const struct {
        uint64_t cpu, time_ns;
    } trailers[] = {{0, 5}, {0, 0}, {2, 6}, {2, 7}, {1, 8}, {9, 9}};
    for (size_t i = 0; i < sizeof(trailers) / sizeof(trailers[0]); i++) {
        add_side(&walk, PERF_RECORD_COMM, trailers[i].cpu);
        memcpy(walk.data + walk.bytes - 16, &trailers[i].time_ns, sizeof(uint64_t));
    }
    cr_assert_eq(walk_all(&walk), (int64_t)walk.bytes);
    cr_expect_eq(walk.samples[SIDEBAND], 2);
    cr_expect_eq(walk.samples[EVENT_COUNT + SIDEBAND], 1);
    cr_expect_eq(walk.counts.other_records, 6);
    walk_fini(&walk);
}

/*
 * Trimming and dropping by themselves. A trimmed sample must be, byte for byte, the one that the kernel would have
 * written with a smaller dump: full_sample.c writes both.
 */
#include "engine/drain/shed.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/perf_file.h"
#include "format/records.h"
#include "tests/base/failing_alloc.h"
#include "tests/base/random.h"
#include "tests/engine/full_sample.h"
#include "tests/engine/raw_kernel.h"

#define ID_STACKS   31u /* event 0 */
#define ID_PLAIN    32u /* event 1: no dumps */
#define ID_NOBODYS  33u
#define EVENTS      2u
#define ROUNDS      3000u
#define RECORDS_MAX 6u
#define SIDE_BYTES  40u

struct fixture {
    struct weir_event list_events[EVENTS];
    struct weir_event_list list;
    struct weir_shed_plan plan;
    struct weir_id_map ids;
    struct weir_walk_layout layout;
};

static void fixture_init(struct fixture *f, const struct perf_event_attr *attr)
{
    memset(f, 0, sizeof(*f));
    f->list_events[0].attr = f->list_events[1].attr = *attr;
    f->list_events[1].attr.sample_type &= ~(uint64_t)PERF_SAMPLE_STACK_USER;
    f->list = (struct weir_event_list){.events = f->list_events, .count = EVENTS};
    cr_assert_eq(weir_shed_plan_init(&f->plan, WEIR_SHED_CPUS, &f->list), 0);
    cr_assert_eq(weir_id_map_init(&f->ids, EVENTS), 0);
    weir_id_map_add(&f->ids, ID_STACKS, 0, 0);
    weir_id_map_add(&f->ids, ID_PLAIN, 1, 0);
    f->layout = (struct weir_walk_layout){.ids = &f->ids, .id_offset = 8, .time_offset = -1};
}

static void fixture_fini(struct fixture *f)
{
    weir_shed_plan_fini(&f->plan);
    weir_id_map_fini(&f->ids);
}

static uint64_t quarter_of(const struct perf_event_attr *attr)
{
    return weir_align_up(weir_max_u64(attr->sample_stack_user / 4, 1024), 8);
}

static size_t put_side(uint8_t *to, uint32_t type)
{
    struct perf_event_header header = {.type = type, .size = SIDE_BYTES};
    memset(to, 0x5a, SIDE_BYTES);
    memcpy(to, &header, sizeof(header));
    return SIDE_BYTES;
}

/* ---- the plan ---- */

Test(shed, plan_without_memory_is_reported)
{
    struct weir_shed_plan plan;
    struct weir_event event = {.attr = {.size = sizeof(event.attr)}};
    struct weir_event_list list = {.events = &event, .count = 1};
    failing_alloc_after(0);
    cr_assert_eq(weir_shed_plan_init(&plan, WEIR_SHED_CPUS, &list), -ENOMEM);
    weir_shed_plan_fini(&plan);
}

Test(shed, each_step_has_its_word)
{
    static const char *const words[] = {"batches", "stacks", "cpus"};
    for (unsigned i = 0; i < WEIR_SHED_COUNT; i++)
        cr_expect_str_eq(weir_shed_word((enum weir_shed)i), words[i]);
}

/* ---- trimming ---- */

/* Whatever no dump can be found in stays as it is. */
Test(shed, sample_whose_dump_is_not_inside_it_stays)
{
    static const uint64_t rooms[] = {UINT64_MAX, UINT64_MAX - 7, 1ull << 63, 4096, 2049};
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STACK_USER,
                                   .sample_stack_user = 2048};
    struct fixture f;
    fixture_init(&f, &attr);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rooms); i++) {
        static uint8_t record[FULL_SAMPLE_BYTES_MAX], before[FULL_SAMPLE_BYTES_MAX];
        size_t bytes = full_sample_put(record, &attr, ID_STACKS, 1, 2048, 2048);
        memcpy(record + 16, &rooms[i], sizeof(rooms[i]));
        memcpy(before, record, bytes);
        struct weir_shed_trimmed trimmed = {0};
        cr_assert_eq(weir_shed_trim(&f.plan, &f.layout, record, bytes, &trimmed), bytes);
        cr_assert_arr_eq(record, before, bytes);
        cr_assert(trimmed.samples == 0 && trimmed.bytes == 0);
    }
    fixture_fini(&f);
}

Test(shed, sample_too_short_for_its_id_stays)
{
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STACK_USER,
                                   .sample_stack_user = 2048};
    struct fixture f;
    fixture_init(&f, &attr);
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(header)};
    struct weir_shed_trimmed trimmed = {0};
    cr_assert_eq(weir_shed_trim(&f.plan, &f.layout, (uint8_t *)&header, sizeof(header), &trimmed), sizeof(header));
    fixture_fini(&f);
}

Test(shed, dump_is_cut_to_a_quarter_and_the_rest_moves_up)
{
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CGROUP,
                                   .sample_stack_user = 8192};
    static uint8_t record[FULL_SAMPLE_BYTES_MAX], expected[FULL_SAMPLE_BYTES_MAX];
    struct fixture f;
    fixture_init(&f, &attr);
    struct weir_shed_trimmed trimmed = {0};
    size_t bytes = full_sample_put(record, &attr, ID_STACKS, 7, 8192, 8192);
    size_t left = full_sample_put(expected, &attr, ID_STACKS, 7, 2048, 2048);
    cr_assert_eq(weir_shed_trim(&f.plan, &f.layout, record, bytes, &trimmed), left);
    cr_assert_arr_eq(record, expected, left);
    cr_assert_eq(trimmed.samples, 1);
    cr_assert_eq(trimmed.bytes, 6144);
    /* And again: there is nothing left to cut. */
    cr_assert_eq(weir_shed_trim(&f.plan, &f.layout, record, left, &trimmed), left);
    cr_assert_arr_eq(record, expected, left);
    cr_assert_eq(trimmed.bytes, 6144);
    fixture_fini(&f);
}

Test(shed, what_is_not_used_of_a_dump_goes_first_and_no_stack_is_cut_by_it)
{
    static const struct {
        uint64_t used, left;
    } cases[] = {{0, 0}, {1, 8}, {8, 8}, {1001, 1008}, {2047, 2048}};
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STACK_USER,
                                   .sample_stack_user = 8192};
    static uint8_t record[FULL_SAMPLE_BYTES_MAX], expected[FULL_SAMPLE_BYTES_MAX];
    struct fixture f;
    fixture_init(&f, &attr);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_shed_trimmed trimmed = {0};
        size_t bytes = full_sample_put(record, &attr, ID_STACKS, i, 8192, cases[i].used);
        size_t left = full_sample_put(expected, &attr, ID_STACKS, i, cases[i].left, cases[i].used);
        cr_assert_eq(weir_shed_trim(&f.plan, &f.layout, record, bytes, &trimmed), left);
        cr_assert_arr_eq(record, expected, left);
        cr_assert_eq(trimmed.samples, 0);
        cr_assert_eq(trimmed.bytes, bytes - left);
    }
    fixture_fini(&f);
}

/* Samples of any layout between other records, of this event and others: all is where it belongs. */
Test(shed, samples_of_any_layout_become_what_the_kernel_writes_with_a_smaller_dump)
{
    static uint8_t data[RECORDS_MAX * FULL_SAMPLE_BYTES_MAX], expected[RECORDS_MAX * FULL_SAMPLE_BYTES_MAX];
    static const uint64_t ids[] = {ID_STACKS, ID_STACKS, ID_STACKS, ID_PLAIN, ID_NOBODYS};
    uint64_t state = 42, cut = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct perf_event_attr attr;
        struct fixture f;
        full_sample_choose(&attr, &state);
        fixture_init(&f, &attr);
        size_t bytes = 0, left = 0, samples = 0;
        for (uint64_t n = 1 + test_random(&state) % RECORDS_MAX; n > 0; n--) {
            if (test_random(&state) % 4 == 0) {
                bytes += put_side(data + bytes, PERF_RECORD_LOST);
                left += put_side(expected + left, PERF_RECORD_LOST);
                continue;
            }
            uint64_t id = ids[test_random(&state) % WEIR_ARRAY_COUNT(ids)], seed = test_random(&state);
            const struct perf_event_attr *layout = id == ID_PLAIN ? &f.list_events[1].attr : &attr;
            uint64_t room = test_random(&state) % 4 ? attr.sample_stack_user : 0;
            uint64_t used = room ? test_random(&state) % (room + 1) : 0;
            uint64_t kept = weir_min_u64(used, quarter_of(&attr)), kept_room = weir_align_up(kept, 8);
            bool trims = id == ID_STACKS && kept_room < room;
            bytes += full_sample_put(data + bytes, layout, id, seed, room, used);
            left += full_sample_put(expected + left, layout, id, seed, trims ? kept_room : room, trims ? kept : used);
            samples += trims && kept < used && (attr.sample_type & PERF_SAMPLE_STACK_USER);
        }
        struct weir_shed_trimmed trimmed = {0};
        cr_assert_eq(weir_shed_trim(&f.plan, &f.layout, data, bytes, &trimmed), left, "round %u", round);
        cr_assert_eq(memcmp(data, expected, left), 0, "round %u", round);
        cr_assert_eq(trimmed.samples, samples, "round %u", round);
        cr_assert_eq(trimmed.bytes, bytes - left, "round %u", round);
        cut += samples;
        fixture_fini(&f);
    }
    cr_assert_gt(cut, ROUNDS / 2, "the test cuts hardly any");
}

/* ---- dropping ---- */

#define RING_BYTES 4096u

/* IDENTIFIER, TID, TIME, CPU; 48 bytes with a trailer as long. */
static const struct perf_event_attr small = {
    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
    .sample_id_all = 1,
};
#define SMALL_BYTES 40u

static void put_small(struct raw_kernel *raw, uint64_t id, uint64_t time_ns)
{
    uint64_t words[] = {0, id, 7ull << 32 | 5, time_ns, 3};
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = SMALL_BYTES};
    memcpy(words, &header, sizeof(header));
    raw_ring_put(raw, 0, words, sizeof(words));
}

static void put_lost(struct raw_kernel *raw)
{
    uint8_t record[SIDE_BYTES];
    put_side(record, PERF_RECORD_LOST);
    raw_ring_put(raw, 0, record, sizeof(record));
}

struct ring_fixture {
    struct fixture f;
    struct raw_kernel raw;
    struct weir_ring ring;
    struct weir_shed_gap gaps[EVENTS];
};

static void ring_fixture_init(struct ring_fixture *r, uint64_t start)
{
    memset(r, 0, sizeof(*r));
    fixture_init(&r->f, &small);
    raw_kernel_init(&r->raw);
    r->raw.rings[0].start = start;
    cr_assert_eq(weir_ring_map(&r->ring, &r->raw.kernel, 0, RING_BYTES), 0);
}

static uint64_t drop(struct ring_fixture *r, uint64_t kept)
{
    return weir_shed_drop(&r->f.plan, &r->f.layout, &r->ring, weir_ring_head(&r->ring), kept, r->gaps) - r->ring.tail;
}

static void ring_fixture_fini(struct ring_fixture *r)
{
    weir_ring_unmap(&r->ring);
    fixture_fini(&r->f);
}

Test(shed, samples_are_dropped_from_the_oldest_on_and_counted_by_event)
{
    struct ring_fixture r;
    for (uint64_t start = 0; start < 2 * SMALL_BYTES; start += 8) { /* with and without a wrap */
        ring_fixture_init(&r, RING_BYTES - start);
        for (unsigned i = 0; i < 10; i++)
            put_small(&r.raw, i % 3 ? ID_STACKS : ID_PLAIN, 100 + i);
        cr_assert_eq(drop(&r, 3 * SMALL_BYTES), 7 * SMALL_BYTES);
        cr_assert_eq(r.gaps[0].samples, 4); /* 1, 2, 4, 5 */
        cr_assert_eq(r.gaps[0].untold, 4);
        cr_assert_eq(r.gaps[0].last.time, 105);
        cr_assert_eq(r.gaps[1].samples, 3); /* 0, 3, 6 */
        cr_assert_eq(r.gaps[1].last.time, 106);
        cr_assert_eq(r.gaps[1].last.id, ID_PLAIN);
        cr_assert_eq(r.gaps[1].last.cpu, 3);
        cr_assert_eq(r.gaps[1].last.pid, 5);
        cr_assert_eq(r.gaps[1].last.tid, 7);
        ring_fixture_fini(&r);
    }
}

Test(shed, dropping_stops_where_something_else_stands)
{
    struct ring_fixture r;
    ring_fixture_init(&r, 0);
    put_small(&r.raw, ID_STACKS, 1);
    put_lost(&r.raw);
    put_small(&r.raw, ID_STACKS, 2);
    cr_assert_eq(drop(&r, 0), SMALL_BYTES);
    cr_assert_eq(r.gaps[0].samples, 1);
    ring_fixture_fini(&r);

    ring_fixture_init(&r, 0);
    put_small(&r.raw, ID_NOBODYS, 1);
    cr_assert_eq(drop(&r, 0), 0);
    ring_fixture_fini(&r);
}

Test(shed, nothing_is_dropped_of_a_ring_that_is_empty_enough)
{
    struct ring_fixture r;
    ring_fixture_init(&r, 0);
    put_small(&r.raw, ID_STACKS, 1);
    put_small(&r.raw, ID_STACKS, 2);
    cr_assert_eq(drop(&r, 2 * SMALL_BYTES), 0);
    cr_assert_eq(r.gaps[0].samples, 0);
    ring_fixture_fini(&r);
}

/* ---- telling ---- */

Test(shed, gap_is_told_once_as_the_kernel_would_have_told_it)
{
    struct ring_fixture r;
    ring_fixture_init(&r, 0);
    for (unsigned i = 0; i < 5; i++)
        put_small(&r.raw, ID_STACKS, 100 + i);
    drop(&r, 0);
    uint8_t told[WEIR_SHED_TOLD_BYTES_MAX];
    const uint64_t expected[] = {0, 5, 7ull << 32 | 5, 104, 3, ID_STACKS};
    uint32_t bytes = weir_shed_tell(&r.f.plan, 0, &r.gaps[0], told);
    cr_assert_eq(bytes, sizeof(expected));
    struct perf_event_header header;
    memcpy(&header, told, sizeof(header));
    cr_assert_eq(header.type, PERF_RECORD_LOST_SAMPLES);
    cr_assert_eq(header.misc, WEIR_RECORD_MISC_SHED);
    cr_assert_eq(header.size, bytes);
    cr_assert_arr_eq(told + sizeof(header), expected + 1, bytes - sizeof(header));
    cr_assert_eq(weir_shed_tell(&r.f.plan, 0, &r.gaps[0], told), 0);
    cr_assert_eq(r.gaps[0].samples, 5);
    ring_fixture_fini(&r);
}

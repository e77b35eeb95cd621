/*
 * A reader whose output is behind: what it sheds, when it begins and ends to, and what it tells of it. The test holds
 * the chunks back, as a stalled disk does. Pool: 16 chunks of 128 KiB, one of them the reserve of the one reader, so
 * that pressure is FULL from 14 in use on, and the reader's share is 7.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "engine/drain/reader.h"
#include "format/perf_file.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/full_sample.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define CHUNKS       16u
#define READERS_MOST 2u
#define RING_BYTES   (256u * 1024)
#define SAMPLE_BYTES 4096u /* 32 fill a chunk */
#define A_CHUNK      32u
#define TOLD_BYTES   32u /* header, lost, TIME, IDENTIFIER */

struct fixture {
    struct weir_event list_events[RIG_EVENT_COUNT];
    struct weir_event_list list;
    struct weir_shed_plan plan;
    struct reader_rig rig;
    struct weir_chunk *held[2 * CHUNKS];
    unsigned held_count;
    uint64_t next; /* sequence number */
};

static void fixture_init(struct fixture *f, enum weir_shed most, const struct rig_options *asked)
{
    struct rig_options options = *asked;
    memset(f, 0, sizeof(*f));
    /* IDENTIFIER and TIME stand where test_record.h has them; the rest of those samples is behind the fixed fields. */
    for (unsigned i = 0; i < RIG_EVENT_COUNT; i++)
        f->list_events[i].attr =
            (struct perf_event_attr){.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME, .sample_id_all = 1};
    f->list = (struct weir_event_list){.events = f->list_events, .count = RIG_EVENT_COUNT};
    cr_assert_eq(weir_shed_plan_init(&f->plan, most, &f->list), 0);
    options.ring_bytes = RING_BYTES;
    options.chunks = CHUNKS;
    options.shed = &f->plan;
    rig_init(&f->rig, &options);
    cr_assert_eq(f->rig.pool.reserve, f->rig.reader_count);
}

static void hold_all(struct fixture *f)
{
    struct weir_chunk *chunk;
    while ((chunk = rig_pop(&f->rig)))
        f->held[f->held_count++] = chunk;
}

static void give_back(struct fixture *f)
{
    while (f->held_count > 0)
        rig_return(&f->rig, f->held[--f->held_count]);
}

static void fixture_fini(struct fixture *f)
{
    give_back(f);
    rig_fini(&f->rig);
    weir_shed_plan_fini(&f->plan);
}

static void put(struct fixture *f, unsigned ring, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        rig_put_sample(&f->rig, ring, ++f->next, SAMPLE_BYTES);
}

static enum weir_reader_state step(struct fixture *f, unsigned reader)
{
    enum weir_reader_state state = weir_reader_step(&f->rig.readers[reader]);
    hold_all(f);
    return state;
}

/* Until the pool is as full as that; hardly anything is then left in the ring. */
static void press(struct fixture *f, unsigned reader, unsigned ring, enum weir_pressure pressure)
{
    for (unsigned n = 0; f->rig.readers[reader].sink.pressure < pressure; n++) {
        cr_assert_lt(n, CHUNKS * A_CHUNK / 8);
        put(f, ring, 8);
        step(f, reader);
    }
}

static uint64_t left_in(const struct fixture *f, unsigned ring)
{
    return raw_ring_head(&f->rig.raw, ring) - raw_ring_tail(&f->rig.raw, ring);
}

/* Until the ring holds that many. */
static void fill(struct fixture *f, unsigned ring, unsigned samples)
{
    put(f, ring, samples - (unsigned)(left_in(f, ring) / SAMPLE_BYTES));
}

static struct weir_reader_ring *ring_of(struct fixture *f, unsigned reader, unsigned ring)
{
    return &f->rig.readers[reader].rings.at[ring];
}

/* ---- setting up ---- */

Test(reader_shed, out_of_memory_leaves_nothing_behind)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){0});
    struct weir_reader_setup setup = {.event_count = 2,
                                      .ring_count = 2,
                                      .ended_fd = -1,
                                      .sink.pool = &f.rig.pool,
                                      .shed = &f.plan,
                                      .reader_count = 1};
    struct weir_reader reader;
    unsigned failures = 0;
    for (;; failures++) {
        failing_alloc_after(failures);
        int result = weir_reader_init(&reader, &setup);
        weir_reader_fini(&reader);
        if (result == 0)
            break;
        cr_assert_eq(result, -ENOMEM);
    }
    failing_alloc_never();
    cr_assert_eq(failures, 6); /* rings, polls, two counters, two gaps */
    fixture_fini(&f);
}

/* ---- dropping ---- */

Test(reader_shed, ring_is_left_alone_and_then_halved)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){0});
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 0);

    fill(&f, 0, A_CHUNK); /* half of the ring */
    cr_assert_eq(step(&f, 0), WEIR_READER_STARVED);
    cr_assert_eq(left_in(&f, 0), RING_BYTES / 2);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 0);

    put(&f, 0, 20);
    cr_assert_eq(step(&f, 0), WEIR_READER_STARVED);
    cr_assert_eq(left_in(&f, 0), RING_BYTES / 2);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 20);
    cr_assert_eq(ring_of(&f, 0, 0)->gaps[0].samples, 20);
    fixture_fini(&f);
}

/* The first record behind the gap is what tells of it; nothing is missing that is not told. */
Test(reader_shed, gap_is_told_before_what_follows_it)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){0});
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    fill(&f, 0, A_CHUNK + 20);
    step(&f, 0);
    uint64_t dropped = f.rig.readers[0].shedder.shed_samples;
    cr_assert_eq(dropped, 20);
    uint64_t first_left = f.next - A_CHUNK + 1;
    give_back(&f);
    cr_assert_eq(f.rig.readers[0].sink.holding, true);

    rig_open_epoch(&f.rig);
    cr_assert_eq(step(&f, 0), WEIR_READER_DRAINED);
    cr_assert_eq(left_in(&f, 0), 0);
    uint64_t told = 0, seen = 0, expected = 0;
    for (unsigned i = 0; i < f.held_count; i++) {
        const struct weir_chunk *chunk = f.held[i];
        for (uint32_t at = 0; at < chunk->used; at += test_record_bytes(chunk->data + at)) {
            const uint8_t *record = chunk->data + at;
            if (test_record_type(record) == PERF_RECORD_LOST_SAMPLES) {
                uint64_t words[4];
                cr_assert_eq(test_record_bytes(record), TOLD_BYTES);
                memcpy(words, record, sizeof(words));
                told += words[1];
                cr_assert_eq(words[2], first_left - 1, "the time of the last one dropped");
                cr_assert_eq(words[3], RIG_ID);
                expected = first_left;
                continue;
            }
            cr_assert(test_sample_is_whole(record));
            uint64_t sequence = test_sample_sequence(record);
            cr_assert(sequence == expected || (sequence < first_left - dropped && told == 0), "sample %u, told %u",
                      (unsigned)sequence, (unsigned)told);
            expected = sequence + 1;
            seen++;
        }
    }
    cr_assert_eq(told, dropped);
    cr_assert_eq(expected, f.next + 1);
    cr_assert_geq(seen, A_CHUNK);
    cr_assert_eq(f.rig.readers[0].sink.untold_rings, 0);
    cr_assert_eq(f.rig.readers[0].sink.holding, false);
    fixture_fini(&f);
}

Test(reader_shed, reader_is_not_past_an_epoch_before_it_has_told)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){0});
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    fill(&f, 0, A_CHUNK + 20);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 20);
    rig_open_epoch(&f.rig);
    cr_assert_eq(step(&f, 0), WEIR_READER_STARVED);
    cr_assert_eq(weir_reader_is_past(&f.rig.readers[0], f.rig.control.epoch), false);
    cr_assert_eq(f.rig.readers[0].sink.holding, true);
    give_back(&f);
    step(&f, 0);
    cr_assert_eq(weir_reader_is_past(&f.rig.readers[0], f.rig.control.epoch), true);
    cr_assert_eq(f.rig.readers[0].sink.untold_rings, 0);
    fixture_fini(&f);
}

Test(reader_shed, reader_within_its_share_goes_on)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){.readers = READERS_MOST});
    press(&f, 0, 0, WEIR_PRESSURE_FULL); /* the first reader has it all */
    put(&f, 1, 3);
    cr_assert_eq(step(&f, 1), WEIR_READER_DRAINED);
    cr_assert_eq(left_in(&f, 1), 0);
    cr_assert_eq(f.rig.readers[1].shedder.shed_samples, 0);
    fill(&f, 0, A_CHUNK + 1);
    cr_assert_eq(step(&f, 0), WEIR_READER_STARVED);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 1);
    fixture_fini(&f);
}

Test(reader_shed, side_records_are_never_shed)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){.rings_per_reader = 2});
    ring_of(&f, 0, 1)->sideband = true;
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    /* In a ring of their own, and, within what is too much, between samples. */
    uint8_t side[TEST_SIDE_BYTES], lost[TEST_LOST_BYTES];
    test_side_put(side, PERF_RECORD_COMM, RIG_SIDE_ID);
    test_lost_put(lost, RIG_ID, 9);
    for (unsigned i = 0; i < 100; i++)
        raw_ring_put(&f.rig.raw, 1, side, sizeof(side));
    fill(&f, 0, 20);
    raw_ring_put(&f.rig.raw, 0, lost, sizeof(lost));
    put(&f, 0, 40);
    cr_assert_eq(step(&f, 0), WEIR_READER_STARVED);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 28); /* 20, LOST, 8; 32 are half of the ring */
    cr_assert_eq(left_in(&f, 1), 0);
    cr_assert_eq(ring_of(&f, 0, 1)->counts.other_records, 100);
    cr_assert_eq(ring_of(&f, 0, 0)->counts.lost_reported, 9);
    fixture_fini(&f);
}

Test(reader_shed, what_is_no_record_is_discarded_as_ever)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){0});
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    fill(&f, 0, 30);
    static uint8_t zeros[RING_BYTES / 2 + 4096];
    raw_ring_put(&f.rig.raw, 0, zeros, sizeof(zeros));
    step(&f, 0);
    cr_assert_eq(left_in(&f, 0), 0);
    cr_assert_eq(ring_of(&f, 0, 0)->discarded_bytes, sizeof(zeros));
    fixture_fini(&f);
}

Test(reader_shed, nothing_is_dropped_at_the_end)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_CPUS, &(struct rig_options){0});
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    fill(&f, 0, 50);
    f.rig.control.stop_epoch = 1;
    rig_open_epoch(&f.rig);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 0);
    give_back(&f);
    cr_assert_eq(step(&f, 0), WEIR_READER_STOPPED);
    cr_assert_eq(ring_of(&f, 0, 0)->counts.samples[0], f.next);
    fixture_fini(&f);
}

Test(reader_shed, nothing_is_dropped_unless_it_may_be)
{
    for (unsigned most = WEIR_SHED_BATCHES; most < WEIR_SHED_CPUS; most++) {
        struct fixture f;
        fixture_init(&f, (enum weir_shed)most, &(struct rig_options){0});
        press(&f, 0, 0, WEIR_PRESSURE_FULL);
        fill(&f, 0, 50);
        step(&f, 0);
        cr_assert_eq(f.rig.readers[0].shedder.shed_samples, 0);
        cr_assert_null(ring_of(&f, 0, 0)->gaps);
        fixture_fini(&f);
    }
}

/* ---- going up and down ---- */

Test(reader_shed, pressure_rises_with_the_chunks_in_use_and_falls_with_them)
{
    struct fixture f;
    fixture_init(&f, WEIR_SHED_BATCHES, &(struct rig_options){0});
    const struct weir_reader *reader = &f.rig.readers[0];
    press(&f, 0, 0, WEIR_PRESSURE_FULL);
    for (unsigned level = WEIR_PRESSURE_SOME; level <= WEIR_PRESSURE_FULL; level++)
        cr_assert_eq(reader->sink.pressure_rises[level], 1);
    give_back(&f);
    cr_assert_eq(reader->sink.pressure, WEIR_PRESSURE_FULL, "nobody has looked");
    step(&f, 0);
    cr_assert_eq(reader->sink.pressure, WEIR_PRESSURE_NONE);
    press(&f, 0, 0, WEIR_PRESSURE_SOME);
    cr_assert_eq(reader->sink.pressure_rises[WEIR_PRESSURE_SOME], 2);
    cr_assert_eq(reader->sink.pressure_rises[WEIR_PRESSURE_HIGH], 1);
    fixture_fini(&f);
}

/* ---- trimming ---- */

#define DUMP_BYTES 8192u

/* Puts samples with a dump until the pressure is there; returns the bytes of one. */
static size_t put_dumps(struct fixture *f, unsigned count)
{
    static uint8_t record[FULL_SAMPLE_BYTES_MAX];
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        bytes = full_sample_put(record, &f->list_events[0].attr, RIG_ID, ++f->next, DUMP_BYTES, DUMP_BYTES);
        raw_ring_put(&f->rig.raw, 0, record, bytes);
    }
    return bytes;
}

static void trimming_init(struct fixture *f, enum weir_shed most, const struct rig_options *options)
{
    fixture_init(f, most, options);
    weir_shed_plan_fini(&f->plan);
    for (unsigned i = 0; i < RIG_EVENT_COUNT; i++) {
        f->list_events[i].attr.sample_type |= PERF_SAMPLE_STACK_USER;
        f->list_events[i].attr.sample_stack_user = DUMP_BYTES;
    }
    cr_assert_eq(weir_shed_plan_init(&f->plan, most, &f->list), 0);
}

Test(reader_shed, stacks_are_cut_from_three_quarters_on)
{
    struct fixture f;
    trimming_init(&f, WEIR_SHED_STACKS, &(struct rig_options){0});
    struct weir_reader *reader = &f.rig.readers[0];
    while (reader->sink.pressure < WEIR_PRESSURE_HIGH) {
        cr_assert_eq(reader->shedder.trimmed_samples, 0);
        put_dumps(&f, 15); /* not quite a chunk */
        step(&f, 0);
    }
    uint64_t before = reader->shedder.trimmed_samples, whole_before = reader->shedder.trimmed_bytes;
    cr_assert_eq(whole_before, before * (DUMP_BYTES - DUMP_BYTES / 4));
    put_dumps(&f, 10);
    step(&f, 0);
    cr_assert_eq(reader->shedder.trimmed_samples, before + 10);
    cr_assert_eq(reader->shedder.trimmed_bytes, whole_before + 10 * (DUMP_BYTES - DUMP_BYTES / 4));
    cr_assert_eq(ring_of(&f, 0, 0)->counts.samples[0], f.next, "all are there");

    give_back(&f);
    step(&f, 0);
    put_dumps(&f, 10);
    step(&f, 0);
    cr_assert_eq(reader->shedder.trimmed_samples, before + 10, "no pressure, no cuts");
    fixture_fini(&f);
}

Test(reader_shed, stacks_that_may_not_be_cut_are_not)
{
    struct fixture f;
    trimming_init(&f, WEIR_SHED_BATCHES, &(struct rig_options){0});
    for (unsigned n = 0; n < CHUNKS - 1; n++) {
        put_dumps(&f, 15);
        step(&f, 0);
    }
    cr_assert_geq(f.rig.readers[0].sink.pressure, WEIR_PRESSURE_HIGH);
    cr_assert_eq(f.rig.readers[0].shedder.trimmed_bytes, 0);
    fixture_fini(&f);
}

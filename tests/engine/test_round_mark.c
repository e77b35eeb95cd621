/*
 * Marks on a fake clock, over hand-filled rings: where readers leave them, and which of them become rounds. That the
 * rounds are barriers is what test_pipeline_sim.c and race_round_mark.c look at.
 */
#include "engine/drain/round_mark.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/drain/rounds.h"
#include "format/perf_file.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define START_NS     (50 * WEIR_NS_PER_S)
#define SAMPLE_BYTES 1024u
#define MARK_BYTES   4000u /* four samples are more */

struct fixture {
    struct reader_rig rig;
    struct fake_clock fake_clock;
    struct weir_clock clock;
    struct weir_round_marks marks;
};

static void fixture_init(struct fixture *f, unsigned readers, unsigned rings_per_reader)
{
    f->fake_clock.now_ns = START_NS;
    f->clock = fake_clock_interface(&f->fake_clock);
    rig_init(&f->rig,
             &(struct rig_options){.readers = readers, .rings_per_reader = rings_per_reader, .ring_bytes = 256 * 1024});
    for (unsigned i = 0; i < readers; i++) {
        f->rig.readers[i].setup.sink.clock = &f->clock;
        f->rig.readers[i].marks.bytes = MARK_BYTES;
    }
    const struct weir_round_marks_setup setup = {f->rig.reader_list, readers, &f->rig.control};
    weir_round_marks_init(&f->marks, &f->rig.queue, &setup);
}

static void fixture_fini(struct fixture *f)
{
    rig_fini(&f->rig);
}

static void pass(struct fixture *f, uint64_t ns)
{
    f->fake_clock.now_ns += ns;
}

static void step(struct fixture *f, unsigned reader)
{
    weir_reader_step(&f->rig.readers[reader]);
}

/* Samples of that ring, from now on by that much apart. The ring's reader has not been there yet. */
static void put(struct fixture *f, unsigned ring, unsigned samples, uint64_t apart_ns)
{
    for (unsigned i = 0; i < samples; i++, pass(f, apart_ns))
        rig_put_sample(&f->rig, ring, f->fake_clock.now_ns, SAMPLE_BYTES);
}

/* Four samples, which are drained and get a mark, and again. */
static void produce_marks(struct fixture *f, unsigned reader, unsigned count, uint64_t apart_ns)
{
    for (unsigned i = 0; i < count; i++) {
        put(f, reader, 4, 0);
        step(f, reader);
        pass(f, apart_ns);
    }
}

static void hand_over(struct fixture *f, unsigned reader)
{
    rig_open_epoch(&f->rig);
    step(f, reader);
    cr_assert_null(f->rig.readers[reader].sink.chunk);
}

static unsigned count_type(const struct weir_chunk *chunk, uint32_t type)
{
    unsigned count = 0;
    for (uint32_t at = 0; at < chunk->used; at += test_record_bytes(chunk->data + at))
        count += test_record_type(chunk->data + at) == type;
    return count;
}

/* Settles the next chunk: asserts that it has so many marks, of which so many become rounds. */
static void expect_rounds(struct fixture *f, unsigned marks, unsigned rounds)
{
    struct weir_chunk *chunk = rig_pop(&f->rig);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->mark_count, marks, "%u marks", chunk->mark_count);
    cr_assert_eq(count_type(chunk, WEIR_RECORD_EVENT_TYPE), marks);
    uint32_t behind = weir_round_marks_decide(&f->marks, chunk);
    cr_assert_eq(count_type(chunk, WEIR_RECORD_FINISHED_ROUND), rounds, "%u rounds",
                 count_type(chunk, WEIR_RECORD_FINISHED_ROUND));
    cr_assert_eq(count_type(chunk, WEIR_RECORD_EVENT_TYPE), marks, "behind rounds, too");
    cr_assert_eq(chunk->marker_count, rounds);
    cr_assert_eq(behind > 0, rounds > 0);
    cr_assert(behind == 0 || test_record_type(chunk->data + behind - 24) == WEIR_RECORD_FINISHED_ROUND);
    cr_assert(behind == 0 || test_record_bytes(chunk->data + behind - 24) == 8);
    rig_return(&f->rig, chunk);
}

/* ---- readers ---- */

Test(round_mark, mark_stands_behind_what_was_drained_and_says_when)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    put(&f, 0, 4, 0);
    step(&f, 0);
    const struct weir_chunk *chunk = f.rig.readers[0].sink.chunk;
    cr_assert_eq(chunk->mark_count, 1);
    cr_assert_eq(chunk->marks[0].at, 4 * SAMPLE_BYTES);
    cr_assert_eq(chunk->marks[0].began_ns, START_NS);
    cr_assert_eq(chunk->marks[0].ended_ns, START_NS);
    cr_assert_eq(chunk->marks[0].alone_ns, 0, "nothing is known of before");
    cr_assert_eq(chunk->used, 4 * SAMPLE_BYTES + 24);
    cr_assert_eq(test_record_type(chunk->data + 4 * SAMPLE_BYTES), WEIR_RECORD_EVENT_TYPE);
    cr_assert_eq(test_record_bytes(chunk->data + 4 * SAMPLE_BYTES), 24);
    fixture_fini(&f);
}

Test(round_mark, marks_are_so_many_bytes_apart)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    put(&f, 0, 3, 0);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 0);
    put(&f, 0, 1, 0);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 1);
    step(&f, 0);
    put(&f, 0, 3, 0);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 1);
    hand_over(&f, 0);
    put(&f, 0, 1, 0); /* those in the chunk before count, too */
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 1);
    fixture_fini(&f);
}

Test(round_mark, reader_that_is_to_make_none_makes_none)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    f.rig.readers[0].marks.bytes = 0;
    put(&f, 0, 40, WEIR_NS_PER_MS);
    step(&f, 0);
    put(&f, 0, 40, WEIR_NS_PER_MS);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->used, 80 * SAMPLE_BYTES);
    fixture_fini(&f);
}

Test(round_mark, chunk_has_room_for_so_many_marks)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    produce_marks(&f, 0, WEIR_CHUNK_MARKS + 3, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, WEIR_CHUNK_MARKS);
    cr_assert_eq(f.rig.readers[0].sink.chunk->used, 4 * SAMPLE_BYTES * (WEIR_CHUNK_MARKS + 3) + 24 * WEIR_CHUNK_MARKS);
    fixture_fini(&f);
}

Test(round_mark, chunk_that_is_full_gets_none)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    put(&f, 0, RIG_CHUNK_BYTES / SAMPLE_BYTES - 1, 0);
    rig_put_sample(&f.rig, 0, f.fake_clock.now_ns, SAMPLE_BYTES - WEIR_RECORD_PADDING_LEAST);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->used, RIG_CHUNK_BYTES - WEIR_RECORD_PADDING_LEAST);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 0);
    fixture_fini(&f);
}

Test(round_mark, none_is_made_before_the_file_tells_of_what_was_dropped)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    f.rig.readers[0].sink.untold_rings = 1;
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 0);
    f.rig.readers[0].sink.untold_rings = 0;
    produce_marks(&f, 0, 1, WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 1);
    fixture_fini(&f);
}

/* ---- rounds of a reader that is the only one with something to do ---- */

Test(round_mark, marks_of_a_lone_reader_become_rounds)
{
    struct fixture f;
    fixture_init(&f, 3, 1);
    produce_marks(&f, 1, 5, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 1);
    expect_rounds(&f, 5, 5);
    cr_assert_eq(f.marks.made, 5);
    fixture_fini(&f);
}

Test(round_mark, rounds_are_a_grace_apart)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    produce_marks(&f, 0, 5, WEIR_ROUND_GRACE_NS / 2);
    hand_over(&f, 0);
    expect_rounds(&f, 5, 3);
    pass(&f, WEIR_ROUND_GRACE_NS / 2);
    produce_marks(&f, 0, 1, 0); /* the last round was longer ago than the last mark */
    hand_over(&f, 0);
    expect_rounds(&f, 1, 1);
    fixture_fini(&f);
}

Test(round_mark, mark_that_was_begun_before_another_handed_over_is_none)
{
    struct fixture f;
    fixture_init(&f, 2, 1);
    produce_marks(&f, 0, 4, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    struct weir_chunk of_other = {.reader = 2, .handed_ns = START_NS + WEIR_ROUND_GRACE_NS + 1};
    weir_round_marks_decide(&f.marks, &of_other);
    expect_rounds(&f, 4, 2); /* the first, and the last: a grace behind what stands before that */
    fixture_fini(&f);
}

Test(round_mark, nothing_is_a_round_while_another_reader_has_something)
{
    struct fixture f;
    fixture_init(&f, 3, 1);
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    put(&f, 2, 1, 0); /* in its ring */
    expect_rounds(&f, 2, 0);

    step(&f, 2); /* in the queue, before what comes next */
    rig_return(&f.rig, rig_pop(&f.rig));
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 2);

    step(&f, 2);
    put(&f, 2, 1, 0);
    step(&f, 2); /* in its chunk */
    cr_assert_not_null(f.rig.readers[2].sink.chunk);
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 0);
    fixture_fini(&f);
}

Test(round_mark, chunk_of_another_that_stands_behind_is_waited_for)
{
    struct fixture f;
    fixture_init(&f, 2, 1);
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    put(&f, 1, 1, 0);
    hand_over(&f, 1);
    cr_assert(weir_reader_is_idle(&f.rig.readers[1]));
    expect_rounds(&f, 2, 0);
    fixture_fini(&f);
}

Test(round_mark, what_was_found_clear_is_not_looked_at_again)
{
    struct fixture f;
    fixture_init(&f, 2, 1);
    for (unsigned i = 0; i < 3; i++) {
        produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
        if (i < 2)
            hand_over(&f, 0);
    }
    expect_rounds(&f, 2, 2);
    put(&f, 1, 1, 0); /* newer than all that stands in the queue */
    expect_rounds(&f, 2, 2);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 0);
    fixture_fini(&f);
}

Test(round_mark, nothing_is_a_round_while_a_ring_is_being_mapped)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    f.rig.control.mapping = true;
    produce_marks(&f, 0, 1, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 1, 0);
    f.rig.control.mapping = false;
    produce_marks(&f, 0, 1, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 1, 1);
    fixture_fini(&f);
}

Test(round_mark, writer_without_readers_leaves_padding)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    weir_round_marks_init(&f.marks, &f.rig.queue, NULL);
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 0);
    fixture_fini(&f);
}

/* ---- within a ring ---- */

Test(round_mark, mark_within_a_ring_is_also_that_behind_it_when_nothing_comes_between)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    for (unsigned i = 0; i < 4; i++) {
        put(&f, 0, 4, 0);
        step(&f, 0);
        pass(&f, WEIR_ROUND_GRACE_NS);
    }
    const struct weir_chunk *chunk = f.rig.readers[0].sink.chunk;
    cr_assert_eq(chunk->mark_count, 4);
    cr_assert_eq(chunk->used, 4 * (4 * SAMPLE_BYTES + 24));
    cr_assert_eq(chunk->marks[3].began_ns, START_NS + 3 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(chunk->marks[3].alone_ns, START_NS + 2 * WEIR_ROUND_GRACE_NS, "when the step before it began");
    cr_assert_eq(chunk->marks[3].sample_ns, START_NS + 3 * WEIR_ROUND_GRACE_NS);
    fixture_fini(&f);
}

/* Two steps, after which it is known that no other ring of reader 0 has anything. */
static void be_alone(struct fixture *f, unsigned ring)
{
    for (unsigned i = 0; i < 4; i++) {
        put(f, ring, 4, 0);
        step(f, 0);
        pass(f, WEIR_ROUND_GRACE_NS);
    }
    hand_over(f, 0);
    expect_rounds(f, 4, 4);
}

Test(round_mark, ring_that_is_alone_has_rounds_while_it_is_drained)
{
    struct fixture f;
    fixture_init(&f, 2, 2);
    be_alone(&f, 1);
    put(&f, 1, 32, WEIR_NS_PER_MS); /* of 32 ms, in blocks of 8 KiB: of 8 samples, 8 ms */
    step(&f, 0);
    hand_over(&f, 0);
    cr_assert_eq(f.marks.made_within, 0);
    expect_rounds(&f, 4, 4);
    cr_assert_eq(f.marks.made_within, 4);
    fixture_fini(&f);
}

Test(round_mark, rounds_within_a_ring_are_two_graces_apart)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    be_alone(&f, 0);
    put(&f, 0, 32, WEIR_ROUND_GRACE_NS / 8); /* a grace for each block */
    step(&f, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 4, 2);
    cr_assert_eq(f.marks.made_within, 2);
    fixture_fini(&f);
}

Test(round_mark, ring_is_not_alone_when_another_of_its_reader_has_had_something)
{
    struct fixture f;
    fixture_init(&f, 1, 2);
    be_alone(&f, 1);
    put(&f, 0, 1, 0); /* drained before it in the same step */
    put(&f, 1, 32, WEIR_NS_PER_MS);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 1, "all is drained");
    cr_assert_eq(f.rig.readers[0].sink.chunk->marks[0].alone_ns, 0);
    pass(&f, WEIR_ROUND_GRACE_NS);
    put(&f, 1, 32, WEIR_NS_PER_MS); /* not for a grace yet when the last step began */
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 2);
    fixture_fini(&f);
}

Test(round_mark, ring_is_not_alone_when_another_of_its_reader_has_something)
{
    struct fixture f;
    fixture_init(&f, 1, 2);
    be_alone(&f, 0);
    put(&f, 1, 1, 0); /* drained behind it */
    put(&f, 0, 32, WEIR_NS_PER_MS);
    step(&f, 0);
    cr_assert_eq(f.rig.readers[0].sink.chunk->mark_count, 1);
    cr_assert_eq(f.rig.readers[0].sink.chunk->marks[0].at, 33 * SAMPLE_BYTES);
    fixture_fini(&f);
}

Test(round_mark, no_round_is_between_a_lost_record_and_its_sample)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    be_alone(&f, 0);
    put(&f, 0, 7, WEIR_NS_PER_MS);
    uint8_t record[SAMPLE_BYTES];
    raw_ring_put(&f.rig.raw, 0, record,
                 test_sample_put(record, RIG_ID, f.fake_clock.now_ns, 1, SAMPLE_BYTES - TEST_LOST_BYTES));
    raw_ring_put(&f.rig.raw, 0, record, test_lost_put(record, RIG_ID, 3)); /* the last of the first block */
    put(&f, 0, 8, WEIR_NS_PER_MS);
    step(&f, 0);
    const struct weir_chunk *chunk = f.rig.readers[0].sink.chunk;
    cr_assert_eq(chunk->mark_count, 1);
    cr_assert_eq(chunk->marks[0].at, 16 * SAMPLE_BYTES);
    fixture_fini(&f);
}

Test(round_mark, no_mark_within_a_ring_follows_a_round_of_the_coordinator)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    be_alone(&f, 0);
    struct weir_chunk marker = {.handed_ns = f.fake_clock.now_ns};
    cr_assert(weir_round_marks_let_pass(&f.marks, &marker));
    put(&f, 0, 32, WEIR_NS_PER_MS);
    step(&f, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 4, 1); /* that of what was drained to the end */
    fixture_fini(&f);
}

Test(round_mark, no_mark_within_a_ring_follows_a_round_of_another)
{
    struct fixture f;
    fixture_init(&f, 2, 1);
    be_alone(&f, 0);
    f.marks.marker_reader = 2; /* handed over before, but pushed late */
    put(&f, 0, 32, WEIR_NS_PER_MS);
    step(&f, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 4, 1);
    fixture_fini(&f);
}

Test(round_mark, no_mark_within_a_ring_follows_what_another_has_handed_over_since_it_was_drained)
{
    struct fixture f;
    fixture_init(&f, 2, 1);
    be_alone(&f, 0); /* its last step begins now */
    struct weir_chunk of_other = {.reader = 2, .handed_ns = f.fake_clock.now_ns - WEIR_ROUND_GRACE_NS};
    weir_round_marks_decide(&f.marks, &of_other);
    put(&f, 0, 32, WEIR_NS_PER_MS);
    step(&f, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 4, 4);

    pass(&f, WEIR_ROUND_GRACE_NS);
    be_alone(&f, 0);
    of_other.handed_ns = f.fake_clock.now_ns - WEIR_ROUND_GRACE_NS + 1;
    weir_round_marks_decide(&f.marks, &of_other);
    put(&f, 0, 32, WEIR_NS_PER_MS);
    step(&f, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 4, 1);
    fixture_fini(&f);
}

/* ---- markers of the coordinator ---- */

Test(round_mark, marker_whose_epoch_was_opened_before_a_round_is_turned_down)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    produce_marks(&f, 0, 1, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 1, 1);
    struct weir_chunk marker = {.handed_ns = START_NS + WEIR_ROUND_GRACE_NS - 1};
    cr_assert_not(weir_round_marks_let_pass(&f.marks, &marker));
    cr_assert_eq(f.marks.turned_down, 1);
    marker.handed_ns++;
    cr_assert(weir_round_marks_let_pass(&f.marks, &marker));
    marker.handed_ns = 1; /* behind another of the coordinator's, who sees to the grace */
    cr_assert(weir_round_marks_let_pass(&f.marks, &marker));
    cr_assert_eq(f.marks.turned_down, 1);
    fixture_fini(&f);
}

Test(round_mark, last_marker_always_passes)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    produce_marks(&f, 0, 1, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 1, 1);
    cr_assert(weir_round_marks_let_pass(&f.marks, &(struct weir_chunk){.handed_ns = 0}));
    fixture_fini(&f);
}

Test(round_mark, marks_keep_away_from_the_rounds_of_the_coordinator)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    put(&f, 0, 1, 0);
    hand_over(&f, 0);
    expect_rounds(&f, 0, 0); /* handed over at START_NS */
    cr_assert(weir_round_marks_let_pass(&f.marks, &(struct weir_chunk){.handed_ns = START_NS}));
    pass(&f, WEIR_ROUND_GRACE_NS - 1);
    produce_marks(&f, 0, 2, 1);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 1);
    fixture_fini(&f);
}

Test(round_mark, marks_are_no_rounds_from_a_switch_to_the_next_marker)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    weir_round_marks_close(&f.marks);
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 0);
    cr_assert(weir_round_marks_let_pass(&f.marks, &(struct weir_chunk){.handed_ns = f.fake_clock.now_ns}));
    pass(&f, WEIR_ROUND_GRACE_NS);
    produce_marks(&f, 0, 2, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    expect_rounds(&f, 2, 2);
    fixture_fini(&f);
}

/* ---- what reached the file ---- */

Test(round_mark, rounds_in_the_first_bytes_of_a_chunk_are_counted)
{
    struct fixture f;
    fixture_init(&f, 1, 1);
    produce_marks(&f, 0, 3, WEIR_ROUND_GRACE_NS);
    hand_over(&f, 0);
    struct weir_chunk *chunk = rig_pop(&f.rig);
    cr_assert_eq(weir_round_marks_within(chunk, chunk->used), 0, "not settled yet");
    weir_round_marks_decide(&f.marks, chunk);
    cr_assert_eq(weir_round_marks_within(chunk, chunk->used), 3);
    cr_assert_eq(weir_round_marks_within(chunk, chunk->used - 17), 2);
    cr_assert_eq(weir_round_marks_within(chunk, 4 * SAMPLE_BYTES + 8), 1);
    cr_assert_eq(weir_round_marks_within(chunk, 4 * SAMPLE_BYTES + 7), 0);
    rig_return(&f.rig, chunk);
    fixture_fini(&f);
}

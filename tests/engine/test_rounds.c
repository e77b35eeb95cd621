/*
 * Epochs and markers on a fake clock, over hand-filled rings: when an epoch is opened, who is woken, and that no marker
 * stands before what it must stand behind.
 */
#include "engine/drain/rounds.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "format/perf_file.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define START_NS (50 * WEIR_NS_PER_S)
#define EPOCH_NS (START_NS + WEIR_ROUND_PERIOD_NS) /* the first epoch without a kick */

#define RING_BYTES (256 * 1024)

#define CROWD     64u /* readers of a large machine */
#define BUSY      0u  /* two of them, which may have something to do; all others are idle */
#define STRAGGLER 1u

struct fixture {
    struct reader_rig rig;
    struct weir_rounds rounds;
    struct weir_reader *crowd[CROWD];
};

static void fixture_init(struct fixture *f, unsigned readers)
{
    rig_init(&f->rig, &(struct rig_options){.readers = readers, .ring_bytes = RING_BYTES});
    weir_rounds_init(&f->rounds, &f->rig.control, f->rig.reader_list, readers, &f->rig.queue, START_NS);
}

/* One idle reader stands for all but two. */
static void fixture_init_crowd(struct fixture *f)
{
    rig_init(&f->rig, &(struct rig_options){.readers = 3, .ring_bytes = RING_BYTES});
    for (unsigned i = 0; i < CROWD; i++)
        f->crowd[i] = &f->rig.readers[weir_min_u64(i, 2)];
    weir_rounds_init(&f->rounds, &f->rig.control, f->crowd, CROWD, &f->rig.queue, START_NS);
}

static void step(struct fixture *f, unsigned reader)
{
    weir_reader_step(&f->rig.readers[reader]);
}

static uint64_t wakes_sent(const struct fixture *f, unsigned reader)
{
    return f->rig.readers[reader].wakes_sent;
}

static uint64_t advance_wanted(struct weir_rounds *rounds, uint64_t now_ns)
{
    weir_rounds_want(rounds, false);
    return weir_rounds_advance(rounds, now_ns);
}

/* Asserts that the next thing in the queue is a marker, and sets it free as the writer does. */
static void expect_marker(struct fixture *f)
{
    struct weir_chunk *chunk = rig_pop(&f->rig);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->kind, WEIR_CHUNK_ROUND);
    cr_assert_eq(chunk->used, 8);
    cr_assert_eq(chunk->buffer_index, -1);
    cr_assert_eq(test_record_type(chunk->data), WEIR_RECORD_FINISHED_ROUND);
    cr_assert_eq(test_record_bytes(chunk->data), 8);
    weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
}

/* ---- nothing to do ---- */

Test(rounds, idle_readers_are_never_woken_and_get_no_markers)
{
    struct fixture f;
    fixture_init(&f, 3);
    uint64_t now_ns = START_NS;
    for (unsigned n = 0; n < 10; n++)
        now_ns = weir_rounds_advance(&f.rounds, now_ns);
    cr_assert_eq(now_ns, START_NS + 10 * WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 9);
    cr_assert_eq(f.rounds.pushed, 0);
    cr_assert_null(rig_pop(&f.rig));
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(wakes_sent(&f, i), 0);
    rig_fini(&f.rig);
}

Test(rounds, no_epoch_is_opened_before_its_time)
{
    struct fixture f;
    fixture_init(&f, 1);
    cr_assert_eq(weir_rounds_advance(&f.rounds, START_NS), EPOCH_NS);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS - 1), EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 0);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS), EPOCH_NS + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    rig_fini(&f.rig);
}

/* ---- the barrier ---- */

Test(rounds, marker_waits_for_every_reader_that_had_something)
{
    struct fixture f;
    fixture_init(&f, 3);
    rig_put_sample(&f.rig, 0, 1, 64);
    rig_put_sample(&f.rig, 2, 2, 64);
    step(&f, 0); /* holds its record in a chunk */
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_null(rig_pop(&f.rig));

    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 1);
    cr_assert_eq(f.rounds.pushed, 0);
    step(&f, 2);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS + 2), EPOCH_NS + WEIR_ROUND_PERIOD_NS);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 2, 1);
    cr_assert_not(f.rounds.markers[0].awaited, "it would wake the writer");
    expect_marker(&f);
    cr_assert_null(rig_pop(&f.rig));
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(wakes_sent(&f, i), 0);
    rig_fini(&f.rig);
}

Test(rounds, records_younger_than_the_epoch_do_not_hold_the_marker_up)
{
    struct fixture f;
    fixture_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS); /* finds reader 1 idle, and does not look at it again */
    rig_put_sample(&f.rig, 1, 2, 64);
    step(&f, 0);
    rig_put_sample(&f.rig, 0, 3, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 1); /* reader 0 first: past, so reader 1 is asked now */
    cr_assert_eq(f.rounds.pushed, 0);
    step(&f, 1);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 2);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

Test(rounds, epoch_in_which_nothing_was_handed_over_gets_no_marker)
{
    struct fixture f;
    fixture_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    step(&f, 0);
    uint64_t next_ns = weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

/* ---- stragglers ---- */

/* A reader is left to itself for so long since it passed an epoch last, unless somebody waits for the open one. */
#define PATIENCE_NS(readers) ((readers)*WEIR_ROUND_PATIENCE_NS)

static void set_passed(struct fixture *f, unsigned reader, uint64_t at_ns)
{
    atomic_store_explicit(&f->rig.readers[reader].passed_ns, at_ns, memory_order_relaxed);
}

/* Woken at that moment, and not before. */
static void expect_wake_at(struct fixture *f, unsigned reader, uint64_t at_ns)
{
    uint64_t sent = wakes_sent(f, reader);
    weir_rounds_advance(&f->rounds, at_ns - 1);
    cr_assert_eq(wakes_sent(f, reader), sent);
    weir_rounds_advance(&f->rounds, at_ns);
    cr_assert_eq(wakes_sent(f, reader), sent + 1);
}

Test(rounds, only_stragglers_are_woken_and_only_after_a_while_for_each_reader)
{
    struct fixture f;
    fixture_init(&f, 3);
    rig_put_sample(&f.rig, 1, 1, 64);
    set_passed(&f, 1, EPOCH_NS - 1);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS), EPOCH_NS + WEIR_ROUND_GRACE_NS);
    expect_wake_at(&f, 1, EPOCH_NS + PATIENCE_NS(3) - 1);
    weir_rounds_advance(&f.rounds, EPOCH_NS + PATIENCE_NS(3) + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, 0), 0);
    cr_assert_eq(wakes_sent(&f, 1), 1);
    cr_assert_eq(wakes_sent(&f, 2), 0);
    cr_assert_eq(f.rounds.pushed, 0);
    weir_reader_wait(&f.rig.readers[1], WEIR_READER_DRAINED);
    cr_assert_eq(f.rig.readers[1].wakes_taken, 1);
    weir_rounds_advance(&f.rounds, EPOCH_NS + PATIENCE_NS(3) + 2 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, 1), 1, "once for an epoch");
    step(&f, 1);
    weir_rounds_advance(&f.rounds, EPOCH_NS + PATIENCE_NS(3) + 3 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

Test(rounds, time_that_a_reader_is_left_begins_with_the_epoch_that_it_passed)
{
    struct fixture f;
    fixture_init_crowd(&f);
    struct fake_clock fake = {.now_ns = EPOCH_NS};
    const struct weir_clock clock = fake_clock_interface(&fake);
    f.rig.readers[STRAGGLER].clock = &clock;
    rig_put_sample(&f.rig, STRAGGLER, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    step(&f, STRAGGLER);
    uint64_t second_ns = weir_rounds_advance(&f.rounds, EPOCH_NS);
    fake.now_ns = second_ns - 1;
    rig_put_sample(&f.rig, STRAGGLER, 2, 64);
    step(&f, STRAGGLER); /* passes none, and keeps its chunk */
    weir_rounds_advance(&f.rounds, second_ns);
    weir_rounds_advance(&f.rounds, second_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1, "it passed the first one a period before");

    fake.now_ns = second_ns + WEIR_ROUND_PERIOD_NS;
    step(&f, STRAGGLER);
    weir_reader_wait(&f.rig.readers[STRAGGLER], WEIR_READER_DRAINED);
    uint64_t third_ns = weir_rounds_advance(&f.rounds, fake.now_ns);
    rig_put_sample(&f.rig, STRAGGLER, 3, 64);
    weir_rounds_advance(&f.rounds, third_ns);
    cr_assert_eq(f.rig.control.epoch, 3);
    expect_wake_at(&f, STRAGGLER, fake.now_ns + PATIENCE_NS(CROWD));
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 2);
    rig_fini(&f.rig);
}

Test(rounds, who_passed_an_epoch_long_ago_is_woken_after_a_grace)
{
    struct fixture f;
    fixture_init_crowd(&f);
    rig_put_sample(&f.rig, STRAGGLER, 1, 64);
    set_passed(&f, STRAGGLER, EPOCH_NS - PATIENCE_NS(CROWD));
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    expect_wake_at(&f, STRAGGLER, EPOCH_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds, each_straggler_has_a_time_of_its_own)
{
    struct fixture f;
    fixture_init_crowd(&f);
    rig_put_sample(&f.rig, BUSY, 1, 64);
    rig_put_sample(&f.rig, STRAGGLER, 2, 64);
    set_passed(&f, BUSY, EPOCH_NS - PATIENCE_NS(CROWD) / 2);
    set_passed(&f, STRAGGLER, EPOCH_NS);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    weir_rounds_advance(&f.rounds, EPOCH_NS + PATIENCE_NS(CROWD) / 2);
    cr_assert_eq(wakes_sent(&f, BUSY), 1);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 0);
    weir_reader_wait(&f.rig.readers[BUSY], WEIR_READER_DRAINED); /* and waits for a chunk, say */
    expect_wake_at(&f, STRAGGLER, EPOCH_NS + PATIENCE_NS(CROWD));
    cr_assert_eq(wakes_sent(&f, BUSY), 1, "once for an epoch");
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);
    rig_fini(&f.rig);
}

/* Nothing but the coordinator would ever wake it: its watermark is far. */
Test(rounds, who_is_idle_while_others_are_woken_is_woken_when_it_no_longer_is)
{
    struct fixture f;
    fixture_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    weir_rounds_advance(&f.rounds, EPOCH_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, 0), 1);
    cr_assert_eq(wakes_sent(&f, 1), 0);
    rig_put_sample(&f.rig, 1, 2, 64);
    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 2 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, 1), 1);
    step(&f, 1);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 3 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

Test(rounds, who_passes_meanwhile_is_not_woken)
{
    struct fixture f;
    fixture_init_crowd(&f);
    rig_put_sample(&f.rig, BUSY, 1, 64);
    rig_put_sample(&f.rig, STRAGGLER, 2, 64);
    set_passed(&f, BUSY, EPOCH_NS);
    set_passed(&f, STRAGGLER, EPOCH_NS);
    uint64_t now_ns = EPOCH_NS;
    unsigned looks = 0;
    for (; now_ns < EPOCH_NS + PATIENCE_NS(CROWD); looks++) {
        if (looks == 1)
            step(&f, BUSY);
        now_ns = weir_rounds_advance(&f.rounds, now_ns);
    }
    cr_assert_eq(looks, 9, "each look wakes the coordinator");
    cr_assert_eq(now_ns, EPOCH_NS + WEIR_ROUND_GRACE_NS + PATIENCE_NS(CROWD));
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), now_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, BUSY), 0);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds, hundreds_of_readers_are_left_to_themselves_for_two_periods_at_most)
{
    struct fixture f;
    struct weir_reader *crowd[10 * CROWD];
    fixture_init_crowd(&f);
    for (unsigned i = 0; i < 10 * CROWD; i++)
        crowd[i] = f.crowd[i % CROWD];
    weir_rounds_init(&f.rounds, &f.rig.control, crowd, 10 * CROWD, &f.rig.queue, START_NS);
    rig_put_sample(&f.rig, STRAGGLER, 1, 64);
    set_passed(&f, STRAGGLER, EPOCH_NS);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    expect_wake_at(&f, STRAGGLER, EPOCH_NS + 2 * WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds, reader_that_is_about_to_wake_up_by_itself_is_left_for_twice_as_long)
{
    for (int soon = 0; soon <= 1; soon++) {
        struct fixture f;
        fixture_init_crowd(&f);
        rig_put_sample(&f.rig, STRAGGLER, 1, RING_BYTES / WEIR_RING_WATERMARK_SHARE / 2 - (soon ? 0 : 8));
        set_passed(&f, STRAGGLER, EPOCH_NS);
        weir_rounds_advance(&f.rounds, EPOCH_NS);
        expect_wake_at(&f, STRAGGLER, EPOCH_NS + (1 + soon) * PATIENCE_NS(CROWD));
        rig_fini(&f.rig);
    }
}

Test(rounds, reader_that_is_about_to_wake_up_by_itself_is_woken_in_haste)
{
    struct fixture f;
    fixture_init_crowd(&f);
    rig_put_sample(&f.rig, STRAGGLER, 1, RING_BYTES / WEIR_RING_WATERMARK_SHARE / 2);
    set_passed(&f, STRAGGLER, EPOCH_NS);
    weir_rounds_want(&f.rounds, true);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    expect_wake_at(&f, STRAGGLER, EPOCH_NS + WEIR_ROUND_GRACE_NS);
    rig_fini(&f.rig);
}

Test(rounds, epoch_that_took_longer_than_a_period_is_followed_by_the_next_one)
{
    struct fixture f;
    fixture_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    step(&f, 0);
    uint64_t late_ns = EPOCH_NS + 2 * WEIR_ROUND_PERIOD_NS;
    cr_assert_eq(weir_rounds_advance(&f.rounds, late_ns), late_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    weir_rounds_advance(&f.rounds, late_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    rig_fini(&f.rig);
}

/* Opens an epoch that a reader has to be woken for. */
static void open_with_a_straggler(struct fixture *f)
{
    fixture_init_crowd(f);
    rig_put_sample(&f->rig, STRAGGLER, 1, 64);
    set_passed(f, STRAGGLER, EPOCH_NS);
    weir_rounds_advance(&f->rounds, EPOCH_NS);
    weir_rounds_advance(&f->rounds, EPOCH_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(f, STRAGGLER), 0);
}

Test(rounds, haste_ends_the_patience_with_the_open_epoch)
{
    struct fixture f;
    open_with_a_straggler(&f);
    weir_rounds_want(&f.rounds, true);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS + WEIR_ROUND_GRACE_NS), EPOCH_NS + 2 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds, open_epoch_will_do_for_who_wants_one_without_haste)
{
    struct fixture f;
    open_with_a_straggler(&f);
    weir_rounds_want(&f.rounds, false);
    expect_wake_at(&f, STRAGGLER, EPOCH_NS + PATIENCE_NS(CROWD));
    step(&f, STRAGGLER);
    uint64_t now_ns = EPOCH_NS + PATIENCE_NS(CROWD) + WEIR_ROUND_GRACE_NS;
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), EPOCH_NS + WEIR_ROUND_PERIOD_NS, "and another is not wanted");
    rig_fini(&f.rig);
}

Test(rounds, epoch_that_is_wanted_has_patience)
{
    struct fixture f;
    fixture_init_crowd(&f);
    rig_put_sample(&f.rig, STRAGGLER, 1, 64);
    set_passed(&f, STRAGGLER, START_NS);
    advance_wanted(&f.rounds, START_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    expect_wake_at(&f, STRAGGLER, START_NS + PATIENCE_NS(CROWD));
    rig_fini(&f.rig);
}

Test(rounds, epoch_that_is_wanted_in_haste_has_none_and_the_next_one_has)
{
    struct fixture f;
    fixture_init_crowd(&f);
    rig_put_sample(&f.rig, STRAGGLER, 1, 64);
    set_passed(&f, STRAGGLER, START_NS + WEIR_NS_PER_S); /* whatever that says */
    weir_rounds_want(&f.rounds, true);
    weir_rounds_want(&f.rounds, false);
    weir_rounds_advance(&f.rounds, START_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    weir_rounds_advance(&f.rounds, START_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);

    step(&f, STRAGGLER);
    weir_reader_wait(&f.rig.readers[STRAGGLER], WEIR_READER_DRAINED);
    uint64_t next_ns = weir_rounds_advance(&f.rounds, START_NS + WEIR_ROUND_GRACE_NS);
    rig_put_sample(&f.rig, STRAGGLER, 2, 64);
    set_passed(&f, STRAGGLER, next_ns);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rig.control.epoch, 2);
    expect_wake_at(&f, STRAGGLER, next_ns + PATIENCE_NS(CROWD));
    rig_fini(&f.rig);
}

static void count_cut(void *ctx)
{
    (*(unsigned *)ctx)++;
}

Test(rounds, snapshot_and_cut_end_the_patience_with_the_epoch_before_them)
{
    for (int cut = 0; cut <= 1; cut++) {
        struct fixture f;
        unsigned cuts = 0;
        open_with_a_straggler(&f);
        if (cut)
            weir_rounds_cut(&f.rounds, count_cut, &cuts);
        else
            weir_rounds_snapshot(&f.rounds);
        weir_rounds_advance(&f.rounds, EPOCH_NS + WEIR_ROUND_GRACE_NS);
        cr_assert_eq(wakes_sent(&f, STRAGGLER), 1);
        step(&f, STRAGGLER);
        uint64_t next_ns = weir_rounds_advance(&f.rounds, EPOCH_NS + WEIR_ROUND_GRACE_NS);
        rig_put_sample(&f.rig, STRAGGLER, 2, 64);
        weir_reader_wait(&f.rig.readers[STRAGGLER], WEIR_READER_DRAINED);
        weir_rounds_advance(&f.rounds, next_ns);
        cr_assert_eq(f.rig.control.epoch, 2);
        weir_rounds_advance(&f.rounds, next_ns + WEIR_ROUND_GRACE_NS);
        cr_assert_eq(wakes_sent(&f, STRAGGLER), 2, "nor has that one any");
        rig_fini(&f.rig);
    }
}

Test(rounds, reader_that_sleeps_on_a_held_chunk_is_woken)
{
    struct fixture f;
    fixture_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    weir_rounds_advance(&f.rounds, EPOCH_NS + PATIENCE_NS(2));
    cr_assert_eq(wakes_sent(&f, 0), 1);
    cr_assert_eq(wakes_sent(&f, 1), 0);
    rig_fini(&f.rig);
}

/* ---- kicks ---- */

Test(rounds, kick_opens_an_epoch_at_once)
{
    struct fixture f;
    fixture_init(&f, 1);
    cr_assert_eq(advance_wanted(&f.rounds, START_NS + 5), START_NS + 5 + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    rig_fini(&f.rig);
}

Test(rounds, kick_waits_for_its_time_after_the_last_epoch_and_is_remembered)
{
    struct fixture f;
    fixture_init(&f, 1);
    advance_wanted(&f.rounds, START_NS);
    cr_assert_eq(advance_wanted(&f.rounds, START_NS + 1), START_NS + WEIR_ROUND_KICK_NS);
    cr_assert_eq(weir_rounds_advance(&f.rounds, START_NS + 2), START_NS + WEIR_ROUND_KICK_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    uint64_t third_ns = START_NS + WEIR_ROUND_KICK_NS;
    cr_assert_eq(weir_rounds_advance(&f.rounds, third_ns), third_ns + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    rig_fini(&f.rig);
}

Test(rounds, who_waits_for_an_epoch_does_not_wait_as_long_as_a_kick)
{
    struct fixture f;
    unsigned cuts = 0;
    fixture_init(&f, 1);
    advance_wanted(&f.rounds, START_NS);
    cr_assert_eq(advance_wanted(&f.rounds, START_NS + 1), START_NS + WEIR_ROUND_KICK_NS);
    weir_rounds_cut(&f.rounds, count_cut, &cuts);
    cr_assert_eq(weir_rounds_advance(&f.rounds, START_NS + 2), START_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(weir_rounds_advance(&f.rounds, START_NS + WEIR_ROUND_GRACE_NS), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    rig_fini(&f.rig);
}

/* ---- markers that are all under way ---- */

/* One epoch with something in it, at the given time. */
static void run_epoch(struct fixture *f, uint64_t now_ns, uint64_t sequence)
{
    rig_put_sample(&f->rig, 0, sequence, 64);
    advance_wanted(&f->rounds, now_ns);
    step(f, 0);
    weir_rounds_advance(&f->rounds, now_ns);
    cr_assert_eq(f->rounds.open, false);
}

Test(rounds, writer_that_is_far_behind_gets_its_marker_with_a_later_epoch)
{
    struct fixture f;
    fixture_init(&f, 1);
    uint64_t now_ns = START_NS;
    for (unsigned n = 0; n < WEIR_ROUND_MARKERS + 1; n++, now_ns += WEIR_ROUND_KICK_NS)
        run_epoch(&f, now_ns, n);
    cr_assert_eq(f.rounds.pushed, WEIR_ROUND_MARKERS);
    for (unsigned n = 0; n < WEIR_ROUND_MARKERS; n++) {
        rig_expect_samples(&f.rig, rig_pop(&f.rig), n, 1);
        expect_marker(&f);
    }
    rig_expect_samples(&f.rig, rig_pop(&f.rig), WEIR_ROUND_MARKERS, 1);
    cr_assert_null(rig_pop(&f.rig));

    advance_wanted(&f.rounds, now_ns); /* nothing new, but the last one owes a marker */
    cr_assert_eq(f.rounds.pushed, WEIR_ROUND_MARKERS + 1);
    expect_marker(&f);
    rig_fini(&f.rig);
}

/* ---- snapshots ---- */

Test(rounds, a_snapshot_must_be_passed_by_every_reader)
{
    struct fixture f;
    fixture_init(&f, 2);
    f.rounds.keep_to_snapshots = true;
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), 0);
    uint64_t now_ns = START_NS + WEIR_ROUND_GRACE_NS;
    weir_rounds_advance(&f.rounds, now_ns);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_eq(f.rig.control.snapshot_epoch, 1);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(wakes_sent(&f, i), 1, "its ring is empty, and yet it may retain something");
    step(&f, 0);
    weir_rounds_advance(&f.rounds, now_ns);
    cr_assert_eq(f.rounds.pushed, 0);
    step(&f, 1);
    weir_rounds_advance(&f.rounds, now_ns);
    cr_assert(f.rounds.markers[0].awaited, "the snapshot is to be on file soon");
    expect_marker(&f);
    cr_assert_eq(f.rounds.snapshots, 1);
    rig_fini(&f.rig);
}

Test(rounds, rings_are_drained_before_a_snapshot_by_time)
{
    struct fixture f;
    fixture_init(&f, 2);
    f.rounds.keep_to_snapshots = f.rounds.drain_first = true;
    rig_put_sample(&f.rig, 1, 77, 64);
    f.rig.readers[1].newest_ns = 5; /* as if it retained */
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_eq(f.rig.control.snapshot_epoch, 0);
    step(&f, 1);
    f.rig.readers[1].newest_ns = 77;
    uint64_t next_ns = weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(next_ns, EPOCH_NS + WEIR_ROUND_GRACE_NS);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(f.rig.control.snapshot_epoch, 2);
    cr_assert_eq(f.rig.control.newest_ns, 77);
    for (unsigned i = 0; i < 2; i++)
        step(&f, i);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rounds.snapshots, 1);
    rig_fini(&f.rig);
}

Test(rounds, a_snapshot_is_busy_until_its_marker_is_on_file)
{
    struct fixture f;
    fixture_init(&f, 1);
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_NONE);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), 0);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), -EBUSY);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_TAKING);
    step(&f, 0);
    uint64_t next_ns = weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_lt(next_ns, EPOCH_NS + WEIR_ROUND_PERIOD_NS, "somebody has to notice when it is on file");
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_WRITING);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), -EBUSY);
    expect_marker(&f);
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_NONE);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), 0);
    rig_fini(&f.rig);
}

Test(rounds, between_snapshots_epochs_go_on_without_markers)
{
    struct fixture f;
    fixture_init(&f, 1);
    f.rounds.keep_to_snapshots = true;
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_eq(f.rounds.open, false);
    cr_assert_eq(f.rounds.pushed, 0);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    cr_assert_null(rig_pop(&f.rig));
    rig_fini(&f.rig);
}

static void note_pause(void *ctx, bool paused)
{
    struct fixture *f = ctx;
    /* Paused before the epoch is open, and until it is closed. */
    cr_assert_eq(f->rounds.open, !paused || f->rounds.open);
    cr_assert_eq(f->rounds.pushed, paused ? 0 : 1);
    f->rig.raw.unmaps += paused ? 1 : 10;
}

Test(rounds, rings_are_paused_around_a_snapshot)
{
    struct fixture f;
    fixture_init(&f, 1);
    f.rounds.pause = note_pause;
    f.rounds.pause_ctx = &f;
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rig.raw.unmaps, 1);
    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rig.raw.unmaps, 11);
    expect_marker(&f);
    rig_fini(&f.rig);
}

Test(rounds, a_snapshot_that_was_asked_for_before_the_end_is_the_end)
{
    struct fixture f;
    fixture_init(&f, 1);
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_stop(&f.rounds, false);
    cr_assert_eq(f.rig.control.snapshot_epoch, 1);
    cr_assert_eq(f.rig.control.stop_epoch, 1);
    weir_rounds_close(&f.rounds);
    cr_assert_eq(f.rounds.snapshots, 1);
    expect_marker(&f);
    rig_fini(&f.rig);
}

Test(rounds, a_snapshot_that_some_readers_have_passed_is_the_end_for_all)
{
    struct fixture f;
    fixture_init(&f, 2);
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_advance(&f.rounds, EPOCH_NS);
    cr_assert_eq(f.rig.control.snapshot_epoch, 1);
    weir_reader_step(&f.rig.readers[0]);
    weir_rounds_stop(&f.rounds, false);
    cr_assert_eq(f.rig.control.snapshot_epoch, 2);
    weir_rounds_close(&f.rounds);
    cr_assert_eq(f.rounds.snapshots, 1);
    rig_fini(&f.rig);
}

/* ---- the end ---- */

Test(rounds, stop_wakes_every_reader_and_the_last_marker_stands_behind_all)
{
    struct fixture f;
    fixture_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS); /* stop comes in the middle of an epoch */
    weir_rounds_stop(&f.rounds, false);
    cr_assert_eq(wakes_sent(&f, 0), 1);
    cr_assert_eq(wakes_sent(&f, 1), 1);
    cr_assert_eq(f.rig.control.stop_epoch, f.rig.control.epoch);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(weir_reader_step(&f.rig.readers[i]), WEIR_READER_STOPPED);
    cr_assert_eq(f.rounds.pushed, 0);
    weir_rounds_close(&f.rounds);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    expect_marker(&f);
    rig_fini(&f.rig);
}

/* ---- cuts ---- */

Test(rounds, cut_is_made_by_an_epoch_that_was_opened_after_it_was_wanted)
{
    struct fixture f;
    unsigned cuts = 0;
    fixture_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, EPOCH_NS); /* an epoch is open */
    weir_rounds_cut(&f.rounds, count_cut, &cuts);
    step(&f, 0);
    rig_put_sample(&f.rig, 0, 2, 64);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS + 1), EPOCH_NS + 1 + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(cuts, 0);
    cr_assert_eq(f.rig.control.epoch, 1);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 1 + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(cuts, 0);
    step(&f, 0);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS + 2 + WEIR_ROUND_GRACE_NS), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    expect_marker(&f);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 2, 1);
    expect_marker(&f);
    rig_fini(&f.rig);
}

Test(rounds, no_epoch_is_opened_behind_a_cut_until_it_is_resumed)
{
    struct fixture f;
    unsigned cuts = 0;
    fixture_init(&f, 1);
    weir_rounds_cut(&f.rounds, count_cut, &cuts);
    cr_assert_eq(weir_rounds_advance(&f.rounds, EPOCH_NS), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    uint64_t later_ns = EPOCH_NS + 10 * WEIR_ROUND_PERIOD_NS;
    cr_assert_eq(advance_wanted(&f.rounds, later_ns), UINT64_MAX);
    cr_assert_eq(f.rig.control.epoch, 1);
    weir_rounds_resume(&f.rounds, later_ns);
    cr_assert_eq(weir_rounds_advance(&f.rounds, later_ns), later_ns + WEIR_ROUND_PERIOD_NS);
    weir_rounds_advance(&f.rounds, later_ns + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(cuts, 1);
    rig_fini(&f.rig);
}

Test(rounds, cut_that_is_taken_back_is_none)
{
    struct fixture f;
    unsigned cuts = 0;
    fixture_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_cut(&f.rounds, count_cut, &cuts);
    weir_rounds_advance(&f.rounds, EPOCH_NS); /* its epoch is open */
    weir_rounds_resume(&f.rounds, EPOCH_NS);
    step(&f, 0);
    weir_rounds_advance(&f.rounds, EPOCH_NS + 1);
    cr_assert_eq(f.rounds.pushed, 1);
    cr_assert_eq(cuts, 0);
    rig_fini(&f.rig);
}

Test(rounds, cut_waits_for_a_free_marker)
{
    struct fixture f;
    unsigned cuts = 0;
    fixture_init(&f, 1);
    uint64_t now_ns = START_NS;
    for (unsigned n = 0; n < WEIR_ROUND_MARKERS; n++, now_ns += WEIR_ROUND_KICK_NS)
        run_epoch(&f, now_ns, n);
    rig_put_sample(&f.rig, 0, WEIR_ROUND_MARKERS, 64);
    weir_rounds_cut(&f.rounds, count_cut, &cuts);
    weir_rounds_advance(&f.rounds, now_ns);
    step(&f, 0);
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), now_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(cuts, 0);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 0, 1);
    expect_marker(&f);
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    cr_assert_eq(f.rounds.pushed, WEIR_ROUND_MARKERS + 1);
    for (unsigned n = 1; n <= WEIR_ROUND_MARKERS; n++) {
        rig_expect_samples(&f.rig, rig_pop(&f.rig), n, 1);
        expect_marker(&f);
    }
    rig_fini(&f.rig);
}

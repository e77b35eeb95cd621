/*
 * Who is woken for an epoch, and when: readers that sleep on a few records are left to themselves for a while. The
 * bound of that, whatever happens in whatever order: test_round_patience.c.
 */
#include "engine/drain/rounds.h"

#include <criterion/criterion.h>

#include "base/bits.h"
#include "base/clock.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/rounds_rig.h"

/* A reader is left to itself for so long since it passed an epoch last, unless somebody waits for the open one. */
#define PATIENCE_NS(readers) ((readers)*WEIR_ROUND_PATIENCE_NS)

static void set_passed(struct rounds_rig *f, unsigned reader, uint64_t at_ns)
{
    atomic_store_explicit(&f->rig.readers[reader].passed_ns, at_ns, memory_order_relaxed);
}

/* Woken at that moment, and not before. */
static void expect_wake_at(struct rounds_rig *f, unsigned reader, uint64_t at_ns)
{
    uint64_t sent = rounds_rig_wakes_sent(f, reader);
    weir_rounds_advance(&f->rounds, at_ns - 1);
    cr_assert_eq(rounds_rig_wakes_sent(f, reader), sent);
    weir_rounds_advance(&f->rounds, at_ns);
    cr_assert_eq(rounds_rig_wakes_sent(f, reader), sent + 1);
}

/* It sleeps on a sample of so many bytes, and passed an epoch last at that moment. */
static void init_with_a_straggler(struct rounds_rig *f, uint16_t bytes, uint64_t passed_ns)
{
    rounds_rig_init_crowd(f);
    rig_put_sample(&f->rig, ROUNDS_RIG_STRAGGLER, 1, bytes);
    set_passed(f, ROUNDS_RIG_STRAGGLER, passed_ns);
}

Test(rounds_stragglers, only_stragglers_are_woken_and_only_after_a_while_for_each_reader)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 3);
    rig_put_sample(&f.rig, 1, 1, 64);
    set_passed(&f, 1, ROUNDS_RIG_EPOCH_NS - 1);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS), ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
    expect_wake_at(&f, 1, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(3) - 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(3) + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 0), 0);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 1), 1);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 2), 0);
    cr_assert_eq(f.rounds.pushed, 0);
    weir_reader_wait(&f.rig.readers[1], WEIR_READER_DRAINED);
    cr_assert_eq(f.rig.readers[1].wakes_taken, 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(3) + 2 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 1), 1, "once for an epoch");
    rounds_rig_step(&f, 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(3) + 3 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, time_that_a_reader_is_left_begins_with_the_epoch_that_it_passed)
{
    struct rounds_rig f;
    rounds_rig_init_crowd(&f);
    struct fake_clock fake = {.now_ns = ROUNDS_RIG_EPOCH_NS};
    const struct weir_clock clock = fake_clock_interface(&fake);
    f.rig.readers[ROUNDS_RIG_STRAGGLER].setup.sink.clock = &clock;
    rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    rounds_rig_step(&f, ROUNDS_RIG_STRAGGLER);
    uint64_t second_ns = weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    fake.now_ns = second_ns - 1;
    rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 2, 64);
    rounds_rig_step(&f, ROUNDS_RIG_STRAGGLER); /* passes none, and keeps its chunk */
    weir_rounds_advance(&f.rounds, second_ns);
    weir_rounds_advance(&f.rounds, second_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1, "it passed the first one a period before");

    fake.now_ns = second_ns + WEIR_ROUND_PERIOD_NS;
    rounds_rig_step(&f, ROUNDS_RIG_STRAGGLER);
    weir_reader_wait(&f.rig.readers[ROUNDS_RIG_STRAGGLER], WEIR_READER_DRAINED);
    uint64_t third_ns = weir_rounds_advance(&f.rounds, fake.now_ns);
    rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 3, 64);
    weir_rounds_advance(&f.rounds, third_ns);
    cr_assert_eq(f.rig.control.epoch, 3);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, fake.now_ns + PATIENCE_NS(ROUNDS_RIG_CROWD));
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 2);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, who_passed_an_epoch_long_ago_is_woken_after_a_grace)
{
    struct rounds_rig f;
    init_with_a_straggler(&f, 64, ROUNDS_RIG_EPOCH_NS - PATIENCE_NS(ROUNDS_RIG_CROWD));
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, each_straggler_has_a_time_of_its_own)
{
    struct rounds_rig f;
    rounds_rig_init_crowd(&f);
    rig_put_sample(&f.rig, ROUNDS_RIG_BUSY, 1, 64);
    rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 2, 64);
    set_passed(&f, ROUNDS_RIG_BUSY, ROUNDS_RIG_EPOCH_NS - PATIENCE_NS(ROUNDS_RIG_CROWD) / 2);
    set_passed(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(ROUNDS_RIG_CROWD) / 2);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_BUSY), 1);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 0);
    weir_reader_wait(&f.rig.readers[ROUNDS_RIG_BUSY], WEIR_READER_DRAINED); /* and waits for a chunk, say */
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(ROUNDS_RIG_CROWD));
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_BUSY), 1, "once for an epoch");
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);
    rig_fini(&f.rig);
}

/* Nothing but the coordinator would ever wake it: its watermark is far. */
Test(rounds_stragglers, who_is_idle_while_others_are_woken_is_woken_when_it_no_longer_is)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 0), 1);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 1), 0);
    rig_put_sample(&f.rig, 1, 2, 64);
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 2 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 1), 1);
    rounds_rig_step(&f, 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 3 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, who_passes_meanwhile_is_not_woken)
{
    struct rounds_rig f;
    rounds_rig_init_crowd(&f);
    rig_put_sample(&f.rig, ROUNDS_RIG_BUSY, 1, 64);
    rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 2, 64);
    set_passed(&f, ROUNDS_RIG_BUSY, ROUNDS_RIG_EPOCH_NS);
    set_passed(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS);
    uint64_t now_ns = ROUNDS_RIG_EPOCH_NS;
    unsigned looks = 0;
    for (; now_ns < ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(ROUNDS_RIG_CROWD); looks++) {
        if (looks == 1)
            rounds_rig_step(&f, ROUNDS_RIG_BUSY);
        now_ns = weir_rounds_advance(&f.rounds, now_ns);
    }
    cr_assert_eq(looks, 9, "each look wakes the coordinator");
    cr_assert_eq(now_ns, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS + PATIENCE_NS(ROUNDS_RIG_CROWD));
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), now_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_BUSY), 0);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, hundreds_of_readers_are_left_to_themselves_for_two_periods_at_most)
{
    struct rounds_rig f;
    struct weir_reader *crowd[10 * ROUNDS_RIG_CROWD];
    init_with_a_straggler(&f, 64, ROUNDS_RIG_EPOCH_NS);
    for (unsigned i = 0; i < 10 * ROUNDS_RIG_CROWD; i++)
        crowd[i] = f.crowd[i % ROUNDS_RIG_CROWD];
    weir_rounds_init(&f.rounds, &f.rig.control, crowd, 10 * ROUNDS_RIG_CROWD, &f.rig.queue, ROUNDS_RIG_START_NS);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS + 2 * WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, reader_that_is_about_to_wake_up_by_itself_is_left_for_twice_as_long)
{
    for (int soon = 0; soon <= 1; soon++) {
        struct rounds_rig f;
        init_with_a_straggler(&f, ROUNDS_RIG_RING_BYTES / WEIR_RING_WATERMARK_SHARE / 2 - (soon ? 0 : 8),
                              ROUNDS_RIG_EPOCH_NS);
        weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
        expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS + (1 + soon) * PATIENCE_NS(ROUNDS_RIG_CROWD));
        rig_fini(&f.rig);
    }
}

Test(rounds_stragglers, reader_that_is_about_to_wake_up_by_itself_is_woken_in_haste)
{
    struct rounds_rig f;
    init_with_a_straggler(&f, ROUNDS_RIG_RING_BYTES / WEIR_RING_WATERMARK_SHARE / 2, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_want(&f.rounds, true);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, epoch_that_took_longer_than_a_period_is_followed_by_the_next_one)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    rounds_rig_step(&f, 0);
    uint64_t late_ns = ROUNDS_RIG_EPOCH_NS + 2 * WEIR_ROUND_PERIOD_NS;
    cr_assert_eq(weir_rounds_advance(&f.rounds, late_ns), late_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    weir_rounds_advance(&f.rounds, late_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    rig_fini(&f.rig);
}

/* Opens an epoch that a reader has to be woken for. */
static void open_with_a_straggler(struct rounds_rig *f)
{
    init_with_a_straggler(f, 64, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_advance(&f->rounds, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_advance(&f->rounds, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(f, ROUNDS_RIG_STRAGGLER), 0);
}

Test(rounds_stragglers, haste_ends_the_patience_with_the_open_epoch)
{
    struct rounds_rig f;
    open_with_a_straggler(&f);
    weir_rounds_want(&f.rounds, true);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS),
                 ROUNDS_RIG_EPOCH_NS + 2 * WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);
    rig_fini(&f.rig);
}

Test(rounds_stragglers, open_epoch_will_do_for_who_wants_one_without_haste)
{
    struct rounds_rig f;
    open_with_a_straggler(&f);
    weir_rounds_want(&f.rounds, false);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(ROUNDS_RIG_CROWD));
    rounds_rig_step(&f, ROUNDS_RIG_STRAGGLER);
    uint64_t now_ns = ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(ROUNDS_RIG_CROWD) + WEIR_ROUND_GRACE_NS;
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_PERIOD_NS,
                 "and another is not wanted");
    rig_fini(&f.rig);
}

Test(rounds_stragglers, epoch_that_is_wanted_has_patience)
{
    struct rounds_rig f;
    init_with_a_straggler(&f, 64, ROUNDS_RIG_START_NS);
    rounds_rig_advance_wanted(&f.rounds, ROUNDS_RIG_START_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, ROUNDS_RIG_START_NS + PATIENCE_NS(ROUNDS_RIG_CROWD));
    rig_fini(&f.rig);
}

Test(rounds_stragglers, epoch_that_is_wanted_in_haste_has_none_and_the_next_one_has)
{
    struct rounds_rig f;
    init_with_a_straggler(&f, 64, ROUNDS_RIG_START_NS + WEIR_NS_PER_S); /* whatever that says */
    weir_rounds_want(&f.rounds, true);
    weir_rounds_want(&f.rounds, false);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);

    rounds_rig_step(&f, ROUNDS_RIG_STRAGGLER);
    weir_reader_wait(&f.rig.readers[ROUNDS_RIG_STRAGGLER], WEIR_READER_DRAINED);
    uint64_t next_ns = weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS + WEIR_ROUND_GRACE_NS);
    rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 2, 64);
    set_passed(&f, ROUNDS_RIG_STRAGGLER, next_ns);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rig.control.epoch, 2);
    expect_wake_at(&f, ROUNDS_RIG_STRAGGLER, next_ns + PATIENCE_NS(ROUNDS_RIG_CROWD));
    rig_fini(&f.rig);
}

Test(rounds_stragglers, snapshot_and_cut_end_the_patience_with_the_epoch_before_them)
{
    for (int cut = 0; cut <= 1; cut++) {
        struct rounds_rig f;
        unsigned cuts = 0;
        open_with_a_straggler(&f);
        if (cut)
            weir_rounds_cut(&f.rounds, rounds_rig_count_cut, &cuts);
        else
            weir_rounds_snapshot(&f.rounds);
        weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
        cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 1);
        rounds_rig_step(&f, ROUNDS_RIG_STRAGGLER);
        uint64_t next_ns = weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
        rig_put_sample(&f.rig, ROUNDS_RIG_STRAGGLER, 2, 64);
        weir_reader_wait(&f.rig.readers[ROUNDS_RIG_STRAGGLER], WEIR_READER_DRAINED);
        weir_rounds_advance(&f.rounds, next_ns);
        cr_assert_eq(f.rig.control.epoch, 2);
        weir_rounds_advance(&f.rounds, next_ns + WEIR_ROUND_GRACE_NS);
        cr_assert_eq(rounds_rig_wakes_sent(&f, ROUNDS_RIG_STRAGGLER), 2, "nor has that one any");
        rig_fini(&f.rig);
    }
}

Test(rounds_stragglers, reader_that_sleeps_on_a_held_chunk_is_woken)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + PATIENCE_NS(2));
    cr_assert_eq(rounds_rig_wakes_sent(&f, 0), 1);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 1), 0);
    rig_fini(&f.rig);
}

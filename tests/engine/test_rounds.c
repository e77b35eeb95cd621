/*
 * Epochs and markers on a fake clock, over hand-filled rings: when an epoch is opened, and that no marker stands before
 * what it must stand behind. Who is woken: test_rounds_stragglers.c.
 */
#include "engine/drain/rounds.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "tests/engine/rounds_rig.h"

/* ---- nothing to do ---- */

Test(rounds, idle_readers_are_never_woken_and_get_no_markers)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 3);
    uint64_t now_ns = ROUNDS_RIG_START_NS;
    for (unsigned n = 0; n < 10; n++)
        now_ns = weir_rounds_advance(&f.rounds, now_ns);
    cr_assert_eq(now_ns, ROUNDS_RIG_START_NS + 10 * WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 9);
    cr_assert_eq(f.rounds.pushed, 0);
    cr_assert_null(rig_pop(&f.rig));
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(rounds_rig_wakes_sent(&f, i), 0);
    rig_fini(&f.rig);
}

Test(rounds, no_epoch_is_opened_before_its_time)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS), ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS - 1), ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 0);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS), ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    rig_fini(&f.rig);
}

/* ---- the barrier ---- */

Test(rounds, marker_waits_for_every_reader_that_had_something)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 3);
    rig_put_sample(&f.rig, 0, 1, 64);
    rig_put_sample(&f.rig, 2, 2, 64);
    rounds_rig_step(&f, 0); /* holds its record in a chunk */
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_null(rig_pop(&f.rig));

    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 1);
    cr_assert_eq(f.rounds.pushed, 0);
    rounds_rig_step(&f, 2);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 2), ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_PERIOD_NS);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 2, 1);
    cr_assert_not(f.rounds.markers[0].awaited, "it would wake the writer");
    rounds_rig_expect_marker(&f);
    cr_assert_null(rig_pop(&f.rig));
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(rounds_rig_wakes_sent(&f, i), 0);
    rig_fini(&f.rig);
}

Test(rounds, records_younger_than_the_epoch_do_not_hold_the_marker_up)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS); /* finds reader 1 idle, and does not look at it again */
    rig_put_sample(&f.rig, 1, 2, 64);
    rounds_rig_step(&f, 0);
    rig_put_sample(&f.rig, 0, 3, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 1); /* reader 0 first: past, so reader 1 is asked now */
    cr_assert_eq(f.rounds.pushed, 0);
    rounds_rig_step(&f, 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 2);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

Test(rounds, epoch_in_which_nothing_was_handed_over_gets_no_marker)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    rounds_rig_step(&f, 0);
    uint64_t next_ns = weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rounds.pushed, 1);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(f.rounds.pushed, 1);
    rig_fini(&f.rig);
}

/* ---- kicks ---- */

Test(rounds, kick_opens_an_epoch_at_once)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    cr_assert_eq(rounds_rig_advance_wanted(&f.rounds, ROUNDS_RIG_START_NS + 5),
                 ROUNDS_RIG_START_NS + 5 + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    rig_fini(&f.rig);
}

Test(rounds, kick_waits_for_its_time_after_the_last_epoch_and_is_remembered)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    rounds_rig_advance_wanted(&f.rounds, ROUNDS_RIG_START_NS);
    cr_assert_eq(rounds_rig_advance_wanted(&f.rounds, ROUNDS_RIG_START_NS + 1),
                 ROUNDS_RIG_START_NS + WEIR_ROUND_KICK_NS);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS + 2), ROUNDS_RIG_START_NS + WEIR_ROUND_KICK_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    uint64_t third_ns = ROUNDS_RIG_START_NS + WEIR_ROUND_KICK_NS;
    cr_assert_eq(weir_rounds_advance(&f.rounds, third_ns), third_ns + WEIR_ROUND_PERIOD_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    rig_fini(&f.rig);
}

Test(rounds, who_waits_for_an_epoch_does_not_wait_as_long_as_a_kick)
{
    struct rounds_rig f;
    unsigned cuts = 0;
    rounds_rig_init(&f, 1);
    rounds_rig_advance_wanted(&f.rounds, ROUNDS_RIG_START_NS);
    cr_assert_eq(rounds_rig_advance_wanted(&f.rounds, ROUNDS_RIG_START_NS + 1),
                 ROUNDS_RIG_START_NS + WEIR_ROUND_KICK_NS);
    weir_rounds_cut(&f.rounds, rounds_rig_count_cut, &cuts);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS + 2), ROUNDS_RIG_START_NS + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_START_NS + WEIR_ROUND_GRACE_NS), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    rig_fini(&f.rig);
}

/* ---- markers that are all under way ---- */

/* One epoch with something in it, at the given time. */
static void run_epoch(struct rounds_rig *f, uint64_t now_ns, uint64_t sequence)
{
    rig_put_sample(&f->rig, 0, sequence, 64);
    rounds_rig_advance_wanted(&f->rounds, now_ns);
    rounds_rig_step(f, 0);
    weir_rounds_advance(&f->rounds, now_ns);
    cr_assert_eq(f->rounds.open, false);
}

Test(rounds, writer_that_is_far_behind_gets_its_marker_with_a_later_epoch)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    uint64_t now_ns = ROUNDS_RIG_START_NS;
    for (unsigned n = 0; n < WEIR_ROUND_MARKERS + 1; n++, now_ns += WEIR_ROUND_KICK_NS)
        run_epoch(&f, now_ns, n);
    cr_assert_eq(f.rounds.pushed, WEIR_ROUND_MARKERS);
    for (unsigned n = 0; n < WEIR_ROUND_MARKERS; n++) {
        rig_expect_samples(&f.rig, rig_pop(&f.rig), n, 1);
        rounds_rig_expect_marker(&f);
    }
    rig_expect_samples(&f.rig, rig_pop(&f.rig), WEIR_ROUND_MARKERS, 1);
    cr_assert_null(rig_pop(&f.rig));

    rounds_rig_advance_wanted(&f.rounds, now_ns); /* nothing new, but the last one owes a marker */
    cr_assert_eq(f.rounds.pushed, WEIR_ROUND_MARKERS + 1);
    rounds_rig_expect_marker(&f);
    rig_fini(&f.rig);
}

/* ---- snapshots ---- */

Test(rounds, a_snapshot_must_be_passed_by_every_reader)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    f.rounds.keep_to_snapshots = true;
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), 0);
    uint64_t now_ns = ROUNDS_RIG_START_NS + WEIR_ROUND_GRACE_NS;
    weir_rounds_advance(&f.rounds, now_ns);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_eq(f.rig.control.snapshot_epoch, 1);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(rounds_rig_wakes_sent(&f, i), 1, "its ring is empty, and yet it may retain something");
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, now_ns);
    cr_assert_eq(f.rounds.pushed, 0);
    rounds_rig_step(&f, 1);
    weir_rounds_advance(&f.rounds, now_ns);
    cr_assert(f.rounds.markers[0].awaited, "the snapshot is to be on file soon");
    rounds_rig_expect_marker(&f);
    cr_assert_eq(f.rounds.snapshots, 1);
    rig_fini(&f.rig);
}

Test(rounds, rings_are_drained_before_a_snapshot_by_time)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    f.rounds.keep_to_snapshots = f.rounds.drain_first = true;
    rig_put_sample(&f.rig, 1, 77, 64);
    f.rig.readers[1].newest_ns = 5; /* as if it retained */
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_eq(f.rig.control.snapshot_epoch, 0);
    rounds_rig_step(&f, 1);
    f.rig.readers[1].newest_ns = 77;
    uint64_t next_ns = weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(next_ns, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_GRACE_NS);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(f.rig.control.snapshot_epoch, 2);
    cr_assert_eq(f.rig.control.newest_ns, 77);
    for (unsigned i = 0; i < 2; i++)
        rounds_rig_step(&f, i);
    weir_rounds_advance(&f.rounds, next_ns);
    cr_assert_eq(f.rounds.snapshots, 1);
    rig_fini(&f.rig);
}

Test(rounds, a_snapshot_is_busy_until_its_marker_is_on_file)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_NONE);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), 0);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), -EBUSY);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_TAKING);
    rounds_rig_step(&f, 0);
    uint64_t next_ns = weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_lt(next_ns, ROUNDS_RIG_EPOCH_NS + WEIR_ROUND_PERIOD_NS, "somebody has to notice when it is on file");
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_WRITING);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), -EBUSY);
    rounds_rig_expect_marker(&f);
    cr_assert_eq(weir_rounds_snapshot_progress(&f.rounds), WEIR_SNAPSHOT_NONE);
    cr_assert_eq(weir_rounds_snapshot(&f.rounds), 0);
    rig_fini(&f.rig);
}

Test(rounds, between_snapshots_epochs_go_on_without_markers)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    f.rounds.keep_to_snapshots = true;
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rig.control.epoch, 1);
    cr_assert_eq(f.rounds.open, false);
    cr_assert_eq(f.rounds.pushed, 0);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    cr_assert_null(rig_pop(&f.rig));
    rig_fini(&f.rig);
}

static void note_pause(void *ctx, bool paused)
{
    struct rounds_rig *f = ctx;
    /* Paused before the epoch is open, and until it is closed. */
    cr_assert_eq(f->rounds.open, !paused || f->rounds.open);
    cr_assert_eq(f->rounds.pushed, paused ? 0 : 1);
    f->rig.raw.unmaps += paused ? 1 : 10;
}

Test(rounds, rings_are_paused_around_a_snapshot)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    f.rounds.pause = note_pause;
    f.rounds.pause_ctx = &f;
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rig.raw.unmaps, 1);
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    cr_assert_eq(f.rig.raw.unmaps, 11);
    rounds_rig_expect_marker(&f);
    rig_fini(&f.rig);
}

Test(rounds, a_snapshot_that_was_asked_for_before_the_end_is_the_end)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 1);
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_stop(&f.rounds, false);
    cr_assert_eq(f.rig.control.snapshot_epoch, 1);
    cr_assert_eq(f.rig.control.stop_epoch, 1);
    weir_rounds_close(&f.rounds);
    cr_assert_eq(f.rounds.snapshots, 1);
    rounds_rig_expect_marker(&f);
    rig_fini(&f.rig);
}

Test(rounds, a_snapshot_that_some_readers_have_passed_is_the_end_for_all)
{
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    weir_rounds_snapshot(&f.rounds);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS);
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
    struct rounds_rig f;
    rounds_rig_init(&f, 2);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS); /* stop comes in the middle of an epoch */
    weir_rounds_stop(&f.rounds, false);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 0), 1);
    cr_assert_eq(rounds_rig_wakes_sent(&f, 1), 1);
    cr_assert_eq(f.rig.control.stop_epoch, f.rig.control.epoch);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(weir_reader_step(&f.rig.readers[i]), WEIR_READER_STOPPED);
    cr_assert_eq(f.rounds.pushed, 0);
    weir_rounds_close(&f.rounds);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    rounds_rig_expect_marker(&f);
    rig_fini(&f.rig);
}

/* ---- cuts ---- */

Test(rounds, cut_is_made_by_an_epoch_that_was_opened_after_it_was_wanted)
{
    struct rounds_rig f;
    unsigned cuts = 0;
    rounds_rig_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS); /* an epoch is open */
    weir_rounds_cut(&f.rounds, rounds_rig_count_cut, &cuts);
    rounds_rig_step(&f, 0);
    rig_put_sample(&f.rig, 0, 2, 64);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 1),
                 ROUNDS_RIG_EPOCH_NS + 1 + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(cuts, 0);
    cr_assert_eq(f.rig.control.epoch, 1);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 1 + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(f.rig.control.epoch, 2);
    cr_assert_eq(cuts, 0);
    rounds_rig_step(&f, 0);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 2 + WEIR_ROUND_GRACE_NS), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 1, 1);
    rounds_rig_expect_marker(&f);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 2, 1);
    rounds_rig_expect_marker(&f);
    rig_fini(&f.rig);
}

Test(rounds, no_epoch_is_opened_behind_a_cut_until_it_is_resumed)
{
    struct rounds_rig f;
    unsigned cuts = 0;
    rounds_rig_init(&f, 1);
    weir_rounds_cut(&f.rounds, rounds_rig_count_cut, &cuts);
    cr_assert_eq(weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    uint64_t later_ns = ROUNDS_RIG_EPOCH_NS + 10 * WEIR_ROUND_PERIOD_NS;
    cr_assert_eq(rounds_rig_advance_wanted(&f.rounds, later_ns), UINT64_MAX);
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
    struct rounds_rig f;
    unsigned cuts = 0;
    rounds_rig_init(&f, 1);
    rig_put_sample(&f.rig, 0, 1, 64);
    weir_rounds_cut(&f.rounds, rounds_rig_count_cut, &cuts);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS); /* its epoch is open */
    weir_rounds_resume(&f.rounds, ROUNDS_RIG_EPOCH_NS);
    rounds_rig_step(&f, 0);
    weir_rounds_advance(&f.rounds, ROUNDS_RIG_EPOCH_NS + 1);
    cr_assert_eq(f.rounds.pushed, 1);
    cr_assert_eq(cuts, 0);
    rig_fini(&f.rig);
}

Test(rounds, cut_waits_for_a_free_marker)
{
    struct rounds_rig f;
    unsigned cuts = 0;
    rounds_rig_init(&f, 1);
    uint64_t now_ns = ROUNDS_RIG_START_NS;
    for (unsigned n = 0; n < WEIR_ROUND_MARKERS; n++, now_ns += WEIR_ROUND_KICK_NS)
        run_epoch(&f, now_ns, n);
    rig_put_sample(&f.rig, 0, WEIR_ROUND_MARKERS, 64);
    weir_rounds_cut(&f.rounds, rounds_rig_count_cut, &cuts);
    weir_rounds_advance(&f.rounds, now_ns);
    rounds_rig_step(&f, 0);
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), now_ns + WEIR_ROUND_GRACE_NS);
    cr_assert_eq(cuts, 0);
    rig_expect_samples(&f.rig, rig_pop(&f.rig), 0, 1);
    rounds_rig_expect_marker(&f);
    cr_assert_eq(weir_rounds_advance(&f.rounds, now_ns), UINT64_MAX);
    cr_assert_eq(cuts, 1);
    cr_assert_eq(f.rounds.pushed, WEIR_ROUND_MARKERS + 1);
    for (unsigned n = 1; n <= WEIR_ROUND_MARKERS; n++) {
        rig_expect_samples(&f.rig, rig_pop(&f.rig), n, 1);
        rounds_rig_expect_marker(&f);
    }
    rig_fini(&f.rig);
}

/* What is counted of a reader's looks at its rings, and for which moment. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "engine/drain/drain_watch.h"

static struct weir_drain_watch watch;
static struct weir_rotation_count rotations;

static void look_at(uint64_t us, struct weir_drain_look look)
{
    look.at_ns = WEIR_NS_PER_S + us * 1000;
    look.rotations = &rotations;
    weir_drain_watch_look(&watch, &look);
}

static struct weir_drain_summary summary_of(enum weir_drain_moment moment)
{
    struct weir_drain_sums sums = {0};
    struct weir_drain_summary summary;
    weir_drain_watch_sum(&watch, moment, &sums);
    weir_drain_sums_summarize(&sums, &summary);
    return summary;
}

static void expect_spread(struct weir_drain_spread found, uint64_t count, uint64_t max)
{
    cr_expect_eq(found.count, count, "count %llu", (unsigned long long)found.count);
    cr_expect_eq(found.max, max, "max %llu", (unsigned long long)found.max);
}

Test(drain_watch, first_look_has_no_gap)
{
    look_at(5, (struct weir_drain_look){.due = true, .fill_per_mille = 700});
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).gap_us, 0, 0);
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).fill_per_mille, 0, 0);
}

Test(drain_watch, look_that_nobody_called_for_is_no_gap_but_begins_one)
{
    look_at(0, (struct weir_drain_look){.due = true});
    look_at(1000, (struct weir_drain_look){.fill_per_mille = 100});
    look_at(1300, (struct weir_drain_look){.due = true, .fill_per_mille = 250});
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).gap_us, 1, 300);
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).fill_per_mille, 1, 250);
}

Test(drain_watch, wait_lasts_from_the_first_look_that_left_records_to_the_one_that_left_none)
{
    look_at(0, (struct weir_drain_look){.due = true});
    look_at(100, (struct weir_drain_look){.due = true, .leaves_behind = true});
    look_at(1100, (struct weir_drain_look){.due = true, .leaves_behind = true});
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).wait_us, 0, 0);
    look_at(3100, (struct weir_drain_look){.due = true});
    look_at(3200, (struct weir_drain_look){.due = true});
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).wait_us, 1, 3000);
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).gap_us, 4, 2000);
}

Test(drain_watch, gap_is_at_a_switch_that_is_under_way_or_was_in_between)
{
    look_at(0, (struct weir_drain_look){.due = true});
    look_at(10, (struct weir_drain_look){.due = true}); /* before */
    weir_rotation_count_begin(&rotations);
    look_at(30, (struct weir_drain_look){.due = true});
    look_at(60, (struct weir_drain_look){.due = true});
    weir_rotation_count_end(&rotations);
    look_at(100, (struct weir_drain_look){.due = true}); /* it ended in this one */
    look_at(150, (struct weir_drain_look){.due = true}); /* behind */
    weir_rotation_count_begin(&rotations);
    weir_rotation_count_end(&rotations);
    look_at(211, (struct weir_drain_look){.due = true}); /* all of it in this one */
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).gap_us, 2, 50);
    expect_spread(summary_of(WEIR_DRAIN_AT_ROTATION).gap_us, 4, 61);
}

Test(drain_watch, switches_overlap)
{
    weir_rotation_count_begin(&rotations);
    weir_rotation_count_begin(&rotations);
    look_at(0, (struct weir_drain_look){0});
    weir_rotation_count_end(&rotations);
    look_at(10, (struct weir_drain_look){.due = true});
    look_at(30, (struct weir_drain_look){.due = true}); /* the other one goes on */
    weir_rotation_count_end(&rotations);
    look_at(40, (struct weir_drain_look){.due = true});
    look_at(90, (struct weir_drain_look){.due = true});
    expect_spread(summary_of(WEIR_DRAIN_AT_ROTATION).gap_us, 3, 20);
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).gap_us, 1, 50);
}

Test(drain_watch, wait_is_at_a_switch_when_any_part_of_it_is)
{
    look_at(0, (struct weir_drain_look){.leaves_behind = true});
    weir_rotation_count_begin(&rotations);
    look_at(100, (struct weir_drain_look){.due = true, .leaves_behind = true});
    weir_rotation_count_end(&rotations);
    look_at(200, (struct weir_drain_look){.due = true, .leaves_behind = true});
    look_at(300, (struct weir_drain_look){.due = true, .leaves_behind = true});
    look_at(400, (struct weir_drain_look){.due = true});
    expect_spread(summary_of(WEIR_DRAIN_AT_ROTATION).wait_us, 1, 400);
    look_at(500, (struct weir_drain_look){.due = true, .leaves_behind = true});
    look_at(600, (struct weir_drain_look){.due = true});
    expect_spread(summary_of(WEIR_DRAIN_ELSEWHERE).wait_us, 1, 100);
}

Test(drain_watch, spreads_have_the_percentiles_of_all_readers)
{
    struct weir_drain_watch other = {0};
    struct weir_drain_sums sums = {0};
    struct weir_drain_summary summary;
    for (unsigned n = 0; n <= 99; n++)
        look_at(n * 4ull, (struct weir_drain_look){.due = true, .fill_per_mille = 6});
    for (unsigned n = 0; n < 2; n++)
        weir_drain_watch_look(
            &other, &(struct weir_drain_look){
                        .at_ns = (n + 1) * 5000000, .rotations = &rotations, .due = true, .fill_per_mille = 1000});
    weir_drain_watch_sum(&watch, WEIR_DRAIN_ELSEWHERE, &sums);
    weir_drain_watch_sum(&other, WEIR_DRAIN_ELSEWHERE, &sums);
    weir_drain_sums_summarize(&sums, &summary);
    cr_expect_eq(summary.gap_us.count, 100);
    cr_expect_eq(summary.gap_us.p50, 4);
    cr_expect_eq(summary.gap_us.p99, 4);
    cr_expect_eq(summary.gap_us.max, 5000);
    cr_expect_eq(summary.fill_per_mille.p99, 6);
    cr_expect_eq(summary.fill_per_mille.max, 1000);
}

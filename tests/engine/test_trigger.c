/* The dispatcher of triggers: refusals, what waits for what, who hears of it, and the end. */
#include "engine/control/trigger.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

struct action {
    struct weir_triggers *triggers;
    int result; /* of run() */
    unsigned runs;
    unsigned turn; /* of the last run, among all */
    unsigned *turns;
};

struct waiter {
    struct weir_trigger_request request;
    unsigned calls;
    int result;
    char what[WEIR_ERROR_TEXT_BYTES], hint[WEIR_ERROR_TEXT_BYTES];
};

struct fixture {
    struct weir_triggers triggers;
    struct action actions[WEIR_TRIGGER_COUNT];
    unsigned turns;
    char warning[1024]; /* the last one */
    unsigned warnings, verbose;
    struct weir_notice_sink sink;
};

static void keep_warning(void *ctx, enum weir_notice_level level, const char *line)
{
    struct fixture *f = ctx;
    f->verbose += level == WEIR_NOTICE_VERBOSE;
    if (level == WEIR_NOTICE_VERBOSE)
        return;
    cr_assert_eq(level, WEIR_NOTICE_WARNING);
    snprintf(f->warning, sizeof(f->warning), "%s", line);
    f->warnings++;
}

static int run(void *ctx, struct weir_error *err)
{
    struct action *action = ctx;
    action->runs++;
    action->turn = ++*action->turns;
    return action->result < 0 ? weir_error_set(err, action->result, "no room") : action->result;
}

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->sink = (struct weir_notice_sink){.emit = keep_warning, .ctx = f};
    weir_triggers_init(&f->triggers, &f->sink);
}

static struct action *add(struct fixture *f, enum weir_trigger trigger, int result, const char *busy, bool immediate)
{
    struct action *action = &f->actions[trigger];
    *action = (struct action){.triggers = &f->triggers, .result = result, .turns = &f->turns};
    weir_triggers_register(
        &f->triggers, trigger,
        &(struct weir_trigger_action){.run = run, .ctx = action, .busy = busy, .immediate = immediate});
    return action;
}

static void note(void *ctx, int result, const struct weir_error *err)
{
    struct waiter *waiter = ctx;
    waiter->calls++;
    waiter->result = result;
    snprintf(waiter->what, sizeof(waiter->what), "%s", result < 0 ? err->what : "");
    snprintf(waiter->hint, sizeof(waiter->hint), "%s", result < 0 ? err->hint : "");
}

static void ask(struct fixture *f, struct waiter *waiter, enum weir_trigger trigger)
{
    *waiter = (struct waiter){
        .request = {.trigger = trigger, .source = WEIR_TRIGGER_BY_CONTROL, .done = note, .ctx = waiter}};
    weir_triggers_request(&f->triggers, &waiter->request);
}

/* ---- refusals ---- */

Test(trigger, what_nothing_was_registered_for_is_refused_with_a_hint)
{
    static const struct {
        enum weir_trigger trigger;
        const char *what, *hint;
    } cases[] = {
        {WEIR_TRIGGER_SNAPSHOT, "this recording has nothing to snapshot", "record with -M SIZE or --overwrite"},
        {WEIR_TRIGGER_SNAPSHOT_ALLOC, "this recording has nothing to snapshot-alloc",
         "record with -M SIZE or --overwrite"},
        {WEIR_TRIGGER_ROTATE, "this recording has nothing to switch", "record with --switch-output"},
        {WEIR_TRIGGER_ENABLE, "this recording has nothing to enable", ""},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct waiter waiter;
        ask(&f, &waiter, cases[i].trigger);
        cr_expect_eq(waiter.calls, 1);
        cr_expect_eq(waiter.result, -EOPNOTSUPP);
        cr_expect_str_eq(waiter.what, cases[i].what);
        cr_expect_str_eq(waiter.hint, cases[i].hint);
    }
    cr_assert_eq(f.triggers.refused, 4);
    cr_assert_eq(f.warnings, 0); /* who asked has heard of it */
}

Test(trigger, refusal_that_nobody_waits_for_is_a_warning)
{
    struct fixture f;
    fixture_init(&f);
    weir_triggers_fire(&f.triggers, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BY_TIMER);
    cr_assert_eq(f.warnings, 1);
    cr_assert_str_eq(f.warning, "switch, asked for by a timer: this recording has nothing to switch");
    add(&f, WEIR_TRIGGER_SNAPSHOT, -ENOMEM, NULL, false);
    weir_triggers_fire(&f.triggers, WEIR_TRIGGER_SNAPSHOT, WEIR_TRIGGER_BY_EVENT);
    cr_assert_eq(f.warnings, 2);
    cr_assert_str_eq(f.warning, "snapshot: no room");
}

Test(trigger, refusals_for_the_same_reason_are_one_warning)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f);
    add(&f, WEIR_TRIGGER_SNAPSHOT, WEIR_TRIGGER_BEGUN, "busy", false);
    for (unsigned n = 0; n < 100; n++)
        weir_triggers_fire(&f.triggers, WEIR_TRIGGER_SNAPSHOT, WEIR_TRIGGER_BY_SIGNAL);
    cr_assert_eq(f.triggers.refused, 99);
    cr_assert_eq(f.warnings, 1);
    cr_assert_eq(f.verbose, 98);
    cr_assert_str_eq(f.warning, "snapshot, asked for by SIGUSR2: busy");
    weir_error_set(&err, -ENOSPC, "no room");
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_SNAPSHOT, -ENOSPC, &err);
    cr_assert_eq(f.warnings, 2);
    cr_assert_str_eq(f.warning, "snapshot: no room");
    weir_triggers_fire(&f.triggers, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BY_TIMER); /* another kind */
    cr_assert_eq(f.warnings, 3);
}

Test(trigger, signal_that_means_nothing_is_dropped)
{
    struct fixture f;
    fixture_init(&f);
    struct action *action = add(&f, WEIR_TRIGGER_ROTATE, 0, NULL, false);
    weir_triggers_signal(&f.triggers);
    cr_assert_eq(action->runs, 0);
    cr_assert_eq(f.warnings, 0);
    cr_assert_eq(f.triggers.asked[WEIR_TRIGGER_BY_SIGNAL], 0);
}

Test(trigger, busy_action_with_a_reason_is_refused_while_it_is_under_way)
{
    struct fixture f;
    struct waiter first, second, third;
    fixture_init(&f);
    struct action *action =
        add(&f, WEIR_TRIGGER_SNAPSHOT, WEIR_TRIGGER_BEGUN, "the last snapshot is still being written", false);
    ask(&f, &first, WEIR_TRIGGER_SNAPSHOT);
    ask(&f, &second, WEIR_TRIGGER_SNAPSHOT);
    cr_assert_eq(first.calls, 0);
    cr_assert_eq(second.result, -EBUSY);
    cr_assert_str_eq(second.what, "the last snapshot is still being written");
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    cr_assert_eq(first.calls, 1);
    cr_assert_eq(first.result, 0);
    struct weir_error err;
    cr_assert_eq(weir_triggers_refuse_busy(&f.triggers, WEIR_TRIGGER_SNAPSHOT, &err), 0);
    cr_assert_eq(f.triggers.refused, 1);
    ask(&f, &third, WEIR_TRIGGER_SNAPSHOT);
    cr_assert_eq(third.calls, 0);
    cr_assert_eq(action->runs, 2);
    cr_assert_eq(weir_triggers_refuse_busy(&f.triggers, WEIR_TRIGGER_SNAPSHOT, &err), -EBUSY);
    cr_assert_str_eq(err.what, "the last snapshot is still being written");
    cr_assert_eq(weir_triggers_refuse_busy(&f.triggers, WEIR_TRIGGER_ROTATE, &err), 0); /* it would be remembered */
    cr_assert_eq(f.triggers.refused, 2);
}

Test(trigger, failed_action_is_told_with_its_reason)
{
    struct fixture f;
    struct waiter waiter;
    fixture_init(&f);
    add(&f, WEIR_TRIGGER_SNAPSHOT_ALLOC, -ENOMEM, NULL, false);
    ask(&f, &waiter, WEIR_TRIGGER_SNAPSHOT_ALLOC);
    cr_assert_eq(waiter.result, -ENOMEM);
    cr_assert_str_eq(waiter.what, "no room");
    cr_assert_eq(f.triggers.refused, 1);
    cr_assert_eq(f.triggers.taken[WEIR_TRIGGER_SNAPSHOT_ALLOC], 0);
}

/* ---- done ---- */

Test(trigger, action_without_delay_is_done_before_the_request_returns)
{
    struct fixture f;
    struct waiter waiter;
    fixture_init(&f);
    struct action *action = add(&f, WEIR_TRIGGER_SNAPSHOT, 0, "busy", false);
    for (unsigned i = 1; i <= 3; i++) {
        ask(&f, &waiter, WEIR_TRIGGER_SNAPSHOT);
        cr_assert_eq(waiter.calls, 1);
        cr_assert_eq(waiter.result, 0);
        cr_assert_eq(action->runs, i);
    }
    cr_assert_eq(f.triggers.taken[WEIR_TRIGGER_SNAPSHOT], 3);
    cr_assert_eq(f.triggers.asked[WEIR_TRIGGER_BY_CONTROL], 3);
}

Test(trigger, signal_does_what_it_means)
{
    struct fixture f;
    fixture_init(&f);
    struct action *action = add(&f, WEIR_TRIGGER_ROTATE, 0, NULL, false);
    weir_triggers_set_signal(&f.triggers, WEIR_TRIGGER_ROTATE);
    weir_triggers_signal(&f.triggers);
    cr_assert_eq(action->runs, 1);
    cr_assert_eq(f.triggers.asked[WEIR_TRIGGER_BY_SIGNAL], 1);
}

Test(trigger, same_kind_is_remembered_once_for_all_who_ask)
{
    struct fixture f;
    struct waiter first, again[3];
    fixture_init(&f);
    struct action *action = add(&f, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BEGUN, NULL, false);
    ask(&f, &first, WEIR_TRIGGER_ROTATE);
    for (unsigned i = 0; i < 3; i++)
        ask(&f, &again[i], WEIR_TRIGGER_ROTATE);
    weir_triggers_fire(&f.triggers, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BY_SIZE);
    cr_assert_eq(action->runs, 1);
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_ROTATE, 0, NULL);
    cr_assert_eq(first.calls, 1);
    cr_assert_eq(action->runs, 2);
    cr_assert_eq(again[0].calls + again[1].calls + again[2].calls, 0);
    struct weir_error err;
    weir_error_set(&err, -EIO, "disk gone");
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_ROTATE, -EIO, &err);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(again[i].calls, 1);
        cr_assert_eq(again[i].result, -EIO);
        cr_assert_str_eq(again[i].what, "disk gone");
    }
    cr_assert_eq(action->runs, 2);
    cr_assert_eq(f.triggers.running, WEIR_TRIGGER_NONE);
    cr_assert_eq(f.warnings, 0); /* the waiters have heard of it */
}

Test(trigger, kinds_are_done_one_after_the_other_in_the_order_of_asking)
{
    struct fixture f;
    struct waiter waiters[3];
    fixture_init(&f);
    struct action *first = add(&f, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BEGUN, NULL, false);
    struct action *second = add(&f, WEIR_TRIGGER_SNAPSHOT_ALLOC, 0, "busy", false);
    struct action *third = add(&f, WEIR_TRIGGER_SNAPSHOT, 0, "busy", false);
    ask(&f, &waiters[0], WEIR_TRIGGER_ROTATE);
    ask(&f, &waiters[1], WEIR_TRIGGER_SNAPSHOT_ALLOC);
    ask(&f, &waiters[2], WEIR_TRIGGER_SNAPSHOT);
    cr_assert_eq(f.turns, 1);
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_ROTATE, 0, NULL);
    cr_assert_eq(first->turn, 1);
    cr_assert_eq(second->turn, 2);
    cr_assert_eq(third->turn, 3);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(waiters[i].calls, 1);
}

Test(trigger, immediate_action_does_not_wait)
{
    struct fixture f;
    struct waiter waiter, stop;
    fixture_init(&f);
    add(&f, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BEGUN, NULL, false);
    add(&f, WEIR_TRIGGER_STOP, 0, NULL, true);
    ask(&f, &waiter, WEIR_TRIGGER_ROTATE);
    ask(&f, &stop, WEIR_TRIGGER_STOP);
    cr_assert_eq(stop.calls, 1);
    cr_assert_eq(waiter.calls, 0);
}

Test(trigger, failure_later_that_nobody_waits_for_is_a_warning)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f);
    add(&f, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BEGUN, NULL, false);
    weir_triggers_fire(&f.triggers, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BY_TIMER);
    weir_error_set(&err, -ENOSPC, "the disk is full");
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_ROTATE, -ENOSPC, &err);
    cr_assert_str_eq(f.warning, "switch: the disk is full");
}

/* ---- callbacks that ask ---- */

struct repeater {
    struct weir_trigger_request request;
    struct weir_triggers *triggers;
    unsigned calls, most;
};

static void repeat(void *ctx, int result, const struct weir_error *err)
{
    struct repeater *repeater = ctx;
    (void)err;
    cr_assert_eq(result, 0);
    if (++repeater->calls < repeater->most)
        weir_triggers_request(repeater->triggers, &repeater->request);
}

Test(trigger, callback_may_ask_again_without_end_of_stack)
{
    struct fixture f;
    fixture_init(&f);
    struct action *action = add(&f, WEIR_TRIGGER_SNAPSHOT, 0, "busy", false);
    struct repeater repeater = {.triggers = &f.triggers, .most = 1000000};
    repeater.request = (struct weir_trigger_request){
        .trigger = WEIR_TRIGGER_SNAPSHOT, .source = WEIR_TRIGGER_BY_API, .done = repeat, .ctx = &repeater};
    weir_triggers_request(&f.triggers, &repeater.request);
    cr_assert_eq(action->runs, 1000000);
    cr_assert_eq(repeater.calls, 1000000);
}

/* ---- the end ---- */

Test(trigger, end_refuses_what_is_remembered_and_all_that_follows)
{
    struct fixture f;
    struct waiter running, remembered, late;
    fixture_init(&f);
    struct action *action = add(&f, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BEGUN, NULL, false);
    add(&f, WEIR_TRIGGER_STOP, 0, NULL, true);
    ask(&f, &running, WEIR_TRIGGER_ROTATE);
    ask(&f, &remembered, WEIR_TRIGGER_ROTATE);
    weir_triggers_end(&f.triggers);
    weir_triggers_end(&f.triggers);
    cr_assert_eq(remembered.result, -ECANCELED);
    cr_assert_str_eq(remembered.what, "the recording is ending");
    cr_assert_eq(remembered.calls, 1);
    ask(&f, &late, WEIR_TRIGGER_STOP);
    cr_assert_eq(late.result, -ECANCELED);
    cr_assert_eq(running.calls, 0);
    weir_triggers_complete(&f.triggers, WEIR_TRIGGER_ROTATE, 0, NULL);
    cr_assert_eq(running.calls, 1);
    cr_assert_eq(running.result, 0);
    cr_assert_eq(action->runs, 1);
}

Test(trigger, names_are_the_words_of_the_control_protocol)
{
    static const char *const names[WEIR_TRIGGER_COUNT] = {"dump",    "snapshot", "snapshot-alloc", "switch", "enable",
                                                          "disable", "stop"};
    for (unsigned i = 0; i < WEIR_TRIGGER_COUNT; i++)
        cr_expect_str_eq(weir_trigger_name((enum weir_trigger)i), names[i]);
}

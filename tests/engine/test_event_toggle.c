/* Events of a running recording on and off: which are, what is refused, and what is said. Simulated kernel. */
#include "engine/session/event_toggle.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "engine/control/evlist_text.h"
#include "tests/engine/event_set_rig.h"

static struct event_set_rig rig;
static const struct weir_aux_plan no_aux;
static struct weir_aux_keeper keeper = WEIR_AUX_KEEPER_INIT;
static struct weir_snapshots snapshots;
static struct weir_event_toggle toggle;

static void open_events(const char *events)
{
    event_set_rig_init(&rig, events, 0);
    event_set_rig_expect_open(&rig);
    keeper.setup.plan = &no_aux;
    toggle =
        (struct weir_event_toggle){.events = &rig.set, .aux = &keeper, .snapshots = &snapshots, .notices = &rig.sink};
    rig.faulty.enables = rig.faulty.disables = 0;
    rig.notice_count = 0;
}

static void close_events(void)
{
    event_set_rig_fini(&rig);
}

/* ---- refused ---- */

Test(event_toggle, name_that_no_event_has_is_refused)
{
    open_events("cpu-clock");
    cr_assert_eq(weir_event_toggle_named(&toggle, "cycles", true, &rig.err), -ENOENT);
    cr_assert_str_eq(rig.err.what, "there is no event 'cycles'");
    cr_assert_eq(rig.faulty.enables, 0);
    close_events();
}

Test(event_toggle, member_of_a_group_is_refused_and_its_leader_named)
{
    open_events("{cpu-clock,page-faults}");
    cr_assert_eq(weir_event_toggle_named(&toggle, "page-faults", false, &rig.err), -EINVAL);
    cr_assert_str_eq(rig.err.hint, "name the group's leader, 'cpu-clock'");
    cr_assert_eq(rig.faulty.disables, 0);
    close_events();
}

Test(event_toggle, permanent_snapshot_keeps_events_off)
{
    open_events("cpu-clock");
    snapshots.permanent = true;
    cr_assert_eq(weir_event_toggle_named(&toggle, "cpu-clock", true, &rig.err), -EALREADY);
    weir_event_toggle_all(&toggle, true);
    cr_assert_eq(rig.faulty.enables, 0);
    cr_assert_not(toggle.on);
    cr_assert_eq(rig.notice_count, 0);
    cr_assert_eq(weir_event_toggle_named(&toggle, "cpu-clock", false, &rig.err), 0, "off is what it is");
    close_events();
}

/* ---- done ---- */

Test(event_toggle, all_events_go_on_and_off_in_the_words_of_perf)
{
    open_events("cpu-clock,page-faults");
    weir_event_toggle_all(&toggle, true);
    cr_assert(toggle.on);
    cr_assert_eq(rig.faulty.enables, 2 * CPUS);
    cr_assert_str_eq(rig.notices[0], "Events enabled");
    weir_event_toggle_all(&toggle, false);
    cr_assert_not(toggle.on);
    cr_assert_eq(rig.faulty.disables, 2 * CPUS);
    cr_assert_str_eq(rig.notices[1], "Events disabled");
    close_events();
}

Test(event_toggle, one_event_is_enabled_alone)
{
    open_events("cpu-clock,page-faults");
    cr_assert_eq(weir_event_toggle_named(&toggle, "page-faults", true, &rig.err), 0);
    cr_assert_eq(rig.faulty.enables, CPUS);
    cr_assert(toggle.on, "some samples count");
    cr_assert_str_eq(rig.notices[0], "Event page-faults enabled");
    close_events();
}

Test(event_toggle, end_of_the_recording_says_nothing)
{
    open_events("cpu-clock");
    weir_event_toggle_begin(&toggle, true);
    cr_assert(toggle.on);
    weir_event_toggle_end(&toggle);
    cr_assert_not(toggle.on);
    cr_assert_eq(rig.notice_count, 0);
    cr_assert_eq(rig.faulty.enables + rig.faulty.disables, 0);
    close_events();
}

Test(event_toggle, triggers_enable_and_disable)
{
    struct weir_triggers triggers;
    open_events("cpu-clock");
    weir_triggers_init(&triggers, NULL);
    weir_event_toggle_register(&toggle, &triggers);
    weir_triggers_fire(&triggers, WEIR_TRIGGER_ENABLE, WEIR_TRIGGER_BY_CONTROL);
    cr_assert(toggle.on);
    weir_triggers_fire(&triggers, WEIR_TRIGGER_DISABLE, WEIR_TRIGGER_BY_CONTROL);
    cr_assert_not(toggle.on);
    cr_assert_eq(rig.faulty.enables, CPUS);
    cr_assert_eq(rig.faulty.disables, CPUS);
    close_events();
}

/* ---- why rings stand still ---- */

static unsigned pauses, resumes;

static int count_pause(void *ctx, int fd, bool paused)
{
    (void)ctx, (void)fd;
    *(paused ? &pauses : &resumes) += 1;
    return 0;
}

Test(event_toggle, rings_go_on_only_when_no_reason_is_left)
{
    open_events("cpu-clock");
    struct weir_kernel_ops ops = *rig.set.kernel->ops;
    struct weir_kernel kernel = *rig.set.kernel;
    const struct weir_kernel *before = rig.set.kernel;
    ops.ring_pause = count_pause;
    kernel.ops = &ops;
    rig.set.kernel = &kernel;
    rig.set.ring_fds[0] = 3; /* as if the data ring of the first place were mapped */
    weir_event_set_pause(&rig.set, WEIR_PAUSE_FULL_DISK, true);
    weir_event_set_pause(&rig.set, WEIR_PAUSE_SNAPSHOT, true);
    weir_event_set_pause(&rig.set, WEIR_PAUSE_SNAPSHOT, false);
    cr_assert_eq(pauses, 3, "the disk is full still");
    cr_assert_eq(resumes, 0);
    weir_event_set_pause(&rig.set, WEIR_PAUSE_FULL_DISK, false);
    cr_assert_eq(resumes, 1);
    rig.set.ring_fds[0] = -1;
    rig.set.kernel = before;
    close_events();
}

/* ---- evlist ---- */

Test(event_toggle, evlist_has_the_words_of_perf_evlist)
{
    struct weir_buf text = WEIR_BUF_INIT;
    open_events("{cpu-clock,page-faults},context-switches");
    weir_evlist_append_text(&rig.list, WEIR_CONTROL_GROUPS, &text);
    cr_assert_str_eq(weir_buf_str(&text), "{cpu-clock,page-faults}\ncontext-switches\ndummy:u\n");
    weir_buf_reset(&text);
    weir_evlist_append_text(&rig.list, WEIR_CONTROL_NAMES, &text);
    cr_assert_str_eq(weir_buf_str(&text), "cpu-clock\npage-faults\ncontext-switches\ndummy:u\n");
    weir_buf_fini(&text);
    close_events();
}

/* Events that ask for something: what their option takes, and how often they have an effect. Occurrences themselves are
 * tested on the real kernel (tests/record/triggers.sh). */
#include "engine/control/event_trigger.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/aux_rig.h"

Test(event_trigger, what_cannot_ask_is_refused)
{
    static const struct {
        const char *text;
        int code;
        const char *what, *hint;
    } cases[] = {
        {"cyclse", -ENOENT, "unknown event 'cyclse' at column 1", "did you mean 'cycles'?"},
        {"cpu-clock", -EINVAL, "event 'cpu-clock' occurs all the time",
         "say how many samples make one occurrence: cpu-clock/period=1000000000/"},
        {"faults,task-clock", -EINVAL, "event 'task-clock' occurs all the time",
         "say how many samples make one occurrence: task-clock/period=1000000000/"},
        {"cycles", -EINVAL, "event 'cycles' occurs all the time",
         "say how many samples make one occurrence: cycles/period=1000000000/"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list = WEIR_EVENT_LIST_INIT;
        struct weir_error err = {0};
        cr_expect_eq(weir_event_trigger_parse(&list, cases[i].text, &err), cases[i].code, "'%s'", cases[i].text);
        cr_expect_str_eq(err.what, cases[i].what);
        cr_expect_str_eq(err.hint, cases[i].hint);
        weir_event_list_fini(&list);
    }
}

/* It would be waited for in vain: its ring has no samples. */
Test(event_trigger, aux_event_is_refused)
{
    static const char *const texts[] = {"intel_pt//", "faults,intel_pt/period=1/", "intel_bts//"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, texts[i]);
        char what[128];
        size_t last = rig.list.count - 1;
        cr_expect_eq(weir_event_trigger_check(&rig.list, last + 1, &rig.err), 0);
        cr_expect_eq(weir_event_trigger_check(&rig.list, 0, &rig.err), -EINVAL);
        snprintf(what, sizeof(what), "event '%s' writes to an AUX area and never occurs", rig.list.events[last].name);
        cr_expect_str_eq(rig.err.what, what);
        cr_expect_str_eq(rig.err.hint,
                         "name one that has samples of its own: a tracepoint, or cycles/period=1000000000/");
        aux_rig_fini(&rig);
    }
}

/* Events that are no tracepoints take none, so the message shows what was taken for it. */
Test(event_trigger, filter_begins_behind_the_last_colon_before_an_operator)
{
    static const struct {
        const char *text, *filter;
    } cases[] = {
        {"faults:a==1", "a==1"},
        {"faults:u:!(a & 1)", "!(a & 1)"},
        {"faults:a ~ \"b:c\" && d != 3", "a ~ \"b:c\" && d != 3"},
        {"faults/name=x/:u:a<1", "a<1"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list = WEIR_EVENT_LIST_INIT;
        struct weir_error err = {0};
        cr_expect_eq(weir_event_trigger_parse(&list, cases[i].text, &err), -EINVAL, "'%s'", cases[i].text);
        cr_expect_not_null(strstr(err.what, cases[i].filter), "'%s' is not in '%s'", cases[i].filter, err.what);
        weir_event_list_fini(&list);
    }
}

Test(event_trigger, events_without_a_filter_are_those_of_the_grammar)
{
    static const char *const texts[] = {"faults", "faults:u", "mem:0x1000/8:rw", "cpu-clock/period=1000000/:u",
                                        "cs,faults"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct weir_event_list list = WEIR_EVENT_LIST_INIT;
        struct weir_error err = {0};
        cr_expect_eq(weir_event_trigger_parse(&list, texts[i], &err), 0, "'%s': %s", texts[i], err.what);
        cr_expect_eq(list.count, i == WEIR_ARRAY_COUNT(texts) - 1 ? 2 : 1);
        weir_event_list_fini(&list);
    }
}

Test(event_trigger, no_memory_is_told)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    failing_alloc_after(0);
    cr_assert_eq(weir_event_trigger_parse(&list, "faults", NULL), -ENOMEM);
    failing_alloc_never();
    weir_event_list_fini(&list);
}

Test(event_trigger, what_was_never_opened_is_closed)
{
    struct weir_event_trigger trigger = {0};
    weir_event_trigger_close(&trigger);
    weir_event_trigger_close(NULL);
}

/* ---- how often ---- */

Test(event_trigger, occurrences_during_the_hold_off_have_no_effect)
{
    struct weir_hold_off hold_off = {.hold_ns = 100};
    cr_assert(weir_hold_off_pass(&hold_off, 0)); /* the first one always */
    cr_assert_not(weir_hold_off_pass(&hold_off, 0));
    cr_assert_not(weir_hold_off_pass(&hold_off, 99));
    cr_assert(weir_hold_off_pass(&hold_off, 100));
    cr_assert_not(weir_hold_off_pass(&hold_off, 199));
    cr_assert(weir_hold_off_pass(&hold_off, 1000));
    cr_assert_eq(hold_off.passed, 3);
    cr_assert_eq(hold_off.held, 3);
}

Test(event_trigger, without_a_hold_off_all_have_an_effect)
{
    struct weir_hold_off hold_off = {0};
    for (uint64_t i = 0; i < 10; i++)
        cr_assert(weir_hold_off_pass(&hold_off, 5));
}

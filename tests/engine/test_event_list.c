/* The list of events: its memory, the events that weir adds, groups of all, and samples under foreign ids. */
#include "engine/events/event_list.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"
#include "engine/events/event_config.h"
#include "engine/events/event_parse.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/event_text.h"

/* ---- memory ---- */

static int add_default(struct weir_event_list *list)
{
    return weir_event_list_add_default(list, NULL);
}

Test(event_list, own_events_survive_each_failing_allocation)
{
    int (*const add[])(struct weir_event_list *) = {add_default, weir_event_list_add_sideband,
                                                    weir_event_list_add_deferred};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(add); i++) {
        for (unsigned n = 0; n < 2; n++) { /* the list, the name */
            struct weir_event_list list = WEIR_EVENT_LIST_INIT;
            failing_alloc_after(n);
            cr_expect_eq(add[i](&list), -ENOMEM);
            cr_expect_eq(list.count, 0);
            cr_expect_eq(add[i](&list), 0);
            weir_event_list_fini(&list);
        }
    }
}

Test(event_list, fini_takes_null_empty_and_used_lists)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    weir_event_list_fini(NULL);
    weir_event_list_fini(&list);
    cr_assert_eq(weir_event_list_parse(&list, "cs", NULL, NULL), 0);
    weir_event_list_fini(&list);
    weir_event_list_fini(&list);
    cr_expect_eq(list.count, 0);
    cr_expect_null(list.events);
}

Test(event_list, list_grows_as_needed)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    for (int i = 0; i < 100; i++)
        cr_assert_eq(weir_event_list_parse(&list, "cs,faults", NULL, NULL), 0);
    cr_expect_eq(list.count, 200);
    cr_expect_str_eq(list.events[199].name, "faults");
    weir_event_list_fini(&list);
}

/* ---- events that weir adds ---- */

Test(event_list, sideband_event_is_told_from_a_dummy_of_the_user)
{
    struct weir_event_list list = event_text_parse_one("dummy:u");
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    cr_assert_eq(list.count, 2);
    cr_expect_not(list.events[0].sideband);
    cr_expect(list.events[1].sideband);
    cr_expect_str_eq(list.events[1].name, "dummy:u");
    cr_expect_eq(list.events[1].attr.type, PERF_TYPE_SOFTWARE);
    cr_expect_eq(list.events[1].attr.config, PERF_COUNT_SW_DUMMY);
    weir_event_list_fini(&list);
}

Test(event_list, event_of_user_parts_is_a_side_event_behind_the_sideband)
{
    struct weir_event_list list = event_text_parse_one("cs");
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    cr_assert_eq(weir_event_list_add_deferred(&list), 0);
    cr_assert_eq(list.count, 3);
    cr_expect(list.events[2].deferred && !list.events[2].sideband && !list.events[1].deferred);
    cr_expect_str_eq(list.events[2].name, "deferred-chains");
    cr_expect_eq(list.events[2].attr.type, PERF_TYPE_SOFTWARE);
    cr_expect_eq(list.events[2].attr.config, PERF_COUNT_SW_DUMMY);
    cr_expect(list.events[2].attr.exclude_kernel);
    weir_event_list_fini(&list);
}

/* ---- groups ---- */

Test(event_list, one_group_of_all_has_the_first_as_leader)
{
    struct weir_event_list list;
    cr_assert_eq(event_text_parse(&list, "cs,{faults,dummy},cpu-clock", NULL), 0);
    weir_event_list_group(&list);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(list.events[i].leader, 0);
    weir_event_list_fini(&list);
}

/* ---- samples under ids of other recorders ---- */

static const struct {
    const char *events;
    int found, faults; /* when nobody knows whose id it is; when that of page faults */
} misnamed[] = {
    {"cycles,cpu-clock,task-clock,dummy,bpf-output,4:1", -1, -1},
    {"cycles,faults", 1, 1},
    {"cs", 0, -1},
    {"cs,faults", -1, 1},
    {"cs:u,cs:k", -1, -1},
    {"faults:u,faults:k,cs", -1, -1},
    {"{cs,faults,migrations}:S", 0, -1}, /* members have no samples */
    {"cpu-clock,1:11", 1, -1},
};

Test(event_list, samples_of_nobody_are_of_the_only_event_that_the_kernel_mixes_up)
{
    const struct weir_event named = {.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(misnamed); i++) {
        struct weir_event_list list;
        cr_assert_eq(event_text_parse(&list, misnamed[i].events, NULL), 0, "%s", misnamed[i].events);
        cr_assert_eq(weir_event_list_add_sideband(&list), 0);
        weir_event_list_configure(&list, &(struct weir_event_config){.freq_hz = 99});
        cr_expect_eq(weir_event_list_find_misnamed(&list, NULL), misnamed[i].found, "%s", misnamed[i].events);
        cr_expect_eq(weir_event_list_find_misnamed(&list, &named), misnamed[i].faults, "%s", misnamed[i].events);
        weir_event_list_fini(&list);
    }
}

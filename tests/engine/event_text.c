/* See event_text.h. */
#include "tests/engine/event_text.h"

#include <criterion/criterion.h>

#include "engine/events/event_parse.h"
#include "tests/engine/fake_tracefs.h"

int event_text_parse(struct weir_event_list *list, const char *text, struct weir_error *err)
{
    struct fake_tracefs fake;
    fake_tracefs_init(&fake);
    *list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    const struct weir_event_sources sources = {.tracefs_root = fake.root, .sysfs_root = fake.root};
    int result = weir_event_list_parse(list, text, &sources, err);
    fake_tracefs_fini(&fake);
    return result;
}

struct weir_event_list event_text_parse_one(const char *text)
{
    struct weir_event_list list;
    struct weir_error err;
    cr_assert_eq(event_text_parse(&list, text, &err), 0, "%s: %s", text, err.what);
    cr_assert_eq(list.count, 1, "%s", text);
    return list;
}

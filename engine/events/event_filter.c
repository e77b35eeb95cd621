/* Joins the texts of --filter, and resolves those that are address filters. Main thread, set-up. */
#include "engine/events/event_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "engine/events/address_filter.h"
#include "engine/events/pmu.h"

/* Joins text to the filter that the event has. 0 or -ENOMEM. */
static int append(struct weir_event *event, const char *text)
{
    char *filter;
    bool tracepoint = event->tracepoint_system;
    int length = event->filter ? asprintf(&filter, tracepoint ? "(%s) && (%s)" : "%s,%s", event->filter, text)
                               : asprintf(&filter, "%s", text);
    if (length < 0)
        return -ENOMEM;
    free(event->filter);
    event->filter = filter;
    return 0;
}

/* Gives a filter to an event that is no tracepoint: the event must take address filters. */
static int append_address_filter(struct weir_event *event, const char *text, const struct weir_pmu_list *pmus,
                                 struct weir_error *err)
{
    unsigned max = weir_pmu_address_filters(pmus, event->attr.type);
    if (max == 0) {
        weir_error_set(err, -EINVAL, "filter '%s' is for tracepoints, but event %s is not one", text, event->name);
        weir_error_hint(err, "--filter follows the -e that it applies to: -e SYSTEM:NAME --filter '%s' -e %s", text,
                        event->name);
        return -EINVAL;
    }
    struct weir_buf resolved = WEIR_BUF_INIT;
    int result = weir_address_filter_resolve(&resolved, text, max, NULL, err);
    if (result == 0)
        result = append(event, weir_buf_str(&resolved));
    weir_buf_fini(&resolved);
    return result;
}

int weir_event_list_filter(struct weir_event_list *list, size_t first, const char *text, const char *sysfs_root,
                           struct weir_error *err)
{
    struct weir_pmu_list pmus = WEIR_PMU_LIST_INIT;
    int result = 0;
    for (size_t i = first; result == 0 && i < list->count; i++) {
        struct weir_event *event = &list->events[i];
        if (!event->tracepoint_system && !pmus.devices) /* read once, and not for tracepoints */
            result = weir_pmu_list_read(&pmus, sysfs_root);
        if (result == 0)
            result = event->tracepoint_system ? append(event, text) : append_address_filter(event, text, &pmus, err);
    }
    weir_pmu_list_fini(&pmus);
    return result == -ENOMEM ? weir_error_set(err, -ENOMEM, "out of memory") : result;
}

/*
 * Filters on open events. Coordinator thread only. Source: PERF_EVENT_IOC_SET_FILTER, perf_event_open(2);
 * Documentation/trace/events.rst, Linux 6.12, on their grammar.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/event_set_internal.h"

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* "common_pid < 10 || common_pid > 12" for the runs of consecutive ids: threads that were made together have such. */
static int build_filter(struct weir_buf *text, const pid_t *tids, size_t count)
{
    pid_t *sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, tids, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_pids);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && sorted[end] - sorted[end - 1] <= 1)
            end++;
        if (sorted[i] == sorted[end - 1])
            weir_buf_printf(text, "%scommon_pid != %d", i ? " && " : "", sorted[i]);
        else
            weir_buf_printf(text, "%s(common_pid < %d || common_pid > %d)", i ? " && " : "", sorted[i],
                            sorted[end - 1]);
        i = end;
    }
    free(sorted);
    return weir_buf_error(text);
}

int weir_event_set_exclude_tasks(struct weir_event_set *set, const pid_t *tids, size_t count, struct weir_error *err)
{
    struct weir_buf filter = WEIR_BUF_INIT;
    int result = build_filter(&filter, tids, count);
    for (unsigned event = 0; result == 0 && event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        size_t first = weir_event_set_slot(set, event, 0, 0), end = first + weir_event_set_slots(set);
        for (size_t i = first; result == 0 && described->tracepoint_system && i < end; i++) {
            if (set->fds[i] < 0)
                continue;
            result = set->kernel->ops->event_set_filter(set->kernel->ctx, set->fds[i], weir_buf_str(&filter));
            if (result < 0)
                weir_error_set_errno(err, result, "cannot set filter '%s' on event %s", weir_buf_str(&filter),
                                     described->name);
        }
    }
    weir_buf_fini(&filter);
    return result;
}

/*
 * Sets the filters of open events: those of --filter, and the one that leaves weir's own threads out of tracepoints.
 * Coordinator thread.
 *
 * Source: PERF_EVENT_IOC_SET_FILTER, perf_event_open(2); Documentation/trace/events.rst, Linux 6.12, on the grammar of
 * tracepoint filters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/events/event_set_internal.h"

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Writes "common_pid < 10 || common_pid > 12" for each run of consecutive ids: threads made together have such ids. */
static int exclude_text(struct weir_buf *text, const pid_t *tids, size_t count)
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

/* For unbalanced filters of tracepoints the kernel returns numbers that are no errno
 * (kernel/trace/trace_events_filter.c of Linux 6.12, TOO_MANY_CLOSE, TOO_MANY_OPEN, MISSING_QUOTE). NULL: an errno. */
static const char *imbalance(int code)
{
    static const char *const names[] = {"a ')' has no '('", "a '(' has no ')'", "a quotation mark is missing"};
    return code <= -1 && code >= -3 ? names[-code - 1] : NULL;
}

/* perf_event_set_filter(), kernel/events/core.c, takes at most a page, with the terminating zero. */
static bool is_too_long(const char *text)
{
    return strlen(text) >= (size_t)sysconf(_SC_PAGESIZE);
}

static int set_too_long(const struct weir_event *event, const char *text, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "cannot set a filter of %zu bytes on event %s: the kernel accepts %ld", strlen(text),
                   event->name, sysconf(_SC_PAGESIZE) - 1);
    weir_error_hint(err, "a range is shorter than single values; --exclude-perf adds weir's own threads, and "
                         "--threads=numa has few of them");
    return -EINVAL;
}

int weir_event_filter_refused(const struct weir_event *event, const char *text, int code, struct weir_error *err)
{
    if (code == -EINVAL && event->tracepoint_system && is_too_long(text))
        return set_too_long(event, text, err);
    const char *what = event->tracepoint_system ? imbalance(code) : NULL;
    if (what)
        return weir_error_set(err, -EINVAL, "cannot set filter '%s' on event %s: %s", text, event->name, what);
    weir_error_set_errno(err, code, "cannot set filter '%s' on event %s", text, event->name);
    if (code == -EINVAL && event->tracepoint_system)
        weir_error_hint(err,
                        "its fields are those of events/%s/%s/format in tracefs (/sys/kernel/tracing); words are "
                        "in double quotes: comm == \"sh\"",
                        event->tracepoint_system, event->tracepoint_name);
    else if (code == -EINVAL && !event->tracepoint_system)
        weir_error_hint(err,
                        "its PMU may not take such a filter; one without @FILE is of the kernel, and not for :u; a "
                        "range must not be empty");
    else if (code == -EOPNOTSUPP)
        weir_error_hint(err, "filters with @FILE are for tasks, not for whole CPUs: leave out -a and -C");
    return code;
}

static int set_on_event(struct weir_event_set *set, unsigned event, const char *text, struct weir_error *err)
{
    size_t first = weir_event_set_slot(set, event, 0, 0), end = first + weir_event_set_slots(set);
    for (size_t i = first; i < end; i++) {
        if (set->fds[i] < 0)
            continue;
        int result = set->kernel->ops->event_set_filter(set->kernel->ctx, set->fds[i], text);
        if (result < 0)
            return weir_event_filter_refused(&set->list->events[event], text, result, err);
    }
    return 0;
}

int weir_event_set_apply_filters(struct weir_event_set *set, struct weir_error *err)
{
    int result = 0;
    for (unsigned event = 0; result == 0 && event < set->event_count; event++) {
        if (set->list->events[event].filter)
            result = set_on_event(set, event, set->list->events[event].filter, err);
    }
    return result;
}

/* Appends the filter of an event: its own, for a tracepoint together with that of weir's own threads. */
static void append_filter(const struct weir_event_set *set, unsigned event, struct weir_buf *out)
{
    const struct weir_event *described = &set->list->events[event];
    const char *others = described->tracepoint_system ? set->own_tasks : NULL;
    if (described->filter && others)
        weir_buf_printf(out, "(%s) && (%s)", described->filter, others);
    else if (described->filter || others)
        weir_buf_printf(out, "%s", others ? others : described->filter);
}

int weir_event_set_exclude_tasks(struct weir_event_set *set, const pid_t *tids, size_t count, struct weir_error *err)
{
    struct weir_buf others = WEIR_BUF_INIT, both = WEIR_BUF_INIT;
    int result = exclude_text(&others, tids, count);
    if (result == 0) {
        free(set->own_tasks);
        set->own_tasks = strdup(weir_buf_str(&others));
        result = set->own_tasks ? 0 : -ENOMEM;
    }
    for (unsigned event = 0; result == 0 && event < set->event_count; event++) {
        weir_buf_reset(&both);
        append_filter(set, event, &both);
        result = weir_buf_error(&both);
        if (result == 0 && both.used > 0)
            result = set_on_event(set, event, weir_buf_str(&both), err);
    }
    weir_buf_fini(&others);
    weir_buf_fini(&both);
    return result;
}

int weir_event_set_filter_fd(const struct weir_event_set *set, unsigned event, int fd, struct weir_error *err)
{
    struct weir_buf filter = WEIR_BUF_INIT;
    append_filter(set, event, &filter);
    int result = weir_buf_error(&filter);
    if (result == 0 && filter.used > 0) {
        const char *text = weir_buf_str(&filter);
        result = set->kernel->ops->event_set_filter(set->kernel->ctx, fd, text);
        if (result < 0)
            result = weir_event_filter_refused(&set->list->events[event], text, result, err);
    }
    weir_buf_fini(&filter);
    return result;
}

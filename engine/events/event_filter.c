/* Joins the texts of --filter: kept as they are, resolved as address filters, or parsed as sample filters. Main thread,
 * set-up. */
#include "engine/events/event_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/events/address_filter.h"
#include "engine/events/pmu.h"
#include "engine/events/sample_filter.h"

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

static int append_address_filter(struct weir_event *event, const char *text, unsigned max, struct weir_error *err)
{
    struct weir_buf resolved = WEIR_BUF_INIT;
    int result = weir_address_filter_resolve(&resolved, text, max, NULL, err);
    if (result == 0)
        result = append(event, weir_buf_str(&resolved));
    weir_buf_fini(&resolved);
    return result;
}

/* The kernel asks no BPF program about samples of other events. Programs write samples of bpf-output themselves, and
 * the hardware writes to AUX areas. A program on a tracepoint or a probe decides for all recorders. */
bool weir_event_takes_sample_filter(const struct weir_event *event)
{
    bool is_output = event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_BPF_OUTPUT;
    bool is_probe =
        event->pmu_name && (strcmp(event->pmu_name, "kprobe") == 0 || strcmp(event->pmu_name, "uprobe") == 0);
    return !event->tracepoint_system && !is_output && !is_probe && event->aux == WEIR_AUX_KIND_NONE;
}

int weir_event_add_sample_filter(struct weir_event *event, const char *text, struct weir_error *err)
{
    if (!weir_event_takes_sample_filter(event)) {
        weir_error_set(err, -EINVAL, "filter '%s': event %s has no samples that a filter could drop", text,
                       event->name);
        weir_error_hint(err, "--filter follows the -e that it applies to: -e cpu-clock --filter '%s' -e %s", text,
                        event->name);
        return -EINVAL;
    }
    struct weir_sample_filter *filter = event->sample_filter ? event->sample_filter : calloc(1, sizeof(*filter));
    if (!filter)
        return weir_error_set(err, -ENOMEM, "out of memory");
    struct weir_error below = {0};
    int result = weir_sample_filter_parse(filter, text, NULL, &below);
    if (result == 0) {
        event->sample_filter = filter;
        return 0;
    }
    if (filter != event->sample_filter)
        free(filter);
    weir_error_set(err, result, "event %s: %s", event->name, below.what);
    weir_error_hint(err, "%s", below.hint);
    return result;
}

/* Gives a filter to an event that is no tracepoint. As in perf, one whose PMU takes address filters gets those. */
static int append_other(struct weir_event *event, const char *text, const struct weir_pmu_list *pmus,
                        struct weir_error *err)
{
    unsigned max = weir_pmu_address_filters(pmus, event->attr.type);
    return max > 0 ? append_address_filter(event, text, max, err) : weir_event_add_sample_filter(event, text, err);
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
            result = event->tracepoint_system ? append(event, text) : append_other(event, text, &pmus, err);
    }
    weir_pmu_list_fini(&pmus);
    return result == -ENOMEM ? weir_error_set(err, -ENOMEM, "out of memory") : result;
}

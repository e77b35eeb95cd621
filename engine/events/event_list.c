/* The list's memory, its order, and the events that weir adds by itself. Main thread, set-up. */
#include "engine/events/event_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/bpf/off_cpu.h"

static void event_fini(struct weir_event *event)
{
    free(event->name);
    free(event->tracepoint_system);
    free(event->tracepoint_name);
    free(event->filter);
    free(event->sample_filter);
    free(event->group_name);
    free(event->pmu_name);
    free(event->unit);
    free(event->cgroup);
    if (event->cgroup_fd >= 0 && !event->shares_cgroup_fd)
        close(event->cgroup_fd);
    weir_cpuset_fini(&event->pmu_cpus);
}

struct weir_event *weir_event_list_append(struct weir_event_list *list)
{
    struct weir_event *events = weir_array_grow(list->events, sizeof(*events), list->count, 1, &list->capacity);
    if (!events)
        return NULL;
    list->events = events;
    struct weir_event *event = &list->events[list->count];
    *event = (struct weir_event){.leader = list->count, .scale = 1, .pmu_cpus = WEIR_CPUSET_INIT, .cgroup_fd = -1};
    list->count++;
    return event;
}

void weir_event_list_truncate(struct weir_event_list *list, size_t count)
{
    while (list->count > count)
        event_fini(&list->events[--list->count]);
}

void weir_event_list_fini(struct weir_event_list *list)
{
    if (!list)
        return;
    weir_event_list_truncate(list, 0);
    free(list->events);
    for (size_t i = 0; i < list->bpf_count; i++)
        weir_bpf_programs_free(list->bpf[i]);
    free(list->bpf);
    *list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
}

/* Appends a named event without attr. 0 or -ENOMEM. */
static int append_named(struct weir_event_list *list, const char *name)
{
    struct weir_event *event = weir_event_list_append(list);
    if (!event)
        return -ENOMEM;
    event->name = strdup(name);
    if (event->name)
        return 0;
    weir_event_list_truncate(list, list->count - 1);
    return -ENOMEM;
}

static int append_dummy(struct weir_event_list *list, const char *name)
{
    int result = append_named(list, name);
    if (result < 0)
        return result;
    struct weir_event *event = &list->events[list->count - 1];
    event->attr.type = PERF_TYPE_SOFTWARE;
    event->attr.config = PERF_COUNT_SW_DUMMY;
    /* It never counts. With these bits perf_event_paranoid 2 lets it pass; it gets records of the kernel all the same.
     */
    event->attr.exclude_kernel = 1;
    event->attr.exclude_hv = 1;
    event->attr.exclude_guest = 1;
    return 0;
}

int weir_event_list_add_sideband(struct weir_event_list *list)
{
    int result = append_dummy(list, "dummy:u");
    if (result == 0)
        list->events[list->count - 1].sideband = true;
    return result;
}

int weir_event_list_add_deferred(struct weir_event_list *list)
{
    int result = append_dummy(list, WEIR_DEFERRED_EVENT);
    if (result == 0)
        list->events[list->count - 1].deferred = true;
    return result;
}

int weir_event_list_add_text_pokes(struct weir_event_list *list)
{
    int result = weir_event_list_add_sideband(list);
    if (result == 0)
        list->events[list->count - 1].all_tasks = true;
    return result;
}

int weir_event_list_add_off_cpu(struct weir_event_list *list)
{
    int result = append_named(list, WEIR_OFF_CPU_EVENT);
    if (result < 0)
        return result;
    struct weir_event *event = &list->events[list->count - 1];
    event->attr.type = PERF_TYPE_SOFTWARE;
    event->attr.config = PERF_COUNT_SW_BPF_OUTPUT;
    event->off_cpu = true;
    event->all_tasks = true;
    return 0;
}

/* Moves one event towards the front. */
static void move_event(struct weir_event_list *list, size_t from, size_t to)
{
    const struct weir_event moved = list->events[from];
    memmove(&list->events[to + 1], &list->events[to], (from - to) * sizeof(moved));
    list->events[to] = moved;
    for (size_t i = 0; i < list->count; i++) {
        size_t *leader = &list->events[i].leader;
        if (*leader == from)
            *leader = to;
        else if (*leader >= to && *leader < from)
            ++*leader;
    }
}

void weir_event_list_to_front(struct weir_event_list *list, size_t index)
{
    size_t leader = list->events[index].leader, front = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].leader != leader)
            continue;
        move_event(list, i, front);
        leader = list->events[front++].leader;
    }
}

void weir_event_list_group(struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].aux == WEIR_AUX_KIND_NONE)
            continue;
        weir_event_list_to_front(list, i);
        break;
    }
    for (size_t i = 0; i < list->count; i++)
        list->events[i].leader = 0;
}

/* Whether do_perf_sw_event() makes the event's samples. */
static bool may_be_misnamed(const struct weir_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    if (event->sideband || attr->type != PERF_TYPE_SOFTWARE || attr->sample_period == 0)
        return false;
    switch (attr->config) {
    case PERF_COUNT_SW_CPU_CLOCK:
    case PERF_COUNT_SW_TASK_CLOCK:
    case PERF_COUNT_SW_DUMMY:
    case PERF_COUNT_SW_BPF_OUTPUT:
        return false;
    default:
        return true;
    }
}

int weir_event_list_find_misnamed(const struct weir_event_list *list, const struct weir_event *named)
{
    int found = -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (!may_be_misnamed(event) || (named && event->attr.config != named->attr.config))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

/*
 * The list of events: its memory, the events that weir adds by itself, and what an event becomes when the kernel
 * refuses it. Main thread, set-up. The fallbacks follow evsel__precise_ip_fallback() and evsel__fallback(),
 * tools/perf/util/evsel.c, Linux 6.1.
 */
#include "engine/events/event_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__i386__) || defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/array.h"
#include "base/bits.h"
#include "engine/events/event_list_internal.h"

static void event_fini(struct weir_event *event)
{
    free(event->name);
    free(event->tracepoint_system);
    free(event->tracepoint_name);
    free(event->filter);
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

/* On AMD, precise cycles are counted by the IBS PMU, which refuses to leave guests out. */
static bool cpu_is_amd(void)
{
#if defined(__i386__) || defined(__x86_64__)
    unsigned leaf, vendor[3];
    return __get_cpuid(0, &leaf, &vendor[0], &vendor[2], &vendor[1]) &&
           memcmp(vendor, "AuthenticAMD", sizeof(vendor)) == 0;
#else
    return false;
#endif
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

int weir_event_list_add_default_with(struct weir_event_list *list, const struct weir_event_sources *sources)
{
    size_t first = list->count;
    int result = weir_event_list_parse_with(list, "cycles:P", sources, NULL);
    for (size_t i = first; result == 0 && i < list->count; i++)
        list->events[i].attr.exclude_guest = !cpu_is_amd();
    return result;
}

int weir_event_list_add_default(struct weir_event_list *list)
{
    return weir_event_list_add_default_with(list, NULL);
}

static int append_side_event(struct weir_event_list *list)
{
    int result = append_named(list, "dummy:u");
    if (result < 0)
        return result;
    struct weir_event *event = &list->events[list->count - 1];
    event->attr.type = PERF_TYPE_SOFTWARE;
    event->attr.config = PERF_COUNT_SW_DUMMY;
    /* It never counts: these only keep perf_event_paranoid 2 from refusing it. Kernel-side records come all the same.
     */
    event->attr.exclude_kernel = 1;
    event->attr.exclude_hv = 1;
    event->attr.exclude_guest = 1;
    event->sideband = true;
    return 0;
}

int weir_event_list_add_sideband(struct weir_event_list *list)
{
    return append_side_event(list);
}

int weir_event_list_add_text_pokes(struct weir_event_list *list)
{
    int result = append_side_event(list);
    if (result == 0)
        list->events[list->count - 1].all_tasks = true;
    return result;
}

/* Moves one event towards the front; those in between make room. */
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

bool weir_event_is_sideband(const struct weir_event *event)
{
    return event->sideband;
}

/* Whether it is one of these tracepoints of the scheduler. */
static bool is_of_scheduler(const struct weir_event *event, const char *const *names, size_t count)
{
    if (!event->tracepoint_system || strcmp(event->tracepoint_system, "sched") != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(event->tracepoint_name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool counts_nanoseconds(const struct weir_event *event)
{
    static const char *const names[] = {"sched_stat_wait", "sched_stat_sleep", "sched_stat_iowait",
                                        "sched_stat_blocked", "sched_stat_runtime"};
    return is_of_scheduler(event, names, WEIR_ARRAY_COUNT(names));
}

bool weir_event_counts_samples(const struct weir_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    if (attr->freq || attr->sample_period != 1 || event->bpf) /* programs write into the ring, and count nothing */
        return false;
    switch (attr->type) {
    case PERF_TYPE_TRACEPOINT:
        return !counts_nanoseconds(event);
    case PERF_TYPE_SOFTWARE:
        return attr->config != PERF_COUNT_SW_CPU_CLOCK && attr->config != PERF_COUNT_SW_TASK_CLOCK;
    default:
        return attr->type == PERF_TYPE_BREAKPOINT;
    }
}

bool weir_event_counts_sleepers(const struct weir_event *event)
{
    static const char *const names[] = {"sched_waking", "sched_wakeup", "sched_wakeup_new"};
    return is_of_scheduler(event, names, WEIR_ARRAY_COUNT(names)) && weir_event_counts_samples(event);
}

/* Whether do_perf_sw_event() has samples of it. */
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

bool weir_event_lower_precision(struct weir_event *event)
{
    if (!event->precise_max || event->attr.precise_ip == 0)
        return false;
    event->attr.precise_ip--;
    return true;
}

bool weir_event_include_machines(struct weir_event *event)
{
    struct perf_event_attr *attr = &event->attr;
    bool is_named =
        weir_event_modifiers_have(&event->modifiers, 'G') || weir_event_modifiers_have(&event->modifiers, 'H');
    bool had = !is_named && (attr->exclude_host || attr->exclude_guest);
    if (had)
        attr->exclude_host = attr->exclude_guest = 0;
    return had;
}

void weir_event_restore_precision(struct weir_event *event)
{
    if (event->precise_max)
        event->attr.precise_ip = WEIR_PRECISE_IP_MAX;
}

/* The modifiers at the end of a name, with the blanks around them; "" when there are none. */
static const char *modifiers_of(const char *name)
{
    const char *end = name;
    for (const char *at = name; *at; at++) {
        if (*at == ':' || *at == '/')
            end = at + 1;
    }
    return end > name && weir_event_is_modifiers(end) ? end : "";
}

/* The clock's name for an event that is `cycles`: its terms and the modifiers that a clock can honour stay. NULL: out
 * of memory. The result is the caller's. */
static char *name_of_clock(const struct weir_event *event)
{
    const char *terms = event->pmu_name ? NULL : strchr(event->name, '/');
    const char *modifiers = modifiers_of(event->name);
    char *kept = strdup(modifiers);
    if (!kept)
        return NULL;
    size_t length = 0;
    for (const char *letter = kept; *letter; letter++) /* the user may have put blanks before and behind the colon */
        if (*letter != 'p' && *letter != 'P' && !isspace((unsigned char)*letter))
            kept[length++] = *letter;
    kept[length] = '\0';

    char *name;
    size_t terms_length = terms ? strlen(terms) - strlen(modifiers) : 0;
    while (terms_length > 0 && length == 0 && terms[terms_length - 1] != '/') /* a colon for none */
        terms_length--;
    if (asprintf(&name, "cpu-clock%.*s%s%s", (int)terms_length, terms ? terms : "", length && !terms ? ":" : "", kept) <
        0)
        name = NULL;
    free(kept);
    return name;
}

bool weir_event_fall_back_to_software(struct weir_event *event)
{
    if (event->attr.type != PERF_TYPE_HARDWARE || event->attr.config != PERF_COUNT_HW_CPU_CYCLES)
        return false;
    char *name = event->name_given ? strdup(event->name) : name_of_clock(event);
    if (!name)
        return false;
    free(event->name);
    event->name = name;
    event->attr.type = PERF_TYPE_SOFTWARE;
    event->attr.config = PERF_COUNT_SW_CPU_CLOCK;
    event->attr.precise_ip = 0;
    event->precise_max = false;
    return true;
}

/* mem:ADDRESS:ACCESS, with or without modifiers, which follow the access letters. */
static bool has_access(const struct weir_event *event)
{
    return event->attr.type == PERF_TYPE_BREAKPOINT && strchr(event->name, ':') != strrchr(event->name, ':');
}

/* NULL: out of memory. The result is the caller's. */
static char *name_in_user_space(const struct weir_event *event)
{
    const char *name = event->name;
    bool joins = name[strlen(name) - 1] == '/' || modifiers_of(name)[0] || has_access(event);
    char *result;
    return asprintf(&result, "%s%su", name, joins ? "" : ":") < 0 ? NULL : result;
}

bool weir_event_fall_back_to_user(struct weir_event *event)
{
    if (event->modifiers_given || event->attr.exclude_kernel || event->attr.type == PERF_TYPE_TRACEPOINT)
        return false;
    char *name = event->name_given ? strdup(event->name) : name_in_user_space(event);
    if (!name)
        return false;
    free(event->name);
    event->name = name;
    event->attr.exclude_kernel = 1;
    event->attr.exclude_hv = 1;
    return true;
}

/*
 * The functions that tell what an event counts, and that weaken an event which the kernel refuses. The fallbacks follow
 * evsel__precise_ip_fallback() and evsel__fallback(), tools/perf/util/evsel.c, Linux 6.1.
 */
#include "engine/events/event.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* Whether the event is one of the named tracepoints of the scheduler. */
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

bool weir_event_is_clock(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE &&
           (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool weir_event_counts_samples(const struct weir_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    if (attr->freq || attr->sample_period != 1 || event->bpf ||
        event->off_cpu) /* the samples come from a BPF program, not from the count */
        return false;
    switch (attr->type) {
    case PERF_TYPE_TRACEPOINT:
        return !counts_nanoseconds(event);
    case PERF_TYPE_SOFTWARE:
        return !weir_event_is_clock(attr);
    default:
        return attr->type == PERF_TYPE_BREAKPOINT;
    }
}

bool weir_event_counts_sleepers(const struct weir_event *event)
{
    static const char *const names[] = {"sched_waking", "sched_wakeup", "sched_wakeup_new"};
    return is_of_scheduler(event, names, WEIR_ARRAY_COUNT(names)) && weir_event_counts_samples(event);
}

/* ---- fallbacks ---- */

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

/* The modifiers at the end of a name, with the blanks around them; "": there are none. */
static const char *modifiers_of(const char *name)
{
    const char *end = name;
    for (const char *at = name; *at; at++) {
        if (*at == ':' || *at == '/')
            end = at + 1;
    }
    return end > name && weir_event_is_modifiers(end) ? end : "";
}

/* Makes the name of the clock that replaces `cycles`: with its terms, and its modifiers but p and P. NULL: out of
 * memory. The caller frees the name. */
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
    while (terms_length > 0 && length == 0 &&
           terms[terms_length - 1] != '/') /* a colon without modifiers behind it goes */
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

/* Whether it is mem:ADDRESS:ACCESS, behind whose access letters modifiers follow without a colon. */
static bool has_access(const struct weir_event *event)
{
    return event->attr.type == PERF_TYPE_BREAKPOINT && strchr(event->name, ':') != strrchr(event->name, ':');
}

/* Makes the name with the modifier u. NULL: out of memory. The caller frees the name. */
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

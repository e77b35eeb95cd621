/* Keeps texts and their order while options are read; what they mean is the engine's. Rules: perf-record(1). */
#include "cli/event_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/target_options.h"
#include "engine/control/event_trigger.h"
#include "engine/events/cgroup.h"
#include "engine/events/event_filter.h"
#include "engine/events/event_parse.h"
#include "engine/events/sample_filter.h"

#define HINT_EVENTS "'weir list' shows the events of this machine; perf-list(1) describes their modifiers"

int weir_event_options_apply_filter(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (text[0] == '\0') {
        weir_error_set(err, -EINVAL, "option '--filter': the argument is empty");
        weir_error_hint(err, "a filter is an expression over the fields of the event: -e SYSTEM:NAME --filter 'FIELD > "
                             "1'");
        return -EINVAL;
    }
    if (arguments->events.count == 0) {
        weir_error_set(err, -EINVAL, "option '--filter' must follow a -e tracepoint");
        weir_error_hint(err, "-e SYSTEM:NAME --filter '%s'", text);
        return -EINVAL;
    }
    struct weir_record_filter *filters =
        reallocarray(arguments->filters, arguments->filter_count + 1, sizeof(*filters));
    if (!filters)
        return weir_error_set_errno(err, -ENOMEM, "option '--filter'");
    arguments->filters = filters;
    filters[arguments->filter_count++] = (struct weir_record_filter){text, arguments->events.count - 1};
    return 0;
}

int weir_event_options_apply_pfm(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (text[0] == '\0') {
        weir_error_set(err, -EINVAL, "option '--pfm-events': the argument is empty");
        weir_error_hint(err, "'weir list pfm' shows the events that libpfm4 knows of this machine's CPU");
        return -EINVAL;
    }
    size_t *pfm = reallocarray(arguments->pfm, arguments->pfm_count + 1, sizeof(*pfm));
    if (pfm)
        arguments->pfm = pfm;
    if (!pfm || weir_text_list_add(&arguments->events, text) < 0)
        return weir_error_set_errno(err, -ENOMEM, "option '--pfm-events'");
    pfm[arguments->pfm_count++] = arguments->events.count - 1;
    return 0;
}

static bool is_pfm(const struct weir_record_arguments *arguments, size_t index)
{
    size_t i = 0;
    while (i < arguments->pfm_count && arguments->pfm[i] != index)
        i++;
    return i < arguments->pfm_count;
}

/* The events of the -e with that index, and its filters. */
static int collect_one(const struct weir_record_arguments *arguments, size_t index, struct weir_event_list *events,
                       struct weir_error *err)
{
    size_t first = events->count;
    const char *text = arguments->events.items[index];
    int result = is_pfm(arguments, index) ? weir_event_list_parse_pfm(events, text, err)
                                          : weir_event_list_parse(events, text, NULL, err);
    for (size_t i = 0; result == 0 && i < arguments->filter_count; i++) {
        if (arguments->filters[i].event_index == index)
            result = weir_event_list_filter(events, first, arguments->filters[i].text, NULL, err);
    }
    return result;
}

int weir_event_options_collect_triggers(const struct weir_text_list *texts, const char *option,
                                        struct weir_event_list *events, struct weir_error *err)
{
    for (size_t i = 0; i < texts->count; i++) {
        struct weir_error below = {0};
        int result = weir_event_trigger_parse(events, texts->items[i], &below);
        if (result == 0)
            continue;
        weir_error_set(err, result, "option '%s': %s", option, below.what);
        weir_error_hint(err, "%s", below.hint[0] ? below.hint : HINT_EVENTS);
        return result;
    }
    return 0;
}

/* The events of all -e, or the default one. */
static int collect_all(const struct weir_record_arguments *arguments, struct weir_event_list *events,
                       struct weir_error *err)
{
    if (arguments->events.count == 0) {
        int result = weir_event_list_add_default(events, NULL);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot set up the default event");
    }
    int result = 0;
    size_t cgroups = 0;
    for (size_t i = 0; result == 0 && i < arguments->events.count; i++) {
        result = collect_one(arguments, i, events, err);
        if (result == 0)
            result = weir_target_options_assign_cgroups(arguments, i + 1, events, &cgroups, err);
    }
    return result == 0 ? weir_target_options_assign_cgroups(arguments, 0, events, &cgroups, err) : result;
}

/* The events once for each cgroup, as perf stat --for-each-cgroup has them. */
static int collect_for_each(const struct weir_record_arguments *arguments, const struct weir_cgroup_paths *paths,
                            struct weir_event_list *events, struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < paths->count; i++) {
        size_t first = events->count;
        result = collect_all(arguments, events, err);
        if (result == 0)
            result = weir_cgroup_assign_path(events, first, paths->at[i], err);
    }
    if (result == 0 && arguments->group && paths->count > 1) {
        weir_error_set(err, -EINVAL, "option '--group': a group has one cgroup, and there are %zu", paths->count);
        weir_error_hint(err, "put the groups into braces: -e '{A,B}'");
        return -EINVAL;
    }
    return result;
}

static int collect(const struct weir_record_arguments *arguments, struct weir_event_list *events,
                   struct weir_error *err)
{
    struct weir_cgroup_paths paths = {0};
    if (arguments->scope_count == 0)
        return collect_all(arguments, events, err);
    int result = weir_target_options_find_cgroups(arguments, &paths, err);
    if (result == 0)
        result = collect_for_each(arguments, &paths, events, err);
    weir_cgroup_paths_fini(&paths);
    return result;
}

int weir_event_options_collect(const struct weir_record_arguments *arguments, struct weir_event_list *events,
                               struct weir_error *err)
{
    events->bpf_build = &arguments->bpf_build;
    int result = collect(arguments, events, err);
    if (result < 0 && err && !err->hint[0] && arguments->events.count > 0)
        weir_error_hint(err, HINT_EVENTS);
    if (result == 0 && arguments->group && arguments->events.count > 0)
        weir_event_list_group(events);
    return result;
}

int weir_event_options_check_filters(const struct weir_record_arguments *arguments,
                                     const struct weir_event_list *events, struct weir_error *err)
{
    if (arguments->options.targets.system_wide || arguments->sample_cpu)
        return 0;
    for (size_t i = 0; i < events->count; i++) {
        const struct weir_sample_filter *filter = events->events[i].sample_filter;
        if (!filter || !weir_sample_filter_has(filter, WEIR_SAMPLE_CPU))
            continue;
        weir_error_set(err, -EINVAL, "event %s: as in perf, the term 'cpu' of its filter needs PERF_SAMPLE_CPU",
                       events->events[i].name);
        weir_error_hint(err, "add --sample-cpu, or record whole CPUs with -a or -C");
        return -EINVAL;
    }
    return 0;
}

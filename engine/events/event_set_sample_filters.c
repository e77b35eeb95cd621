/* Attaches sample filters to open events, and counts the samples that the filters have dropped. Coordinator thread. */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "engine/bpf/sample_filter_program.h"
#include "engine/events/event_set_internal.h"
#include "engine/events/sample_filter.h"

/* A CPU that comes back has new ids before the old ones are forgotten. */
static uint32_t ids_at_most(const struct weir_event_set *set, uint32_t filters)
{
    size_t ids = filters * (weir_event_set_slots(set) + 1);
    return (uint32_t)weir_min_u64(ids, UINT32_MAX);
}

/* Checks all filters. Returns the number of filters, or -EINVAL with err. */
static int check_filters(const struct weir_event_set *set, struct weir_error *err)
{
    int count = 0;
    for (unsigned event = 0; event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        if (!described->sample_filter)
            continue;
        int result = weir_sample_filter_check(described->sample_filter, described->name, &described->attr, err);
        if (result < 0)
            return result;
        count++;
    }
    return count;
}

int weir_event_set_filter_samples_of(const struct weir_event_set *set, unsigned event, int fd, uint64_t id,
                                     struct weir_error *err)
{
    const struct weir_event *described = &set->list->events[event];
    if (!described->sample_filter)
        return 0;
    int result = weir_sample_program_watch(set->sample_program, id, set->filter_numbers[event]);
    if (result == 0)
        result = set->kernel->ops->event_set_program(set->kernel->ctx, fd, weir_sample_program_fd(set->sample_program));
    if (result == 0)
        return 0;
    weir_sample_program_forget(set->sample_program, id);
    weir_error_set_errno(err, result, "cannot attach the sample filter to event %s", described->name);
    if (result == -E2BIG)
        weir_error_hint(err, "the pinned BPF program has too many events: record as root, or fewer threads or CPUs");
    return result;
}

static int filter_event(struct weir_event_set *set, unsigned event, struct weir_error *err)
{
    const struct weir_event *described = &set->list->events[event];
    if (!described->sample_filter)
        return 0;
    int result =
        weir_sample_program_add(set->sample_program, described->sample_filter, &set->filter_numbers[event], err);
    size_t first = weir_event_set_slot(set, event, 0, 0), end = first + weir_event_set_slots(set);
    for (size_t slot = first; result == 0 && slot < end; slot++) {
        if (set->fds[slot] >= 0)
            result = weir_event_set_filter_samples_of(set, event, set->fds[slot], set->ids[slot], err);
    }
    return result;
}

int weir_event_set_filter_samples(struct weir_event_set *set, const struct weir_notice_sink *notices,
                                  struct weir_error *err)
{
    int count = check_filters(set, err);
    if (count <= 0)
        return count;
    set->filter_numbers = calloc(set->event_count, sizeof(*set->filter_numbers));
    if (!set->filter_numbers)
        return weir_error_set_errno(err, -ENOMEM, "cannot filter samples");
    const struct weir_sample_program_setup setup = {
        .user = "--filter",
        .filters = (uint32_t)count,
        .events = ids_at_most(set, (uint32_t)count),
        .notices = notices,
    };
    int result = weir_sample_program_open(&set->sample_program, &setup, err);
    for (unsigned event = 0; result == 0 && event < set->event_count; event++)
        result = filter_event(set, event, err);
    return result;
}

void weir_event_set_forget_filtered(const struct weir_event_set *set, unsigned event, uint64_t id)
{
    if (set->list->events[event].sample_filter)
        weir_sample_program_forget(set->sample_program, id);
}

uint64_t weir_event_set_read_filtered(const struct weir_event_set *set, unsigned event, uint64_t id)
{
    if (!set->list->events[event].sample_filter || !set->sample_program)
        return 0;
    return weir_sample_program_filtered(set->sample_program, id);
}

void weir_event_set_unfilter_samples(struct weir_event_set *set)
{
    weir_sample_program_free(set->sample_program);
    free(set->filter_numbers);
    set->sample_program = NULL;
    set->filter_numbers = NULL;
}

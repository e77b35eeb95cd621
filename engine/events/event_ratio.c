#include "engine/events/event_ratio.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"

#define MASK_FIELD "acr_mask"
#define MASK_WORD  2u /* config2 */

static bool has_ratio(const struct weir_event *event)
{
    return event->terms.given & WEIR_TERM_RATIO;
}

bool weir_event_ratios_are_given(const struct weir_event_list *list, size_t first)
{
    while (first < list->count && !has_ratio(&list->events[first]))
        first++;
    return first < list->count;
}

/* The index of the event in its group; members stand behind their leader. */
static size_t index_in_group(const struct weir_event_list *list, size_t event)
{
    size_t leader = list->events[event].leader, index = 0;
    for (size_t i = leader; i < event; i++)
        index += list->events[i].leader == leader;
    return index;
}

/* The event before it in its group; the event itself when there is none. */
static size_t previous_of(const struct weir_event_list *list, size_t event)
{
    size_t leader = list->events[event].leader, previous = event;
    while (previous > leader) {
        if (list->events[--previous].leader == leader)
            return previous;
    }
    return event;
}

/* NULL: of no core PMU. */
static const struct weir_pmu *core_pmu_of(const struct weir_pmu_list *pmus, const struct weir_event *event)
{
    bool is_generic = event->attr.type == PERF_TYPE_HARDWARE || event->attr.type == PERF_TYPE_HW_CACHE;
    for (size_t i = 0; i < pmus->count; i++) {
        const struct weir_pmu *pmu = &pmus->pmus[i];
        bool is_its =
            event->pmu_name ? strcmp(pmu->name, event->pmu_name) == 0 : is_generic || pmu->type == event->attr.type;
        if (is_its && weir_pmu_is_core(pmu))
            return pmu;
    }
    return NULL;
}

static int refuse(struct weir_error *err)
{
    weir_error_hint(err, "-e '{cpu_atom/cycles/,cpu_atom/instructions,period=200000,ratio-to-prev=2.0/}' samples "
                         "where fewer than 2 instructions are done in a cycle");
    return -EINVAL;
}

static int resolve(struct weir_event_list *list, size_t index, const struct weir_pmu_list *pmus, struct weir_error *err)
{
    struct weir_event *event = &list->events[index], *before = &list->events[previous_of(list, index)];
    const struct weir_pmu *pmu = core_pmu_of(pmus, event);
    if (before == event) {
        weir_error_set(err, -EINVAL, "event %s: ratio-to-prev needs an event before it in its group", event->name);
        return refuse(err);
    }
    if (!pmu || core_pmu_of(pmus, before) != pmu) {
        weir_error_set(err, -EINVAL, "events %s and %s: ratio-to-prev compares events of one core PMU", before->name,
                       event->name);
        return refuse(err);
    }
    const struct weir_pmu_format *field = weir_pmu_find_format(pmu, MASK_FIELD, strlen(MASK_FIELD));
    if (!field || field->word != MASK_WORD) {
        weir_error_set(err, -EINVAL, "event %s: ratio-to-prev needs auto counter reload, which PMU %s does not have",
                       event->name, pmu->name);
        weir_error_hint(err, "of these events, some Intel cores have a field " MASK_FIELD ": 'weir list pmu' shows it");
        return -EINVAL;
    }
    if (before->attr.config2 & field->mask || event->attr.config2 & field->mask) {
        weir_error_set(err, -EINVAL, "events %s and %s: ratio-to-prev sets " MASK_FIELD ", which is set already",
                       before->name, event->name);
        return refuse(err);
    }
    uint64_t own = 1ull << index_in_group(list, index);
    before->attr.config2 |= weir_pmu_format_place(field, own);
    event->attr.config2 |= weir_pmu_format_place(field, own | own >> 1);
    return 0;
}

int weir_event_ratios_resolve(struct weir_event_list *list, size_t first, const struct weir_pmu_list *pmus,
                              struct weir_error *err)
{
    int result = 0;
    for (size_t i = first; i < list->count && result == 0; i++) {
        if (has_ratio(&list->events[i]))
            result = resolve(list, i, pmus, err);
    }
    return result;
}

static bool has_period(const struct weir_event *event, bool period_given)
{
    return event->terms.given & WEIR_TERM_PERIOD || (period_given && !(event->terms.given & WEIR_TERM_FREQ));
}

int weir_event_ratios_check(const struct weir_event_list *list, bool period_given, struct weir_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i], *before = &list->events[previous_of(list, i)];
        if (!has_ratio(event) || has_period(event, period_given) || has_period(before, period_given))
            continue;
        weir_error_set(err, -EINVAL, "event %s: ratio-to-prev needs a period, by -c or the term period", event->name);
        return refuse(err);
    }
    return 0;
}

static void set_period(struct perf_event_attr *attr, double period)
{
    attr->freq = 0;
    attr->sample_period = period < 1 ? 1 : (uint64_t)period;
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

void weir_event_ratios_apply(struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct weir_event *event = &list->events[i], *before = &list->events[previous_of(list, i)];
        if (!has_ratio(event))
            continue;
        if (!before->attr.freq)
            set_period(&event->attr, (double)before->attr.sample_period * event->terms.ratio);
        else
            set_period(&before->attr, (double)event->attr.sample_period / event->terms.ratio);
    }
}

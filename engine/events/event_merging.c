/* Refuses events whose samples must stay apart. Main thread. */
#include "engine/events/event_merging.h"

#include <errno.h>

#include "base/bits.h"

/* The contents of a sample besides the fields that equal samples share. */
static const struct {
    uint64_t bits; /* PERF_SAMPLE_* */
    const char *what;
} own_data[] = {
    {PERF_SAMPLE_RAW, "raw data"},
    {PERF_SAMPLE_READ, "counts of its group (:S)"},
    {PERF_SAMPLE_BRANCH_STACK, "branches"},
    {PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER, "a copied stack or registers"},
    {PERF_SAMPLE_REGS_INTR, "registers"},
    {PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE, "a data address"},
    {PERF_SAMPLE_WEIGHT_STRUCT, "a weight"},
    {PERF_SAMPLE_TRANSACTION, "a transaction"},
    {PERF_SAMPLE_AUX, "AUX data"},
};

static int refuse_options(const struct weir_sample_options *samples, struct weir_error *err)
{
    if (samples->period == WEIR_CHOICE_NO) {
        weir_error_set(err, -EINVAL, "option '--no-period' cannot be used with '--aggregate'");
        weir_error_hint(err, "the period of a merged sample is the sum of all that it stands for");
        return -EINVAL;
    }
    if (samples->weight) {
        weir_error_set(err, -EINVAL, "option '--weight' cannot be used with '--aggregate'");
        weir_error_hint(err, "the weight of a merged sample is the number of samples for which it stands");
        return -EINVAL;
    }
    return 0;
}

static bool is_each_occurrence(const struct perf_event_attr *attr)
{
    return !attr->freq && attr->sample_period > 0 &&
           (attr->sample_period == 1 || attr->type == PERF_TYPE_BREAKPOINT || attr->type == PERF_TYPE_TRACEPOINT ||
            (attr->type == PERF_TYPE_SOFTWARE && !weir_event_is_clock(attr)));
}

static int check_event(const struct weir_event *event, const struct weir_event_config *config, struct weir_error *err)
{
    uint64_t fields = weir_event_file_attr(event, config).sample_type; /* samples are unwound before they are merged */
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(own_data); i++) {
        if (!(fields & own_data[i].bits))
            continue;
        weir_error_set(err, -EINVAL, "samples of '%s' cannot be merged: each has %s of its own", event->name,
                       own_data[i].what);
        weir_error_hint(err, "--aggregate is for profiles, such as -F 99 -g: leave out --aggregate");
        return -EINVAL;
    }
    if (!is_each_occurrence(&event->attr))
        return 0;
    weir_error_set(err, -EINVAL, "samples of '%s' cannot be merged: each stands for an occurrence, in their order",
                   event->name);
    weir_error_hint(err, "--aggregate is for profiles: give a frequency, such as -F 99, or leave out --aggregate");
    return -EINVAL;
}

int weir_event_list_check_merging(const struct weir_event_list *list, const struct weir_event_config *config,
                                  struct weir_error *err)
{
    int result = refuse_options(&config->samples, err);
    for (size_t i = 0; result == 0 && i < list->count; i++)
        result = list->events[i].sideband || list->events[i].deferred ? 0 : check_event(&list->events[i], config, err);
    return result;
}

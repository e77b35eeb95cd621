/*
 * Completes the attrs of a list: what perf 6.1 sets for the same command line, but for the differences that
 * docs/compatibility.md lists. Main thread, set-up; no allocation, no system call.
 *
 * Source: evsel__config(), tools/perf/util/evsel.c, and evlist__config(), tools/perf/util/record.c, Linux 6.1;
 * perf_event_open(2). tests/engine/test_event_config.c holds each value against what perf itself was seen to open.
 */
#include <string.h>

#include "base/assert.h"
#include "engine/event_list.h"

/* On every event: what samples need, and with IDENTIFIER first, TID, TIME and CPU in every trailer of side records. */
#define SAMPLE_TYPE_ALL (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

static bool is_bpf_output(const struct weir_event *event)
{
    return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_BPF_OUTPUT;
}

/* Events whose payload is their point: each one is recorded, unless -c or -F say otherwise. */
static bool has_payload(const struct weir_event *event)
{
    return event->attr.type == PERF_TYPE_TRACEPOINT || is_bpf_output(event);
}

/* ftrace:function: user call chains fault pages in, and the page fault handler is itself traced. */
static bool is_function_trace(const struct weir_event *event)
{
    return event->tracepoint_system && strcmp(event->tracepoint_system, "ftrace") == 0 &&
           strcmp(event->tracepoint_name, "function") == 0;
}

static void configure_samples(struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    bool every_one = has_payload(event) && !config->period_or_freq_given;

    attr->freq = !every_one && config->freq_hz != 0;
    if (attr->freq)
        attr->sample_freq = config->freq_hz;
    else
        attr->sample_period = every_one ? 1 : config->period;

    attr->sample_type = SAMPLE_TYPE_ALL;
    /* A software event or tracepoint that is to tell its period is sampled each time, whatever the period:
     * perf_swevent_event(), kernel/events/core.c, Linux 6.12. */
    if (attr->freq || (has_payload(event) && attr->sample_period == 1))
        attr->sample_type |= PERF_SAMPLE_PERIOD;
    if (has_payload(event))
        attr->sample_type |= PERF_SAMPLE_RAW;
    if (config->call_graph)
        attr->sample_type |= PERF_SAMPLE_CALLCHAIN;

    attr->exclude_callchain_user = is_function_trace(event);
    attr->disabled = 1;
    attr->wakeup_watermark = config->watermark_bytes;
}

static void configure_sideband(struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    attr->sample_period = 1; /* a frequency would start a timer for an event that never counts */
    attr->sample_type = SAMPLE_TYPE_ALL;
    attr->mmap = 1;
    attr->mmap2 = 1;
    attr->comm = 1;
    attr->comm_exec = 1;
    attr->task = 1;
    attr->ksymbol = 1;
    attr->bpf_event = 1;
    attr->build_id = config->build_ids_in_maps;
    attr->disabled = config->enable_on_exec;
    attr->wakeup_watermark = config->sideband_watermark_bytes;
}

void weir_event_list_configure(struct weir_event_list *list, const struct weir_event_config *config)
{
    weir_assert((config->freq_hz != 0) != (config->period != 0));
    weir_assert(!(config->system_wide && config->enable_on_exec));

    for (size_t i = 0; i < list->count; i++) {
        struct weir_event *event = &list->events[i];
        if (event->sideband)
            configure_sideband(event, config);
        else
            configure_samples(event, config);

        struct perf_event_attr *attr = &event->attr;
        attr->size = sizeof(*attr);
        attr->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
        attr->sample_id_all = 1;
        attr->inherit = config->inherit;
        attr->inherit_stat = config->inherit_stat;
        if (config->inherit_stat)
            attr->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        attr->enable_on_exec = config->enable_on_exec;
        if (config->starts_disabled && !event->sideband)
            attr->enable_on_exec = 0;
        if (event->leader != i) /* it counts when its leader does */
            attr->disabled = attr->enable_on_exec = 0;
        attr->watermark = 1;
    }
}

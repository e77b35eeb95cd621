/* Writes the records that say to which CPU and task each id belongs; see beginning_internal.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "engine/files/beginning_internal.h"
#include "format/index_records.h"
#include "format/merge_record.h"

static int append_ids(const struct weir_beginning *beginning, struct weir_buf *out)
{
    const struct weir_event_set *set = beginning->setup.events;
    size_t most = (size_t)beginning->setup.facts->description_count * set->place_count * set->task_count, count = 0;
    struct weir_id_index_entry *entries = calloc(weir_max_u64(most, 1), sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; i < most; i++) {
        size_t place = i / set->task_count % set->place_count, task = i % set->task_count;
        bool all_tasks = set->list->events[i / set->task_count / set->place_count].all_tasks;
        pid_t alone = set->places[place].task;
        if (set->file_ids[i] == 0)
            continue;
        entries[count++] = (struct weir_id_index_entry){
            .id = set->file_ids[i],
            .index = place,
            .cpu = (uint64_t)(int64_t)set->places[place].cpu,
            .tid = (uint64_t)(int64_t)(all_tasks    ? -1
                                       : alone >= 0 ? alone
                                                    : beginning->setup.targets->tids[task]),
        };
    }
    weir_record_id_index(out, entries, count);
    free(entries);
    return 0;
}

static int append_cpus(const struct weir_beginning *beginning, struct weir_buf *out)
{
    const struct weir_event_set *set = beginning->setup.events;
    int *cpus = calloc(set->place_count, sizeof(*cpus));
    if (!cpus)
        return -ENOMEM;
    size_t count = 0;
    for (unsigned place = 0; place < set->late_from; place++) {
        if (!set->places[place].side_only && (place == 0 || set->places[place].cpu >= 0))
            cpus[count++] = set->places[place].cpu;
    }
    weir_record_cpu_map(out, cpus, count);
    free(cpus);
    return 0;
}

static int append_event_cpus(const struct weir_cpuset *cpus, uint64_t id, struct weir_buf *out)
{
    int *list = calloc(weir_max_u64(weir_cpuset_count(cpus), 1), sizeof(*list));
    if (!list)
        return -ENOMEM;
    size_t count = 0;
    WEIR_CPUSET_FOREACH(cpu, cpus) {
        list[count++] = cpu;
    }
    weir_record_event_cpus(out, id, list, count);
    free(list);
    return 0;
}

/* Appends unit and scale of an event, and the CPUs of its PMU, where these differ from the defaults. */
static int append_events(const struct weir_beginning *beginning, struct weir_buf *out)
{
    int result = 0;
    for (unsigned i = 0; result == 0 && i < beginning->setup.facts->description_count; i++) {
        const struct weir_event *event = &beginning->setup.events->list->events[i];
        const struct weir_event_desc *described = &beginning->setup.facts->descriptions[i];
        if (described->id_count == 0)
            continue;
        if (event->unit && event->unit[0])
            weir_record_event_unit(out, described->ids[0], event->unit);
        if (event->scale != 1)
            weir_record_event_scale(out, described->ids[0], event->scale);
        if (!weir_cpuset_is_empty(&event->pmu_cpus))
            result = append_event_cpus(&event->pmu_cpus, described->ids[0], out);
    }
    return result;
}

static void append_time_conversion(const struct weir_beginning *beginning, struct weir_buf *out)
{
    struct weir_time_conversion conversion;
    weir_pipeline_time_conversion(beginning->setup.pipeline, &conversion);
    if (!conversion.has_zero)
        return;
    const struct weir_time_conv conv = {
        .shift = conversion.shift,
        .multiplier = conversion.multiplier,
        .zero = conversion.zero,
        .cycles = conversion.cycles,
        .mask = conversion.mask,
        .has_zero = conversion.has_zero,
        .has_short = conversion.has_short,
    };
    weir_record_time_conv(out, &conv);
}

int weir_beginning_append_index(const struct weir_beginning *beginning, struct weir_buf *out)
{
    const struct weir_aggregate_options *aggregate = &beginning->setup.plan->options->samples.aggregate;
    if (aggregate->interval_ns > 0)
        weir_record_merge(out, &(struct weir_merge){aggregate->interval_ns, aggregate->by_process});
    append_time_conversion(beginning, out);
    int result = append_ids(beginning, out);
    if (beginning->setup.facts
            ->append) /* readers want one map of threads and CPUs in a file, and have that of before */
        return result < 0 ? result : weir_buf_error(out);
    if (result == 0)
        result = append_events(beginning, out);
    if (result == 0)
        weir_record_thread_map(out, beginning->setup.targets->tids, beginning->setup.targets->count);
    if (result == 0)
        result = append_cpus(beginning, out);
    return result < 0 ? result : weir_buf_error(out);
}

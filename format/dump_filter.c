/* Conditions on records. Pure; any thread. */
#include "format/dump_filter.h"

#include <fnmatch.h>
#include <string.h>

#include "format/bytes.h"

struct facts {
    const struct weir_input_event *event; /* NULL: none, or unknown */
    struct weir_sample_id id;
    uint64_t fields; /* of id, PERF_SAMPLE_*; 0: the record has none */
    bool has_own_pid;
    uint32_t own_pid;
};

static const struct weir_field *pid_field(const struct weir_record_schema *schema)
{
    const struct weir_field *field = schema->fields;
    while (field && field->name && strcmp(field->name, "pid") != 0)
        field++;
    return field && field->name ? field : NULL;
}

static struct facts facts_of(struct weir_perf_input *input, const struct weir_record_view *record)
{
    struct facts facts = {.event = weir_input_event_of(&input->events, record)};
    if (facts.event && record->type == PERF_RECORD_SAMPLE) {
        struct weir_sample sample;
        size_t bad_offset;
        weir_sample_parse(&sample, &facts.event->layout, record->data, record->bytes, &bad_offset);
        facts.id = sample.id;
        facts.fields = sample.fields;
    } else if (facts.event && record->type < WEIR_RECORD_ATTR) {
        if (weir_sample_id_parse(&facts.id, &facts.event->layout, record->data, record->bytes))
            facts.fields = facts.event->attr.sample_type;
    }
    const struct weir_record_schema *schema = weir_record_schema(record->type);
    const struct weir_field *pid = schema && record->bytes >= schema->least_bytes ? pid_field(schema) : NULL;
    facts.has_own_pid = pid != NULL;
    facts.own_pid = pid ? weir_load_u32(record->data + pid->offset) : 0;
    return facts;
}

static bool has_pid(const struct weir_dump_filter *filter, const struct facts *facts)
{
    for (size_t i = 0; i < filter->pid_count; i++) {
        uint32_t pid = (uint32_t)filter->pids[i];
        if ((facts->has_own_pid && facts->own_pid == pid) ||
            ((facts->fields & PERF_SAMPLE_TID) && facts->id.pid == pid))
            return true;
    }
    return false;
}

static bool is_named(const struct weir_dump_filter *filter, size_t name, const struct weir_input_event *event)
{
    return fnmatch(filter->events[name], event->name, 0) == 0;
}

bool weir_dump_filter_knows(const struct weir_dump_filter *filter, size_t name, const struct weir_perf_input *input)
{
    for (size_t i = 0; i < input->events.count; i++) {
        if (is_named(filter, name, &input->events.list[i]))
            return true;
    }
    return false;
}

static bool has_event(const struct weir_dump_filter *filter, const struct weir_record_view *record,
                      const struct facts *facts)
{
    if (!facts->event || (record->type != PERF_RECORD_SAMPLE && facts->id.id == 0))
        return false;
    for (size_t i = 0; i < filter->event_count; i++) {
        if (is_named(filter, i, facts->event))
            return true;
    }
    return false;
}

bool weir_dump_filter_wants(const struct weir_dump_filter *filter, struct weir_perf_input *input,
                            const struct weir_record_view *record)
{
    if (filter->by_type && (record->type >= WEIR_RECORD_TYPES || !filter->types[record->type]))
        return false;
    bool by_cpu = !weir_cpuset_is_empty(&filter->cpus);
    bool by_time = filter->first_ns > 0 || filter->last_ns < UINT64_MAX;
    if (!by_cpu && !by_time && filter->pid_count == 0 && filter->event_count == 0)
        return true;
    const struct facts facts = facts_of(input, record);
    if (by_cpu && (!(facts.fields & PERF_SAMPLE_CPU) || !weir_cpuset_has(&filter->cpus, facts.id.cpu)))
        return false;
    if (by_time &&
        (!(facts.fields & PERF_SAMPLE_TIME) || facts.id.time < filter->first_ns || facts.id.time > filter->last_ns))
        return false;
    if (filter->pid_count > 0 && !has_pid(filter, &facts))
        return false;
    return filter->event_count == 0 || has_event(filter, record, &facts);
}

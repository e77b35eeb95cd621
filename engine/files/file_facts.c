/* Gathers the facts of a recording; see file_facts.h. Coordinator thread. */
#include "engine/files/file_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "format/tracefs.h"
#include "topology/machine.h"

static int describe_event(struct weir_file_facts *facts, const struct weir_file_facts_sources *sources, unsigned event)
{
    const struct weir_event_set *set = sources->events;
    size_t most = (size_t)set->place_count * set->task_count;
    uint64_t *ids = calloc(facts->id_room, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    facts->description_ids[event] = ids;

    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        uint64_t id = set->file_ids[event * most + i];
        if (id)
            ids[count++] = id;
    }
    const struct weir_event *opened = &set->list->events[event];
    facts->descriptions[event] = (struct weir_event_desc){
        .attr = weir_event_file_attr(opened, sources->config),
        .name = opened->name,
        .ids = ids,
        .id_count = count,
        .leader = opened->leader,
        .group_name = opened->group_name,
        .tracepoint_system = opened->tracepoint_system,
        .tracepoint_name = opened->tracepoint_name,
    };
    return 0;
}

/* If records carry no ids, the file has one event only, whose attr then announces the side records, as in perf's files.
 */
static void describe_side_records(struct weir_file_facts *facts, const struct weir_event_set *set)
{
    const struct perf_event_attr *from = &set->list->events[weir_event_set_sideband(set)].attr;
    struct perf_event_attr *attr = &facts->descriptions[0].attr;
    attr->mmap = from->mmap;
    attr->mmap2 = from->mmap2;
    attr->mmap_data = from->mmap_data;
    attr->comm = from->comm;
    attr->comm_exec = from->comm_exec;
    attr->task = from->task;
    attr->ksymbol = from->ksymbol;
    attr->bpf_event = from->bpf_event;
    attr->build_id = from->build_id;
    attr->context_switch = from->context_switch;
    attr->namespaces = from->namespaces;
    attr->cgroup = from->cgroup;
}

static int describe_events(struct weir_file_facts *facts, const struct weir_file_facts_sources *sources)
{
    const struct weir_event_set *set = sources->events;
    bool without_ids = sources->config->without_ids;
    unsigned count = without_ids ? weir_event_set_sideband(set) : set->event_count;
    facts->description_count = count;
    facts->id_room = (size_t)set->place_count * set->task_count;
    facts->descriptions = calloc(count, sizeof(*facts->descriptions));
    facts->description_ids = calloc(count, sizeof(*facts->description_ids));
    if (!facts->descriptions || !facts->description_ids)
        return -ENOMEM;
    for (unsigned event = 0; event < count; event++) {
        int result = describe_event(facts, sources, event);
        if (result < 0)
            return result;
    }
    if (without_ids)
        describe_side_records(facts, set);
    return 0;
}

/* Adds the ids of the continued file, which has the same events as this recording. */
static int add_ids_of_append(struct weir_file_facts *facts, struct weir_append *append, struct weir_error *err)
{
    unsigned count = facts->description_count;
    int result = weir_append_check_events(append, facts->descriptions, count, err);
    if (result < 0)
        return result;
    result = weir_append_add_ids(append, facts->descriptions, facts->description_ids, count, facts->id_room);
    facts->id_room += weir_append_id_room(append);
    return result < 0 ? weir_error_set_errno(err, result, "cannot describe %u events", count) : 0;
}

static bool has_tracepoints(const struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].tracepoint_system)
            return true;
    }
    return false;
}

int weir_file_facts_gather(struct weir_file_facts *facts, const struct weir_file_facts_sources *sources,
                           struct weir_error *err)
{
    const struct weir_event_config *config = sources->config;
    facts->options = sources->options;
    facts->append = sources->append;
    facts->kcore = sources->kcore;
    facts->clock = config->samples.clock;
    facts->clock_reference = *sources->clock_reference;
    facts->has_branch_stacks = config->samples.branch_filter != 0;
    facts->chunk_bytes = sources->chunk_bytes;
    int result = weir_machine_collect(&facts->machine, sources->topology, "", err);
    if (result < 0)
        return result;
    result = describe_events(facts, sources);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot describe %u events", facts->description_count);
    if (sources->append)
        result = add_ids_of_append(facts, sources->append, err);
    if (result < 0)
        return result;
    return has_tracepoints(sources->events->list) ? weir_tracefs_find(facts->tracefs, sizeof(facts->tracefs), err) : 0;
}

void weir_file_facts_fini(struct weir_file_facts *facts)
{
    for (unsigned event = 0; facts->description_ids && event < facts->description_count; event++)
        free(facts->description_ids[event]);
    free(facts->description_ids);
    free(facts->descriptions);
    weir_machine_fini(&facts->machine);
    *facts = (struct weir_file_facts){0};
}

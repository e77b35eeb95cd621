/* Loads and attaches the BPF programs of a set of open events, and directs their outputs to them. Coordinator thread.
 */
#include "engine/events/bpf_programs.h"
#include "engine/events/event_set_internal.h"

int weir_event_set_direct_outputs(const struct weir_event_set *set, unsigned place)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        int fd = weir_event_set_fd(set, event, place, 0);
        unsigned cpu = (unsigned)set->places[place].cpu;
        int result = 0;
        if (described->bpf && fd >= 0)
            result = weir_bpf_programs_set_output(described->bpf, described->bpf_index, cpu, fd);
        else if (described->off_cpu && fd >= 0)
            result = weir_off_cpu_set_output(set->off_cpu, cpu, fd);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Any open descriptor of the event; -1: there is none. */
static int any_fd(const struct weir_event_set *set, unsigned event)
{
    size_t from = weir_event_set_slot(set, event, 0, 0), to = weir_event_set_slot(set, event + 1, 0, 0);
    while (from < to && set->fds[from] < 0)
        from++;
    return from < to ? set->fds[from] : -1;
}

bool weir_event_set_tell_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices)
{
    bool any = false;
    for (unsigned event = 0; event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        unsigned count = 0;
        int fd = described->tracepoint_system ? any_fd(set, event) : -1;
        if (fd < 0 || set->kernel->ops->event_programs(set->kernel->ctx, fd, &count) < 0 || count == 0)
            continue;
        any = true;
        weir_notice(
            notices, WEIR_NOTICE_WARNING,
            "%u BPF program%s of others on %s:%s: samples that %s filter%s out are neither recorded nor counted "
            "('bpftool perf' tells whose they are)",
            count, count == 1 ? "" : "s", described->tracepoint_system, described->tracepoint_name,
            count == 1 ? "it" : "they", count == 1 ? "s" : "");
    }
    return any;
}

int weir_event_set_start_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices,
                                  struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < set->list->bpf_count; i++)
        result = weir_bpf_programs_load(set->list->bpf[i], notices, err);
    for (unsigned place = 0; result == 0 && place < set->place_count; place++) {
        result = weir_event_set_direct_outputs(set, place);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot direct the outputs of BPF programs on cpu %d",
                                 set->places[place].cpu);
    }
    for (size_t i = 0; result == 0 && i < set->list->bpf_count; i++)
        result = weir_bpf_programs_attach(set->list->bpf[i], notices, err);
    if (result == 0 && set->off_cpu)
        result = weir_off_cpu_attach(set->off_cpu, err);
    if (result == 0 && set->off_cpu) /* of a command: the programs wait for its execve(2) */
        weir_off_cpu_enable(set->off_cpu, set->on[weir_event_set_off_cpu_event(set)]);
    return result;
}

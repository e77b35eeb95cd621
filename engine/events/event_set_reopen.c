/*
 * Reopens the events of all tasks on a CPU that comes online while recording. Coordinator thread. Readers may drain the
 * CPU's rings meanwhile: they poll ring_fds, which stay open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/bits.h"
#include "engine/events/event_set_internal.h"
#include "engine/events/open_error.h"

struct fresh {     /* new events of one place, until all of them are open */
    int *fds;      /* owned; [event]; -1: not open */
    uint64_t *ids; /* owned; [event] */
};

bool weir_event_set_follows_cpus(const struct weir_event_set *set)
{
    return set->task_count == 1 && set->targets->tids[0] == -1 && set->places[0].cpu >= 0;
}

bool weir_event_set_reopens(const struct weir_event_set *set)
{
    unsigned event = 0;
    while (event < set->event_count && !weir_event_set_is_of_all_tasks(set, event))
        event++;
    return event < set->event_count;
}

static void close_fresh(const struct weir_event_set *set, struct fresh *fresh)
{
    for (unsigned event = 0; fresh->fds && event < set->event_count; event++) {
        if (fresh->fds[event] < 0)
            continue;
        set->kernel->ops->event_close(set->kernel->ctx, fresh->fds[event]);
        weir_event_set_forget_filtered(set, event, fresh->ids[event]);
    }
    free(fresh->fds);
    free(fresh->ids);
}

static int open_event(const struct weir_event_set *set, unsigned event, unsigned place, struct fresh *fresh,
                      const struct weir_kernel_limits *limits, struct weir_error *err)
{
    const struct weir_kernel *kernel = set->kernel;
    const struct weir_event *described = &set->list->events[event];
    struct perf_event_attr attr = weir_event_set_attr_at(set, event, place, 0);
    attr.disabled = described->leader == event; /* weir_event_set_enable_place() enables it */
    int cpu = set->places[place].cpu, group_fd = described->leader == event ? -1 : fresh->fds[described->leader];
    int fd = kernel->ops->event_open(kernel->ctx, &attr, described->cgroup ? described->cgroup_fd : -1, cpu, group_fd,
                                     set->open_flags | (described->cgroup ? PERF_FLAG_PID_CGROUP : 0));
    if (fd < 0) {
        struct weir_open_attempt attempt = {
            .name = described->name,
            .attr = &attr,
            .pid = -1,
            .cpu = cpu,
            .has_aux = described->aux != WEIR_AUX_KIND_NONE,
        };
        return weir_open_error_explain(err, fd, &attempt, limits);
    }
    fresh->fds[event] = fd;
    int result = kernel->ops->event_id(kernel->ctx, fd, &fresh->ids[event]);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read the id of event %s on cpu %d", described->name, cpu);
    result = weir_event_set_filter_fd(set, event, fd, err);
    return result < 0 ? result : weir_event_set_filter_samples_of(set, event, fd, fresh->ids[event], err);
}

static int redirect_fresh(const struct weir_event_set *set, unsigned place, const struct fresh *fresh,
                          struct weir_error *err)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        int ring_fd = set->ring_fds[2 * place + set->list->events[event].sideband];
        if (fresh->fds[event] < 0 || ring_fd < 0)
            continue;
        int result = set->kernel->ops->event_set_output(set->kernel->ctx, fresh->fds[event], ring_fd);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot direct event %s to the ring of cpu %d",
                                        set->list->events[event].name, set->places[place].cpu);
    }
    return 0;
}

static int publish_ids(struct weir_event_set *set, unsigned place, const struct fresh *fresh)
{
    struct weir_id_entry *entries = calloc(set->event_count, sizeof(*entries));
    size_t count = 0;
    if (!entries)
        return -ENOMEM;
    for (unsigned event = 0; event < set->event_count; event++) {
        if (fresh->fds[event] >= 0)
            entries[count++] = (struct weir_id_entry){.id = fresh->ids[event], .event = event, .place = place};
    }
    int result = weir_id_map_extend(&set->id_map, entries, count);
    free(entries);
    return result;
}

static int make_room_for_retired(struct weir_event_set *set)
{
    struct weir_event_retired *grown =
        weir_array_grow(set->retired, sizeof(*grown), set->retired_count, set->event_count, &set->retired_room);
    if (!grown)
        return -ENOMEM;
    set->retired = grown;
    return 0;
}

/* Moves an event to the retired ones, for which there is room. */
static void retire(struct weir_event_set *set, unsigned event, unsigned place)
{
    size_t slot = weir_event_set_slot(set, event, place, 0);
    int fd = set->fds[slot];
    if (fd < 0)
        return;
    struct weir_event_retired *retired = &set->retired[set->retired_count++];
    *retired = (struct weir_event_retired){.event = event, .place = place, .fd = -1};
    set->disables++; /* the kernel disabled it when the CPU went offline */
    /* It may be alive: opened after the CPU came, but before weir was told. Disabled, it writes no record twice. */
    set->kernel->ops->event_disable(set->kernel->ctx, fd);
    weir_event_set_read(set, event, place, 0, &retired->count); /* cannot fail: the event is open */
    retired->count.id = set->ids[slot];
    if (fd == set->ring_fds[2 * place] || fd == set->ring_fds[2 * place + 1])
        retired->fd = fd;
    else
        set->kernel->ops->event_close(set->kernel->ctx, fd);
    weir_event_set_forget_filtered(set, event, retired->count.id);
}

int weir_event_set_reopen(struct weir_event_set *set, unsigned place, const struct weir_kernel_limits *limits,
                          struct weir_error *err)
{
    weir_assert(place < set->place_count && set->places[place].cpu >= 0);
    struct fresh fresh = {.fds = malloc(set->event_count * sizeof(*fresh.fds)),
                          .ids = calloc(set->event_count, sizeof(*fresh.ids))};
    int result = fresh.fds && fresh.ids ? make_room_for_retired(set) : -ENOMEM;
    if (fresh.fds)
        memset(fresh.fds, 0xff, set->event_count * sizeof(*fresh.fds));
    if (result < 0)
        weir_error_set_errno(err, result, "cannot open events on cpu %d", set->places[place].cpu);
    for (unsigned event = 0; result == 0 && event < set->event_count; event++) {
        if (weir_event_set_is_of_all_tasks(set, event) && weir_event_set_belongs_at(set, event, place))
            result = open_event(set, event, place, &fresh, limits, err);
    }
    if (result == 0)
        result = redirect_fresh(set, place, &fresh, err);
    if (result == 0) {
        result = publish_ids(set, place, &fresh);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot open events on cpu %d", set->places[place].cpu);
    }
    if (result < 0) {
        close_fresh(set, &fresh);
        return result;
    }
    for (unsigned event = 0; event < set->event_count; event++) {
        size_t slot = weir_event_set_slot(set, event, place, 0);
        if (!weir_event_set_is_of_all_tasks(set, event))
            continue;
        retire(set, event, place);
        set->fds[slot] = fresh.fds[event];
        set->ids[slot] = fresh.ids[event];
    }
    free(fresh.fds);
    free(fresh.ids);
    return 0;
}

void weir_event_set_enable_place(struct weir_event_set *set, unsigned place)
{
    for (unsigned n = set->event_count; n > 0; n--) { /* side events first, as at the start */
        unsigned event = n - 1;
        int fd = weir_event_set_fd(set, event, place, 0);
        bool on = set->list->events[event].leader == event && set->on[event];
        if (fd >= 0 && on && weir_event_set_is_of_all_tasks(set, event))
            set->kernel->ops->event_enable(set->kernel->ctx, fd);
    }
}

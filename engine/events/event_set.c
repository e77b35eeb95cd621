/* The rings, states and counts of open events, and their end. Coordinator thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "engine/events/event_set_internal.h"

#define FORK_NS \
    1000000 /* a fork takes some 50 us from copying the state to linking the child, unless it is preempted */

int weir_event_set_fd(const struct weir_event_set *set, unsigned event, unsigned place, unsigned task)
{
    return set->fds[weir_event_set_slot(set, event, place, task)];
}

unsigned weir_event_set_sideband(const struct weir_event_set *set)
{
    unsigned event = set->event_count - 1;
    while (event > 0 && (set->list->events[event - 1].sideband || set->list->events[event - 1].deferred))
        event--;
    return event;
}

uint64_t weir_event_set_fds_needed(const struct weir_event_set_size *size)
{
    return (uint64_t)size->sample_events * size->sample_places * size->sample_tasks +
           (uint64_t)size->side_events * size->side_places * size->side_tasks;
}

int weir_event_set_deferred_event(const struct weir_event_set *set)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        if (set->list->events[event].deferred)
            return (int)event;
    }
    return -1;
}

int weir_event_set_off_cpu_event(const struct weir_event_set *set)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        if (set->list->events[event].off_cpu)
            return (int)event;
    }
    return -1;
}

static void close_slots(struct weir_event_set *set, size_t first, size_t end)
{
    for (size_t i = first; set->fds && set->ids && i < end; i++) {
        if (set->fds[i] >= 0)
            set->kernel->ops->event_close(set->kernel->ctx, set->fds[i]);
        set->fds[i] = -1;
        set->ids[i] = 0;
    }
}

void weir_event_set_close_event(struct weir_event_set *set, unsigned event)
{
    size_t slots = weir_event_set_slots(set);
    close_slots(set, event * slots, (event + 1) * slots);
}

void weir_event_set_close_fds(struct weir_event_set *set)
{
    close_slots(set, 0, set->event_count * weir_event_set_slots(set));
}

void weir_event_set_close(struct weir_event_set *set)
{
    if (!set)
        return;
    weir_event_set_close_fds(set);
    for (size_t i = 0; i < set->retired_count; i++) {
        if (set->retired[i].fd >= 0)
            set->kernel->ops->event_close(set->kernel->ctx, set->retired[i].fd);
    }
    for (size_t i = 0; set->apart_fds && i < set->targets->count; i++) {
        if (set->apart_fds[i] >= 0)
            set->kernel->ops->event_close(set->kernel->ctx, set->apart_fds[i]);
    }
    weir_event_set_unfilter_samples(set);
    free(set->apart_fds);
    free(set->retired);
    free(set->ring_fds);
    free(set->on);
    free(set->last_counts);
    free(set->own_tasks);
    free(set->places);
    free(set->fds);
    free(set->ids);
    free(set->file_ids);
    weir_id_map_fini(&set->id_map);
    free(set->by_cpu);
    memset(set, 0, sizeof(*set));
}

/* ---- rings ---- */

static bool owns_ring(const struct weir_event_set *set, unsigned event, bool sideband)
{
    return set->list->events[event].sideband == sideband;
}

/* The first open descriptor of the ring's events at that place, or -1. *owner: the event of the descriptor. */
static int ring_owner_fd(const struct weir_event_set *set, unsigned place, bool sideband, unsigned *owner)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned task = 0; owns_ring(set, event, sideband) && task < set->task_count; task++) {
            int fd = weir_event_set_fd(set, event, place, task);
            if (fd >= 0) {
                *owner = event;
                return fd;
            }
        }
    }
    return -1;
}

bool weir_event_set_has_ring(const struct weir_event_set *set, unsigned place, bool sideband)
{
    unsigned owner;
    return ring_owner_fd(set, place, sideband, &owner) >= 0;
}

static int redirect(struct weir_event_set *set, unsigned place, bool sideband, int owner_fd)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned task = 0; owns_ring(set, event, sideband) && task < set->task_count; task++) {
            int fd = weir_event_set_fd(set, event, place, task);
            if (fd < 0 || fd == owner_fd)
                continue;
            int result = set->kernel->ops->event_set_output(set->kernel->ctx, fd, owner_fd);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

int weir_event_set_map_ring(struct weir_event_set *set, unsigned place, bool sideband, uint64_t bytes,
                            struct weir_ring *ring)
{
    unsigned owner;
    int owner_fd = ring_owner_fd(set, place, sideband, &owner);
    weir_assert(owner_fd >= 0);
    int result = set->list->events[owner].attr.write_backward ? weir_ring_map_newest(ring, set->kernel, owner_fd, bytes)
                                                              : weir_ring_map(ring, set->kernel, owner_fd, bytes);
    if (result < 0)
        return result;
    result = redirect(set, place, sideband, owner_fd);
    if (result < 0)
        weir_ring_unmap(ring);
    else
        set->ring_fds[2 * place + sideband] = owner_fd;
    if (result == 0 && set->pauses && !sideband)
        set->kernel->ops->ring_pause(set->kernel->ctx, owner_fd, true);
    return result;
}

int weir_event_set_map_aux(const struct weir_event_set *set, unsigned event, unsigned place, uint64_t bytes,
                           bool newest, const struct weir_ring *ring, struct weir_aux_area *area)
{
    for (unsigned task = 0; task < set->task_count; task++) {
        int fd = weir_event_set_fd(set, event, place, task);
        if (fd >= 0)
            return weir_aux_area_map(area, ring, fd, bytes, newest);
    }
    return -ENOENT;
}

const int *weir_event_set_poll_fds(const struct weir_event_set *set, unsigned place, bool sideband, unsigned *count)
{
    unsigned event;
    *count = set->task_count;
    if (set->task_count == 1 && set->ring_fds[2 * place + sideband] >= 0) /* the events may be reopened */
        return &set->ring_fds[2 * place + sideband];
    int owner_fd = ring_owner_fd(set, place, sideband, &event);
    weir_assert(owner_fd >= 0);
    return &set->fds[weir_event_set_slot(set, event, place, 0)];
}

void weir_event_set_pause(struct weir_event_set *set, enum weir_pause why, bool paused)
{
    if (set->ended)
        return;
    set->pauses = paused ? set->pauses | why : set->pauses & ~(unsigned)why;
    for (unsigned place = 0; place < set->place_count; place++) {
        int fd = set->ring_fds[2 * place];
        if (fd >= 0)
            set->kernel->ops->ring_pause(set->kernel->ctx, fd, set->pauses != 0);
    }
}

uint64_t weir_event_set_read_lost(const struct weir_event_set *set)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < set->retired_count; i++) {
        if (set->retired[i].event < weir_event_set_sideband(set))
            lost += set->retired[i].count.lost;
    }
    for (unsigned event = 0; event < weir_event_set_sideband(set); event++) {
        for (unsigned place = 0; place < set->place_count; place++) {
            for (unsigned task = 0; task < set->task_count; task++) {
                struct weir_event_count count;
                if (weir_event_set_read(set, event, place, task, &count) == 0)
                    lost += count.lost;
            }
        }
    }
    return lost;
}

/* ---- enable, disable ---- */

static void toggle_event(struct weir_event_set *set, unsigned event, int (*verb)(void *ctx, int fd))
{
    size_t first = weir_event_set_slot(set, event, 0, 0), end = first + weir_event_set_slots(set);
    for (size_t i = first; i < end; i++) {
        if (set->fds[i] >= 0)
            verb(set->kernel->ctx, set->fds[i]);
    }
}

static bool is_inherited(const struct weir_event_set *set, unsigned event)
{
    return set->list->events[event].attr.inherit && set->targets->tids[0] != -1;
}

/* Toggles the leaders, and so their groups. Returns whether any is inherited. */
static bool toggle_leaders(struct weir_event_set *set, bool sideband, int (*verb)(void *ctx, int fd))
{
    bool inherited = false;
    for (unsigned event = 0; event < set->event_count; event++) {
        if (!owns_ring(set, event, sideband) || set->list->events[event].leader != event)
            continue;
        toggle_event(set, event, verb);
        inherited = inherited || is_inherited(set, event);
    }
    return inherited;
}

static void toggle_events(struct weir_event_set *set, bool sideband, int (*verb)(void *ctx, int fd))
{
    if (!toggle_leaders(set, sideband, verb))
        return;
    weir_clock_pause_ns(FORK_NS);
    toggle_leaders(set, sideband, verb);
}

/* Measures off-CPU time while its event is on: the kernel takes samples of an enabled event only. So the measuring is
 * enabled after the event, and disabled before it. */
static void measure_off_cpu(const struct weir_event_set *set)
{
    if (set->off_cpu)
        weir_off_cpu_enable(set->off_cpu, set->on[weir_event_set_off_cpu_event(set)]);
}

void weir_event_set_toggle(struct weir_event_set *set, unsigned event, bool on)
{
    weir_assert(set->list->events[event].leader == event);
    set->disables += set->on[event] && !on;
    set->on[event] = on;
    int (*verb)(void *ctx, int fd) = on ? set->kernel->ops->event_enable : set->kernel->ops->event_disable;
    if (!on)
        measure_off_cpu(set);
    toggle_event(set, event, verb);
    if (on)
        measure_off_cpu(set);
    if (!is_inherited(set, event))
        return;
    weir_clock_pause_ns(FORK_NS);
    toggle_event(set, event, verb);
}

void weir_event_set_enable_at(struct weir_event_set *set, unsigned event, unsigned place)
{
    for (unsigned task = 0; task < set->task_count; task++) {
        int fd = weir_event_set_fd(set, event, place, task);
        if (fd >= 0)
            set->kernel->ops->event_enable(set->kernel->ctx, fd);
    }
}

void weir_event_set_restart_at(struct weir_event_set *set, unsigned event, unsigned place)
{
    set->disables++;
    for (unsigned task = 0; task < set->task_count; task++) {
        int fd = weir_event_set_fd(set, event, place, task);
        if (fd >= 0)
            set->kernel->ops->event_disable(set->kernel->ctx, fd);
    }
    weir_event_set_enable_at(set, event, place);
}

/* Notes the new state of the leaders. Returns whether any was on. */
static bool note_toggled(struct weir_event_set *set, bool sideband, bool on)
{
    bool was_on = false;
    for (unsigned event = 0; event < set->event_count; event++) {
        if (owns_ring(set, event, sideband) && set->list->events[event].leader == event) {
            was_on = was_on || set->on[event];
            set->on[event] = on;
        }
    }
    return was_on;
}

void weir_event_set_enable(struct weir_event_set *set, bool sideband)
{
    (void)note_toggled(set, sideband, true);
    toggle_events(set, sideband, set->kernel->ops->event_enable);
    measure_off_cpu(set);
}

void weir_event_set_disable_samples(struct weir_event_set *set)
{
    set->disables += note_toggled(set, false, false);
    measure_off_cpu(set);
    toggle_events(set, false, set->kernel->ops->event_disable);
}

void weir_event_set_disable(struct weir_event_set *set)
{
    weir_event_set_disable_samples(set);
    (void)note_toggled(set, true, false);
    toggle_events(set, true, set->kernel->ops->event_disable);
}

static int read_count(const struct weir_event_set *set, unsigned event, size_t slot, struct weir_event_count *count)
{
    if (set->fds[slot] < 0)
        return -ENOENT;
    uint64_t read_format = set->list->events[event].attr.read_format;
    int result = set->kernel->ops->event_read(set->kernel->ctx, set->fds[slot], read_format, set->ids[slot], count);
    if (result == 0)
        count->filtered = weir_event_set_read_filtered(set, event, set->ids[slot]);
    return result;
}

void weir_event_set_end(struct weir_event_set *set)
{
    if (set->off_cpu)
        weir_off_cpu_end(set->off_cpu);
    weir_event_set_disable(set);
    weir_event_set_pause(set, WEIR_PAUSE_END, true);
    set->ended = true;
    size_t per_event = weir_event_set_slots(set);
    weir_assert(set->event_count > 0 && per_event > 0); /* it is open */
    set->last_counts = calloc(set->event_count * per_event, sizeof(*set->last_counts));
    for (size_t slot = 0; set->last_counts && slot < set->event_count * per_event; slot++) {
        if (read_count(set, (unsigned)(slot / per_event), slot, &set->last_counts[slot]) < 0)
            set->last_counts[slot] = (struct weir_event_count){0};
    }
    for (size_t i = 0; i < set->list->bpf_count;
         i++) /* while attached they also decide what other recorders of these tracepoints get */
        weir_bpf_programs_detach(set->list->bpf[i]);
}

static bool is_storm(const struct perf_event_attr *attr)
{
    uint64_t hz = attr->freq ? attr->sample_freq : attr->sample_period > 0 ? WEIR_NS_PER_S / attr->sample_period : 0;
    return weir_event_is_clock(attr) && hz >= WEIR_TIMER_STORM_HZ;
}

const char *weir_event_set_timer_storm(const struct weir_event_set *set)
{
    for (unsigned event = 0; weir_event_set_follows_cpus(set) && event < set->event_count; event++) {
        if (is_storm(&set->list->events[event].attr))
            return set->list->events[event].name;
    }
    return NULL;
}

int weir_event_set_read(const struct weir_event_set *set, unsigned event, unsigned place, unsigned task,
                        struct weir_event_count *count)
{
    size_t slot = weir_event_set_slot(set, event, place, task);
    if (!set->last_counts)
        return read_count(set, event, slot, count);
    *count = set->last_counts[slot];
    return count->id ? 0 : -ENOENT;
}

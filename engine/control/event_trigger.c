/* Fires triggers when events occur; see event_trigger.h. Coordinator thread. */
#include "engine/control/event_trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/events/event_filter.h"
#include "engine/events/event_parse.h"
#include "engine/events/open_error.h"

/* ---- EVENT[:FILTER] ---- */

#define OPERATORS "=<>&!~"

/* Returns the beginning of the filter, or NULL. Skips the terms between slashes. */
static const char *find_filter(const char *text)
{
    const char *colon = NULL;
    bool in_terms = false;
    for (; *text; text++) {
        in_terms ^= *text == '/';
        if (in_terms)
            continue;
        if (strchr(OPERATORS, *text))
            return colon ? colon + 1 : NULL;
        if (*text == ':')
            colon = text;
    }
    return NULL;
}

static bool occurs_all_the_time(const struct weir_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    if (event->terms.given & (WEIR_TERM_PERIOD | WEIR_TERM_FREQ))
        return false;
    if (attr->type == PERF_TYPE_SOFTWARE)
        return weir_event_is_clock(attr);
    return attr->type != PERF_TYPE_TRACEPOINT && attr->type != PERF_TYPE_BREAKPOINT;
}

int weir_event_trigger_check(const struct weir_event_list *list, size_t first, struct weir_error *err)
{
    if (list->bpf_count > 0) {
        weir_error_set(err, -EINVAL, "BPF programs are no triggers");
        weir_error_hint(err, "name an event, with :FILTER for some of its occurrences");
        return -EINVAL;
    }
    for (size_t i = first; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (event->aux != WEIR_AUX_KIND_NONE) { /* its ring has only records about the area */
            weir_error_set(err, -EINVAL, "event '%s' writes to an AUX area and never occurs", event->name);
            weir_error_hint(err, "name one that has samples of its own: a tracepoint, or cycles/period=1000000000/");
            return -EINVAL;
        }
        if (occurs_all_the_time(event)) {
            weir_error_set(err, -EINVAL, "event '%s' occurs all the time", event->name);
            weir_error_hint(err, "say how many samples make one occurrence: %s/period=1000000000/", event->name);
            return -EINVAL;
        }
    }
    return 0;
}

int weir_event_trigger_parse(struct weir_event_list *list, const char *text, struct weir_error *err)
{
    const char *filter = find_filter(text);
    size_t first = list->count;
    char *event = filter ? strndup(text, (size_t)(filter - 1 - text)) : strdup(text);
    if (!event)
        return weir_error_set_errno(err, -ENOMEM, "cannot take event '%s'", text);
    int result = weir_event_list_parse(list, event, NULL, err);
    if (result == 0 && filter)
        result = weir_event_list_filter(list, first, filter, NULL, err);
    free(event);
    return result < 0 ? result : weir_event_trigger_check(list, first, err);
}

/* ---- occurrences ---- */

bool weir_hold_off_pass(struct weir_hold_off *hold_off, uint64_t now_ns)
{
    bool held = hold_off->passed > 0 && now_ns - hold_off->passed_ns < hold_off->hold_ns;
    if (held) {
        hold_off->held++;
        return false;
    }
    hold_off->passed++;
    hold_off->passed_ns = now_ns;
    return true;
}

/* Empties all rings. Returns whether one had records. */
static bool empty_rings(struct weir_event_trigger *trigger)
{
    bool occurred = false;
    for (unsigned place = 0; place < trigger->set.place_count; place++) {
        struct weir_ring *ring = &trigger->rings[place];
        uint64_t head = ring->page ? weir_ring_head(ring) : 0;
        if (!ring->page || head == ring->tail)
            continue;
        weir_ring_release(ring, head);
        occurred = true;
    }
    return occurred;
}

/* Stops waiting for events whose tasks have ended, because their descriptors report a hang-up at every poll. */
static void unwatch_ended(struct weir_event_trigger *trigger)
{
    struct epoll_event ready[16];
    int count = epoll_wait(trigger->epoll_fd, ready, (int)WEIR_ARRAY_COUNT(ready), 0);
    for (int i = 0; i < count; i++) {
        if (ready[i].events & (EPOLLHUP | EPOLLERR))
            epoll_ctl(trigger->epoll_fd, EPOLL_CTL_DEL, ready[i].data.fd, NULL);
    }
}

/* poll(2) of an event's descriptor by anybody clears its readiness, so epoll_wait(2) may miss an event. The heads of
 * the rings are reliable. */
static void on_ready(void *ctx, short revents)
{
    struct weir_event_trigger *trigger = ctx;
    (void)revents;
    unwatch_ended(trigger);
    if (empty_rings(trigger) && weir_hold_off_pass(&trigger->hold_off, weir_clock_now_ns(trigger->setup.clock)))
        weir_triggers_fire(trigger->setup.triggers, trigger->setup.trigger, WEIR_TRIGGER_BY_EVENT);
}

/* ---- life ---- */

/* Returns the part of the recording's config that says which tasks to open. Nobody reads the samples, so their content
 * does not matter. */
static struct weir_event_config config_of(const struct weir_event_config *recording)
{
    return (struct weir_event_config){
        .period = 1,
        .system_wide = recording->system_wide,
        .inherit = recording->inherit,
        .enable_on_exec = recording->enable_on_exec,
        .watermark_bytes = 1,
        .sideband_watermark_bytes = 1,
    };
}

static int watch_ring(struct weir_event_trigger *trigger, unsigned place)
{
    unsigned count;
    const int *fds = weir_event_set_poll_fds(&trigger->set, place, false, &count);
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};
        if (fds[i] >= 0 && epoll_ctl(trigger->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return -errno;
    }
    return 0;
}

/* Waits for the events of a place. After a CPU has come back, the new events write into the ring of the dead events.
 * The trigger then waits for the old and the new descriptors. */
static int watch_events(struct weir_event_trigger *trigger, unsigned place)
{
    for (unsigned n = 0; n < trigger->set.event_count; n++) {
        int fd = weir_event_set_fd(&trigger->set, n, place, 0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd >= 0 && epoll_ctl(trigger->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int map_ring(struct weir_event_trigger *trigger, unsigned place, struct weir_error *err)
{
    struct weir_event_set *set = &trigger->set;
    const struct weir_kernel_limits *limits = trigger->setup.events.limits;
    uint64_t bytes = limits->page_bytes;
    int result = weir_event_set_map_ring(set, place, false, bytes, &trigger->rings[place]);
    if (result < 0)
        return weir_ring_map_error_explain(err, result, &set->places[place], bytes,
                                           &(struct weir_ring_sizes){bytes, bytes}, limits);
    result = watch_ring(trigger, place);
    return result < 0 ? weir_error_set_errno(err, result, "cannot watch events") : 0;
}

static int map_rings(struct weir_event_trigger *trigger, struct weir_error *err)
{
    struct weir_event_set *set = &trigger->set;
    trigger->rings = calloc(set->place_count, sizeof(*trigger->rings));
    if (!trigger->rings)
        return weir_error_set_errno(err, -ENOMEM, "cannot watch events");
    for (unsigned place = 0; place < set->place_count; place++) {
        int result = weir_event_set_has_ring(set, place, false) ? map_ring(trigger, place, err) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_event_trigger_add_cpu(struct weir_event_trigger *trigger, int cpu, struct weir_error *err)
{
    struct weir_event_set *set = &trigger->set;
    if (!trigger->open || !weir_event_set_follows_cpus(set))
        return 0;
    unsigned place = 0;
    while (place < set->place_count && set->places[place].cpu != cpu)
        place++;
    if (place == set->place_count)
        return 0;
    int result = weir_event_set_reopen(set, place, trigger->setup.events.limits, err);
    if (result == 0 && !trigger->rings[place].page)
        result = map_ring(trigger, place, err);
    if (result < 0)
        return result;
    weir_event_set_enable_place(set, place);
    result = watch_events(trigger, place);
    return result < 0 ? weir_error_set_errno(err, result, "cannot watch events") : 0;
}

int weir_event_trigger_open(struct weir_event_trigger *trigger, const struct weir_event_trigger_setup *setup,
                            struct weir_error *err)
{
    *trigger = (struct weir_event_trigger){
        .setup = *setup,
        .open = true,
        .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
        .hold_off = {.hold_ns = setup->hold_off_ms * WEIR_NS_PER_MS},
    };
    struct weir_event_config config = config_of(&setup->config);
    trigger->setup.events.config = &config;
    int result = trigger->epoll_fd < 0 ? weir_error_set_errno(err, -errno, "cannot watch events") : 0;
    if (result == 0 && weir_event_list_add_sideband(setup->events.list) < 0)
        result = weir_error_set_errno(err, -ENOMEM, "cannot add events");
    if (result == 0)
        result = weir_event_set_open(&trigger->set, &trigger->setup.events, err);
    if (result == 0)
        result = map_rings(trigger, err);
    trigger->setup.events.config = NULL;
    if (result == 0) {
        result = weir_poll_set_add(setup->sources, trigger->epoll_fd, POLLIN, on_ready, trigger);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot watch events");
    }
    if (result < 0)
        weir_event_trigger_close(trigger);
    else if (!config.enable_on_exec)
        weir_event_set_enable(&trigger->set, false);
    return result;
}

void weir_event_trigger_close(struct weir_event_trigger *trigger)
{
    if (!trigger || !trigger->open)
        return;
    if (trigger->epoll_fd >= 0) {
        weir_poll_set_remove(trigger->setup.sources, trigger->epoll_fd);
        close(trigger->epoll_fd);
    }
    for (unsigned place = 0; trigger->rings && place < trigger->set.place_count; place++)
        weir_ring_unmap(&trigger->rings[place]);
    free(trigger->rings);
    weir_event_set_close(&trigger->set);
    *trigger = (struct weir_event_trigger){0};
}

/* What the files of the event set share. engine/ only; coordinator thread. */
#ifndef WEIR_ENGINE_EVENTS_EVENT_SET_INTERNAL_H
#define WEIR_ENGINE_EVENTS_EVENT_SET_INTERNAL_H

#include "engine/events/event_set.h"

/* Slots of one event. */
static inline size_t weir_event_set_slots(const struct weir_event_set *set)
{
    return (size_t)set->place_count * set->task_count;
}

/* Whether an event is of all tasks of a CPU, because all are recorded or because it is so by itself: then it dies with
 * its CPU, and the kernel opens it on none that is offline. */
static inline bool weir_event_set_is_of_all_tasks(const struct weir_event_set *set, unsigned event)
{
    return weir_event_set_follows_cpus(set) || set->list->events[event].all_tasks;
}

/* Whether an event is to be open at a place: its PMU, and that of its group's leader, counts there. */
bool weir_event_set_belongs_at(const struct weir_event_set *set, size_t event, unsigned place);

/* Sets the filter that an event has, if any, on one more descriptor of it. 0 or -errno with err. */
int weir_event_set_filter_fd(const struct weir_event_set *set, unsigned event, int fd, struct weir_error *err);

/* Sets the filters of the events (struct weir_event.filter) on their descriptors. 0 or -errno with err. */
int weir_event_set_apply_filters(struct weir_event_set *set, struct weir_error *err);

/* Explains that the kernel refused a filter of the event with the given -errno. Returns it, or
 * -EINVAL where it was none: brackets and quotation marks of tracepoint filters that do not match. */
int weir_event_filter_refused(const struct weir_event *event, const char *text, int code, struct weir_error *err);

/* Closes the descriptors of one event, or of all, and keeps the table. */
void weir_event_set_close_event(struct weir_event_set *set, unsigned event);
void weir_event_set_close_fds(struct weir_event_set *set);

#endif

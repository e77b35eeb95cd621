/* What the files of the event set share. Coordinator thread. */
#ifndef WEIR_ENGINE_EVENTS_EVENT_SET_INTERNAL_H
#define WEIR_ENGINE_EVENTS_EVENT_SET_INTERNAL_H

#include "engine/events/event_set.h"

/* The number of slots of one event. */
static inline size_t weir_event_set_slots(const struct weir_event_set *set)
{
    return (size_t)set->place_count * set->task_count;
}

/* Whether an event is opened for all tasks of a CPU, because all are recorded or because of weir_event.all_tasks. Such
 * an event dies with its CPU, and the kernel opens it on no offline CPU. */
static inline bool weir_event_set_is_of_all_tasks(const struct weir_event_set *set, unsigned event)
{
    return weir_event_set_follows_cpus(set) || set->list->events[event].all_tasks;
}

/* Whether an event is to be open at a place: its PMU counts there, so does the PMU of its group's leader, and samples
 * are asked for. */
bool weir_event_set_belongs_at(const struct weir_event_set *set, size_t event, unsigned place);

/* The attr of an event at one place. Where no option asks for samples, context switches tell nothing about samples, and
 * the ring is smaller. */
struct perf_event_attr weir_event_set_attr_at(const struct weir_event_set *set, unsigned event, unsigned place,
                                              unsigned task);

/* Sets the filter of an event, if it has one, on another descriptor of the event. 0 or -errno with err. */
int weir_event_set_filter_fd(const struct weir_event_set *set, unsigned event, int fd, struct weir_error *err);

/* Sets the filters of the events (struct weir_event.filter) on all their descriptors. 0 or -errno with err. */
int weir_event_set_apply_filters(struct weir_event_set *set, struct weir_error *err);

/* Fills err with why the kernel refused a filter of the event, and returns the -errno for it. code: the kernel's
 * result. For unbalanced brackets and quotation marks the result is no errno and becomes -EINVAL. */
int weir_event_filter_refused(const struct weir_event *event, const char *text, int code, struct weir_error *err);

/* Loads the program of sample filters if an event has a filter (struct weir_event.sample_filter). Attaches the program
 * to all descriptors of the events with filters. 0 or -errno with err and hint. */
int weir_event_set_filter_samples(struct weir_event_set *set, const struct weir_notice_sink *notices,
                                  struct weir_error *err);

/* Attaches the sample filter of an event, if it has one, to another descriptor of the event. id: of the descriptor. 0
 * or -errno with err. */
int weir_event_set_filter_samples_of(const struct weir_event_set *set, unsigned event, int fd, uint64_t id,
                                     struct weir_error *err);

/* Returns the number of samples that the sample filter of an event dropped, of the descriptor with that id. */
uint64_t weir_event_set_read_filtered(const struct weir_event_set *set, unsigned event, uint64_t id);

/* Tells the program of sample filters that the descriptor with that id is closed. */
void weir_event_set_forget_filtered(const struct weir_event_set *set, unsigned event, uint64_t id);

/* Frees the program of sample filters. After the events are closed. */
void weir_event_set_unfilter_samples(struct weir_event_set *set);

/* Closes the descriptors of one event, or of all, and keeps the table. */
void weir_event_set_close_event(struct weir_event_set *set, unsigned event);
void weir_event_set_close_fds(struct weir_event_set *set);

#endif

/*
 * The events of `weir record`: --pfm-events, --filter, which applies to the -e before it, and the event list from -e,
 * --pfm-events, --filter and --group. Main thread.
 */
#ifndef WEIR_CLI_EVENT_OPTIONS_H
#define WEIR_CLI_EVENT_OPTIONS_H

#include "base/error.h"
#include "cli/record_arguments.h"
#include "engine/events/event_list.h"

/* For rows of the table: see struct weir_option. arguments are a struct weir_record_arguments. */
int weir_event_options_apply_pfm(void *arguments, const char *text, struct weir_error *err);
int weir_event_options_apply_filter(void *arguments, const char *text, struct weir_error *err);

/* Fills the empty list: the events of each -e with its filters, or perf's default event. 0, or the result of
 * weir_event_list_parse() or weir_event_list_filter() for the first bad text. */
int weir_event_options_collect(const struct weir_record_arguments *arguments, struct weir_event_list *events,
                               struct weir_error *err);

/* Appends the events of --switch-output-event or --snapshot-on, whose name is for messages. As
 * weir_event_trigger_parse(). */
int weir_event_options_collect_triggers(const struct weir_text_list *texts, const char *option,
                                        struct weir_event_list *events, struct weir_error *err);

/* Checks the filters of collected events against the options. As in perf, the term cpu needs --sample-cpu where weir
 * records tasks, though weir samples the CPU there anyway. So what works with weir works with perf. 0 or -EINVAL with
 * err. */
int weir_event_options_check_filters(const struct weir_record_arguments *arguments,
                                     const struct weir_event_list *events, struct weir_error *err);

#endif

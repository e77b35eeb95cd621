/* The parts behind engine/events/event_list.h, for engine/ and its tests. */
#ifndef WEIR_ENGINE_EVENTS_EVENT_LIST_INTERNAL_H
#define WEIR_ENGINE_EVENTS_EVENT_LIST_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/suggest.h"
#include "engine/events/event_list.h"

#define WEIR_PRECISE_IP_MAX 3 /* attr.precise_ip has two bits: SAMPLE_IP must have zero skid */

/* One name of the kernel's generic events (event_names.c). Aliases are rows of their own. */
struct weir_event_name {
    const char *name;
    uint32_t type; /* PERF_TYPE_HARDWARE or _SOFTWARE */
    uint64_t config;
};

/* The row of a name that need not be terminated, or NULL. */
const struct weir_event_name *weir_event_name_find(const char *name, size_t length);

/* All rows; those of one event stand together. *count: how many. */
const struct weir_event_name *weir_event_names(size_t *count);

/* Offers every name, aliases too. */
void weir_event_names_offer(struct weir_suggest *suggest);

/* Whether the letter stood behind the event or its group. */
bool weir_event_modifiers_have(const struct weir_event_modifiers *modifiers, char letter);

/* True when the text could be modifiers: their letters, perhaps with blanks around them, or nothing. */
bool weir_event_is_modifiers(const char *text);

/* Appends an event that stands alone and is otherwise zero. NULL: out of memory, and then the list is as it was. Valid
 * until the next append. */
struct weir_event *weir_event_list_append(struct weir_event_list *list);

/* Drops and frees the events from index `count` on. */
void weir_event_list_truncate(struct weir_event_list *list, size_t count);

/* Where the parser looks events up. */
struct weir_event_sources {
    const char *tracefs_root; /* NULL: found when the first tracepoint is met */
    const char *sysfs_root;   /* NULL: /sys */
};

/* weir_event_list_parse() with other trees than the machine's; sources NULL: the machine's. */
int weir_event_list_parse_with(struct weir_event_list *list, const char *text, const struct weir_event_sources *sources,
                               struct weir_error *err);

/* weir_event_list_filter() with another sysfs than the machine's; NULL: /sys. */
int weir_event_list_filter_with(struct weir_event_list *list, size_t first, const char *text, const char *sysfs_root,
                                struct weir_error *err);

/* weir_event_list_add_default() with another tree than the machine's. */
int weir_event_list_add_default_with(struct weir_event_list *list, const struct weir_event_sources *sources);

#endif

/*
 * The names of the kernel's generic hardware and software events, as perf-list(1) gives them. Constant; any thread; no
 * allocation.
 *
 * Source: enum perf_hw_id and enum perf_sw_ids, include/uapi/linux/perf_event.h; the spellings are those that perf 6.1
 * takes after -e.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_NAMES_H
#define WEIR_ENGINE_EVENTS_EVENT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/suggest.h"

/* One spelling. An event with several spellings has a row for each. */
struct weir_event_name {
    const char *name;
    uint32_t type; /* PERF_TYPE_HARDWARE or _SOFTWARE */
    uint64_t config;
};

/* The row of a name, whose text need not be terminated; NULL: no event has it. */
const struct weir_event_name *weir_event_name_find(const char *name, size_t length);

/* All rows; those of one event stand together. *count: number of rows. */
const struct weir_event_name *weir_event_names(size_t *count);

/* Offers every spelling as a suggestion. */
void weir_event_names_offer(struct weir_suggest *suggest);

#endif

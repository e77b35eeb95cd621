/*
 * The events of a recording that is read: their attrs, names and ids, and the event that a record or an id belongs to.
 *
 * Attrs and ids come from a file's head or from a pipe's ATTR records; a pipe may bring more of both at any time.
 * Memory is bounded: 65536 events and 16 M ids. One thread; adding and naming allocate.
 * Source: perf_session__read_header() and perf_event__process_attr() in tools/perf/util/header.c of Linux 6.12.
 */
#ifndef WEIR_FORMAT_INPUT_EVENTS_H
#define WEIR_FORMAT_INPUT_EVENTS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/merge_record.h"
#include "format/record_stream.h"
#include "format/sample_layout.h"

struct weir_input_event {
    struct perf_event_attr attr; /* fields that the recording's attr is too short for are 0 */
    unsigned unknown_bytes;      /* of the recording's attr: not 0, behind the newest word that this version knows */
    struct weir_sample_layout layout;
    char *name;    /* owned; from EVENT_DESC or EVENT_UPDATE, otherwise made from the attr */
    uint64_t *ids; /* owned */
    size_t id_count;
};

struct weir_input_id {
    uint64_t id;
    size_t event; /* index in the list */
};

struct weir_input_events {
    struct weir_input_event *list; /* owned */
    size_t count, capacity;
    struct weir_input_id *ids; /* owned; the first sorted_ids ascend, later arrivals follow unsorted */
    size_t id_count, id_capacity;
    size_t sorted_ids;
    struct weir_merge merge; /* what the recording says of merged samples, as far as it was read */
    uint64_t ids_passed;     /* unsorted ids that searches have looked at since the last sort */
};

/* An attr and its ids as they stand in a recording. */
struct weir_input_attr {
    const uint8_t *attr; /* borrowed */
    size_t attr_bytes;   /* at attr; the attr's own size may be less */
    const uint8_t *ids;  /* borrowed: id_count times u64 */
    size_t id_count;
    const char *path; /* of the recording, for err */
    uint64_t offset;  /* of the attr in the recording, for err */
};

/* Appends an event, named after its attr. 0, -EBADMSG (the attr's size is wrong), -E2BIG (more events or ids than the
 * limits) or -ENOMEM, with err. */
int weir_input_events_add(struct weir_input_events *events, const struct weir_input_attr *attr, struct weir_error *err);

/* Replaces the name of the event with that index by a copy of name. 0 or -ENOMEM. */
int weir_input_events_rename(struct weir_input_events *events, size_t index, const char *name);

/* Takes names from an EVENT_DESC payload. A description with ids names the event of its first id, one without names the
 * event of its own index. A damaged payload names fewer events. 0 or -ENOMEM. */
int weir_input_events_describe(struct weir_input_events *events, const uint8_t *payload, size_t bytes);

/* Returns the event of an id; NULL: no event has that id. May sort the ids. */
const struct weir_input_event *weir_input_event_by_id(struct weir_input_events *events, uint64_t id);

/* Returns the event of a record: by its id, or the first event where records have no id. NULL: no event has that id, or
 * there is no event. */
const struct weir_input_event *weir_input_event_of(struct weir_input_events *events,
                                                   const struct weir_record_view *record);

/* Returns the number of samples for which a sample of the recording stands: 1, or its weight where samples are merged.
 */
uint64_t weir_input_sample_count(const struct weir_merge *merge, const struct weir_sample *sample);

/* Releases everything and leaves an empty list. */
void weir_input_events_fini(struct weir_input_events *events);

#endif

/* The events of a recording that is read. Ids that are sorted are found by bisection, later ones by a linear search
 * until sorting them is cheaper. One thread. */
#include "format/input_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/bits.h"
#include "format/attr_name.h"
#include "format/bytes.h"
#include "format/perf_file.h"

#define EVENTS_MAX       65536u
#define IDS_MAX          (16u << 20)
#define SORT_STEPS       16u /* about the logarithm of the number of ids */
#define ID_BYTES         sizeof(uint64_t)
#define ATTR_SIZE_OFFSET 4

/* ---- adding ---- */

/* Copies the attr into this program's structure: fields that are not in the recording are 0, unknown ones are left
 * out. */
static int read_attr(struct weir_input_event *event, const struct weir_input_attr *from, struct weir_error *err)
{
    struct perf_event_attr *attr = &event->attr;
    uint32_t said = from->attr_bytes >= PERF_ATTR_SIZE_VER0 ? weir_load_u32(from->attr + ATTR_SIZE_OFFSET) : 0;
    if (said == 0)
        said = PERF_ATTR_SIZE_VER0; /* perf_event_open(2): before 2.6.33 nobody set it */
    if (from->attr_bytes < PERF_ATTR_SIZE_VER0 || said < PERF_ATTR_SIZE_VER0 || said > from->attr_bytes)
        return weir_error_set(err, -EBADMSG, "%s: attr at %#" PRIx64 ": its size %u does not fit its %zu bytes",
                              from->path, from->offset, said, from->attr_bytes);
    memset(attr, 0, sizeof(*attr));
    memcpy(attr, from->attr, weir_min_u64(said, sizeof(*attr)));
    attr->size = said;
    for (uint32_t at = sizeof(*attr); at < said; at++)
        event->unknown_bytes += from->attr[at] != 0;
    return 0;
}

static int add_ids(struct weir_input_events *events, size_t index, const uint8_t *ids, size_t count)
{
    struct weir_input_event *event = &events->list[index];
    if (count == 0)
        return 0;
    event->ids = calloc(count, sizeof(*event->ids));
    struct weir_input_id *all =
        event->ids ? weir_array_grow(events->ids, sizeof(*all), events->id_count, count, &events->id_capacity) : NULL;
    if (!all)
        return -ENOMEM;
    events->ids = all;
    for (size_t i = 0; i < count; i++) {
        event->ids[i] = weir_load_u64(ids + i * ID_BYTES);
        events->ids[events->id_count++] = (struct weir_input_id){.id = event->ids[i], .event = index};
    }
    event->id_count = count;
    return 0;
}

int weir_input_events_add(struct weir_input_events *events, const struct weir_input_attr *attr, struct weir_error *err)
{
    if (events->count >= EVENTS_MAX || attr->id_count > IDS_MAX - events->id_count)
        return weir_error_set(err, -E2BIG, "%s: attr at %#" PRIx64 ": more than the limit of %u events or %u ids",
                              attr->path, attr->offset, EVENTS_MAX, IDS_MAX);
    struct weir_input_event *list = weir_array_grow(events->list, sizeof(*list), events->count, 1, &events->capacity);
    if (!list)
        return weir_error_set_errno(err, -ENOMEM, "cannot read %s", attr->path);
    events->list = list;

    size_t index = events->count;
    struct weir_input_event *event = &events->list[index];
    *event = (struct weir_input_event){0};
    int result = read_attr(event, attr, err);
    if (result < 0)
        return result;
    weir_sample_layout_init(&event->layout, &event->attr);
    events->count++;
    char name[WEIR_ATTR_NAME_BYTES];
    weir_attr_name(&event->attr, name);
    result = weir_input_events_rename(events, index, name);
    if (result == 0)
        result = add_ids(events, index, attr->ids, attr->id_count);
    return result < 0 ? weir_error_set_errno(err, result, "cannot read %s", attr->path) : 0;
}

void weir_input_events_fini(struct weir_input_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        free(events->list[i].name);
        free(events->list[i].ids);
    }
    free(events->list);
    free(events->ids);
    *events = (struct weir_input_events){0};
}

/* ---- naming ---- */

int weir_input_events_rename(struct weir_input_events *events, size_t index, const char *name)
{
    weir_assert(events->list && index < events->count);
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    free(events->list[index].name);
    events->list[index].name = copy;
    return 0;
}

/* EVENT_DESC: u32 events, u32 attr bytes; per event the attr, u32 ids, string name, u64 ids. */
int weir_input_events_describe(struct weir_input_events *events, const uint8_t *payload, size_t bytes)
{
    struct weir_cursor cursor = {.data = payload, .bytes = bytes};
    uint32_t count = weir_cursor_u32(&cursor), attr_bytes = weir_cursor_u32(&cursor);
    for (uint32_t i = 0; i < count && !cursor.failed; i++) {
        weir_cursor_take(&cursor, attr_bytes);
        uint32_t id_count = weir_cursor_u32(&cursor);
        const char *name = weir_cursor_string(&cursor);
        const uint8_t *ids = weir_cursor_take(&cursor, (uint64_t)id_count * ID_BYTES);
        if (cursor.failed)
            break;
        size_t index = i;
        if (id_count > 0) {
            const struct weir_input_event *event = weir_input_event_by_id(events, weir_load_u64(ids));
            index = event ? (size_t)(event - events->list) : events->count;
        }
        int result = index < events->count ? weir_input_events_rename(events, index, name) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- finding ---- */

static int compare_ids(const void *a, const void *b)
{
    const struct weir_input_id *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/*
 * Searches the unsorted ids one by one, until the search has cost about as much as sorting all ids. A stream may bring
 * one more id between any two records.
 */
static const struct weir_input_id *find_id(struct weir_input_events *events, uint64_t id)
{
    const struct weir_input_id key = {.id = id};
    events->ids_passed += events->id_count - events->sorted_ids;
    if (events->ids_passed > SORT_STEPS * events->id_count) {
        qsort(events->ids, events->id_count, sizeof(*events->ids), compare_ids);
        events->sorted_ids = events->id_count;
        events->ids_passed = 0;
    }
    for (size_t i = events->sorted_ids; i < events->id_count; i++) {
        if (events->ids[i].id == id)
            return &events->ids[i];
    }
    return events->sorted_ids > 0 ? bsearch(&key, events->ids, events->sorted_ids, sizeof(key), compare_ids) : NULL;
}

const struct weir_input_event *weir_input_event_by_id(struct weir_input_events *events, uint64_t id)
{
    const struct weir_input_id *found = find_id(events, id);
    return found ? &events->list[found->event] : NULL;
}

/* All events of a recording place the id of their records alike, so the first event's layout says where it is. */
const struct weir_input_event *weir_input_event_of(struct weir_input_events *events,
                                                   const struct weir_record_view *record)
{
    if (events->count == 0)
        return NULL;
    const struct weir_input_event *first = &events->list[0];
    const struct weir_sample_layout *layout = &first->layout;
    if (events->count == 1 || events->id_count == 0)
        return first;
    if (record->type == PERF_RECORD_SAMPLE) {
        int offset = layout->identifier != WEIR_LAYOUT_ABSENT ? layout->identifier : layout->id;
        if (offset == WEIR_LAYOUT_ABSENT)
            return first;
        if ((size_t)offset + ID_BYTES > record->bytes)
            return NULL;
        return weir_input_event_by_id(events, weir_load_u64(record->data + offset));
    }
    struct weir_sample_id id;
    if (record->type >= WEIR_RECORD_ATTR || !weir_sample_id_parse(&id, layout, record->data, record->bytes) || !id.id)
        return first;
    return weir_input_event_by_id(events, id.id);
}

/* Samples before the record of merges, and those that no step has merged, may have a weight of 0. */
uint64_t weir_input_sample_count(const struct weir_merge *merge, const struct weir_sample *sample)
{
    bool is_merged = merge->interval_ns > 0 && (sample->fields & PERF_SAMPLE_WEIGHT) && sample->weight > 0;
    return is_merged ? sample->weight : 1;
}

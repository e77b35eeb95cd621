/* Replaces ids of the kernel by those of the file. Readers, for rings whose events were opened anew. */
#include "engine/drain/record_rename.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/sample_layout.h"

#define WORD_BYTES       8u
#define IDENTIFIER_AT    8u  /* in a sample */
#define LOST_ID_AT       8u  /* header, id, lost */
#define THROTTLE_ID_AT   16u /* header, time, id, stream id */
#define READ_VALUES_AT   16u /* header, pid, tid, values */
#define TRAILER_LEAST    8u  /* the id, which is the last of it */
#define TIMES_OF(format) (!!((format)&PERF_FORMAT_TOTAL_TIME_ENABLED) + !!((format)&PERF_FORMAT_TOTAL_TIME_RUNNING))

/* Replaces the id at that place. Returns its event; NULL: of no event of the set. */
static const struct weir_event *rename_id(const struct weir_event_set *set, uint8_t *at)
{
    const struct weir_id_entry *entry = weir_id_map_find(&set->id_map, weir_load_u64(at));
    if (!entry)
        return NULL;
    uint64_t id = weir_event_set_file_id(set, entry);
    memcpy(at, &id, sizeof(id));
    return &set->list->events[entry->event];
}

/* Replaces the ids among the values of an event or of a group, which take so many bytes. */
static void rename_values(const struct weir_event_set *set, uint64_t format, uint8_t *at, uint64_t bytes)
{
    uint64_t words = bytes / WORD_BYTES, times = (uint64_t)TIMES_OF(format), stride = weir_read_words(format);
    if (!(format & PERF_FORMAT_ID))
        return;
    if (!(format & PERF_FORMAT_GROUP)) {
        if (words >= 2 + times) /* value, times, id */
            rename_id(set, at + (1 + times) * WORD_BYTES);
        return;
    }
    uint64_t first = 1 + times; /* how many, times, then value, id and so on of each */
    uint64_t members = words > first ? weir_min_u64(weir_load_u64(at), (words - first) / stride) : 0;
    for (uint64_t i = 0; i < members; i++)
        rename_id(set, at + (first + i * stride + 1) * WORD_BYTES);
}

static void rename_sample(const struct weir_event_set *set, uint8_t *record, uint32_t size)
{
    if (set->by_cpu || size < IDENTIFIER_AT + WORD_BYTES)
        return;
    const struct weir_event *event = rename_id(set, record + IDENTIFIER_AT);
    if (!event || !(event->attr.sample_type & PERF_SAMPLE_READ))
        return;
    struct weir_sample_layout layout;
    weir_sample_layout_init(&layout, &event->attr); /* the values are the first field behind the fixed ones */
    if (size > layout.variable)
        rename_values(set, event->attr.read_format, record + layout.variable, size - layout.variable);
}

static void rename_other(const struct weir_event_set *set, uint8_t *record, uint32_t size, uint32_t type)
{
    if (size < sizeof(struct perf_event_header) + TRAILER_LEAST)
        return;
    const struct weir_event *event = set->by_cpu ? NULL : rename_id(set, record + size - WORD_BYTES);
    uint32_t trailer_at = size - TRAILER_LEAST;
    if (type == PERF_RECORD_LOST && LOST_ID_AT + WORD_BYTES <= trailer_at)
        rename_id(set, record + LOST_ID_AT);
    if ((type == PERF_RECORD_THROTTLE || type == PERF_RECORD_UNTHROTTLE) &&
        THROTTLE_ID_AT + 2 * WORD_BYTES <= trailer_at) {
        rename_id(set, record + THROTTLE_ID_AT);
        rename_id(set, record + THROTTLE_ID_AT + WORD_BYTES);
    }
    if (type == PERF_RECORD_READ && event && READ_VALUES_AT < trailer_at)
        rename_values(set, event->attr.read_format, record + READ_VALUES_AT, trailer_at - READ_VALUES_AT);
}

void weir_record_rename(const struct weir_event_set *set, uint8_t *data, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE)
            rename_sample(set, data + at, header.size);
        else
            rename_other(set, data + at, header.size, header.type);
        at += header.size;
    }
}

/* The file's id of an event at a place. Of an event of several tasks it is that of the first task: another recorder's
 * id does not tell the task. */
static uint64_t file_id_at(const struct weir_event_set *set, unsigned event, unsigned place)
{
    uint64_t id = 0;
    for (unsigned task = 0; task < set->task_count && id == 0; task++)
        id = set->file_ids[weir_event_set_slot(set, event, place, task)];
    return id;
}

/* The event of a sample whose id is of no event of the set. -1: not known. */
static int event_of(const struct weir_event_set *set, uint64_t id)
{
    const struct weir_event *named = NULL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(set->asking) && !named; i++) {
        const struct weir_event_set *asking = set->asking[i];
        const struct weir_id_entry *entry = asking ? weir_id_map_find(&asking->id_map, id) : NULL;
        named = entry ? &asking->list->events[entry->event] : NULL;
    }
    return weir_event_list_find_misnamed(set->list, named);
}

/* Adopts one sample. True when its id was of no event of the set, and is now. */
static bool adopt(const struct weir_event_set *set, unsigned place, uint8_t *id_at, uint64_t *samples)
{
    uint64_t id = weir_load_u64(id_at);
    int event = weir_id_map_find(&set->id_map, id) ? -1 : event_of(set, id);
    id = event < 0 ? 0 : file_id_at(set, (unsigned)event, place);
    if (id == 0)
        return false;
    memcpy(id_at, &id, sizeof(id));
    samples[event]++;
    return true;
}

uint64_t weir_record_adopt(const struct weir_event_set *set, unsigned place, uint8_t *data, uint64_t bytes,
                           uint64_t *samples)
{
    uint64_t adopted = 0;
    for (uint64_t at = 0; !set->by_cpu && at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE && header.size >= IDENTIFIER_AT + WORD_BYTES)
            adopted += adopt(set, place, data + at + IDENTIFIER_AT, samples);
        at += header.size;
    }
    return adopted;
}

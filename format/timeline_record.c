/* Builds and parses records of the timeline. Pure. */
#include "format/timeline_record.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/assert.h"
#include "format/bytes.h"

/* The record's own part, in front of the entries of readers. */
struct fixed_part {
    struct perf_event_header header;
    uint64_t type, id; /* of EVENT_UPDATE */
    uint32_t reader_count, reader_bytes;
    struct weir_timeline_interval interval;
};

WEIR_FIELD_AT(struct fixed_part, type, 8);
WEIR_FIELD_AT(struct fixed_part, id, 16);
WEIR_FIELD_AT(struct fixed_part, reader_count, 24);
WEIR_FIELD_AT(struct fixed_part, interval, 32);
_Static_assert(sizeof(struct fixed_part) + WEIR_TIMELINE_READERS_MAX * sizeof(struct weir_timeline_reader) <=
                   WEIR_RECORD_MAX_BYTES,
               "all entries fit into a record");

void weir_record_timeline(struct weir_buf *out, const struct weir_timeline_interval *interval,
                          const struct weir_timeline_reader *readers, size_t count)
{
    weir_assert(count <= WEIR_TIMELINE_READERS_MAX);
    const struct fixed_part fixed = {
        .header = {.type = WEIR_RECORD_EVENT_UPDATE, .size = (uint16_t)(sizeof(fixed) + count * sizeof(*readers))},
        .type = WEIR_TIMELINE_UPDATE,
        .reader_count = (uint32_t)count,
        .reader_bytes = sizeof(*readers),
        .interval = *interval,
    };
    weir_buf_append(out, &fixed, sizeof(fixed));
    weir_buf_append(out, readers, count * sizeof(*readers));
}

bool weir_timeline_parse(const struct weir_record_view *record, struct weir_timeline_view *view)
{
    struct fixed_part fixed;
    if (record->type != WEIR_RECORD_EVENT_UPDATE || record->bytes < sizeof(fixed))
        return false;
    memcpy(&fixed, record->data, sizeof(fixed));
    size_t left = record->bytes - sizeof(fixed);
    if (fixed.type != WEIR_TIMELINE_UPDATE || fixed.reader_bytes < sizeof(struct weir_timeline_reader) ||
        fixed.reader_count > left / fixed.reader_bytes)
        return false;
    *view = (struct weir_timeline_view){
        .interval = fixed.interval,
        .reader_count = fixed.reader_count,
        .readers = record->data + sizeof(fixed),
        .reader_bytes = fixed.reader_bytes,
    };
    return true;
}

struct weir_timeline_reader weir_timeline_reader_at(const struct weir_timeline_view *view, size_t index)
{
    struct weir_timeline_reader reader;
    weir_assert(index < view->reader_count);
    memcpy(&reader, view->readers + index * view->reader_bytes, sizeof(reader));
    return reader;
}

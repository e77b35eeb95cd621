/*
 * The records of a pipe that describe its events and features: a file's head in pieces. One thread.
 *
 * Source: perf_event__synthesize_attr(), _event_update_name(), _features() in tools/perf/util/synthetic-events.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_input_internal.h"

#define HEADER_BYTES     sizeof(struct perf_event_header)
#define ID_BYTES         sizeof(uint64_t)
#define ATTR_SIZE_OFFSET 4
#define FEATURE_WORD     64u

enum event_update {
    UPDATE_UNIT = 0,
    UPDATE_SCALE = 1,
    UPDATE_NAME = 2,
    UPDATE_CPUS = 3
};

static int absorb_attr(struct weir_perf_input *input, const struct weir_record_view *record, struct weir_error *err)
{
    size_t room = record->bytes - HEADER_BYTES;
    const uint8_t *attr = record->data + HEADER_BYTES;
    uint32_t attr_bytes = room >= PERF_ATTR_SIZE_VER0 ? weir_load_u32(attr + ATTR_SIZE_OFFSET) : 0;
    if (attr_bytes == 0)
        attr_bytes = PERF_ATTR_SIZE_VER0;
    if (attr_bytes > room)
        return weir_error_set(err, -EBADMSG, "%s: record at %#" PRIx64 ": its attr of %u bytes does not fit",
                              input->source.path, record->offset, attr_bytes);
    const struct weir_input_attr entry = {
        .attr = attr,
        .attr_bytes = attr_bytes,
        .ids = attr + attr_bytes,
        .id_count = (room - attr_bytes) / ID_BYTES,
        .path = input->source.path,
        .offset = record->offset,
    };
    return weir_input_events_add(&input->events, &entry, err);
}

/* header, u64 type, u64 id, then what the type says: for a name, its text. */
static int absorb_update(struct weir_perf_input *input, const struct weir_record_view *record)
{
    struct weir_cursor cursor = {.data = record->data + HEADER_BYTES, .bytes = record->bytes - HEADER_BYTES};
    uint64_t type = weir_cursor_u64(&cursor), id = weir_cursor_u64(&cursor);
    const char *name = type == UPDATE_NAME ? weir_cursor_text(&cursor) : NULL;
    const struct weir_input_event *event = name ? weir_input_event_by_id(&input->events, id) : NULL;
    return event ? weir_input_events_rename(&input->events, (size_t)(event - input->events.list), name) : 0;
}

static void set_feature(struct weir_perf_input *input, uint64_t bit)
{
    input->features[bit / FEATURE_WORD] |= 1ull << (bit % FEATURE_WORD);
}

static int absorb_feature(struct weir_perf_input *input, const struct weir_record_view *record)
{
    struct weir_cursor cursor = {.data = record->data + HEADER_BYTES, .bytes = record->bytes - HEADER_BYTES};
    uint64_t bit = weir_cursor_u64(&cursor);
    bool is_end = bit >= WEIR_FEATURE_LAST && (cursor.bytes < sizeof(uint32_t) || weir_load_u32(cursor.data) == 0) &&
                  (bit == WEIR_FEATURE_LAST || cursor.bytes == 0);
    if (cursor.failed || is_end || bit >= WEIR_FEATURE_BITS || weir_perf_input_has_feature(input, (unsigned)bit))
        return 0; /* the first one counts: memory stays bounded by one payload per feature */
    if (bit >= WEIR_FEATURES_KNOWN) {
        set_feature(input, bit); /* to name it; its contents are not kept */
        return 0;
    }
    struct weir_buf *payload = &input->payloads[bit];
    weir_buf_append(payload, cursor.data, cursor.bytes);
    if (weir_buf_error(payload) < 0)
        return weir_buf_error(payload);
    set_feature(input, bit);
    return bit == WEIR_FEATURE_EVENT_DESC ? weir_input_events_describe(&input->events, payload->data, payload->used)
                                          : 0;
}

static int absorb_tracing_data(struct weir_perf_input *input, struct weir_error *err)
{
    struct weir_buf *payload = &input->payloads[WEIR_FEATURE_TRACING_DATA];
    if (weir_perf_input_has_feature(input, WEIR_FEATURE_TRACING_DATA))
        return 0;
    int result = weir_record_stream_payload(&input->stream, WEIR_FEATURE_MAX_BYTES, payload, err);
    if (result == 0)
        set_feature(input, WEIR_FEATURE_TRACING_DATA);
    return result;
}

int weir_perf_input_absorb(struct weir_perf_input *input, const struct weir_record_view *record, struct weir_error *err)
{
    int result = 0;
    switch (record->type) {
    case WEIR_RECORD_ATTR:
        return absorb_attr(input, record, err);
    case WEIR_RECORD_TRACING_DATA:
        return record->is_expanded ? 0 : absorb_tracing_data(input, err);
    case WEIR_RECORD_EVENT_UPDATE:
        result = absorb_update(input, record);
        break;
    case WEIR_RECORD_FEATURE:
        result = absorb_feature(input, record);
        break;
    default:
        break;
    }
    return result < 0 ? weir_error_set_errno(err, result, "cannot read %s", input->source.path) : 0;
}

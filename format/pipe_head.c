/*
 * The start of a perf.data stream, in perf's order: header (magic, size 16), an ATTR record for each event, an
 * EVENT_UPDATE record with its name, FEATURE records, TRACING_DATA. The coordinator runs it when an output is opened.
 *
 * Source: perf_event__synthesize_for_pipe() and perf_event__synthesize_extra_attr() in
 * tools/perf/util/synthetic-events.c, struct perf_record_header_attr and following in
 * tools/lib/perf/include/perf/event.h, of Linux 6.12.
 *
 * perf before 6.2 expects the ids of an ATTR record at the end of its own struct perf_event_attr, whatever size the
 * attr states. From 5.14 to 6.2 that is 128 bytes, so attrs in a stream have that size, or more if they use a later
 * field. In a file, where the ids are elsewhere, attrs are as small as possible (format/head.c).
 */
#include "format/pipe_head.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"

#define HEADER_BYTES   16u
#define ATTR_BYTES     128u /* PERF_ATTR_SIZE_VER7 */
#define ID_BYTES       sizeof(uint64_t)
#define NAME_MAX_BYTES 4096u

/* header, u32 bytes of the payload, which follows the record. */
#define TRACING_DATA_BYTES (sizeof(struct perf_event_header) + sizeof(uint32_t))

static void append_header(struct weir_buf *out, enum weir_user_record type, size_t bytes)
{
    struct perf_event_header header = {.type = type, .size = (uint16_t)bytes};
    weir_buf_append(out, &header, sizeof(header));
}

/* header, attr, ids: as many as a record holds, from `first` on. Returns how many. */
static size_t append_attr(struct weir_buf *out, const struct weir_event_desc *event, uint32_t attr_bytes, size_t first)
{
    size_t room = (WEIR_RECORD_MAX_BYTES - sizeof(struct perf_event_header) - attr_bytes) / ID_BYTES;
    size_t count = weir_min_u64(event->id_count - first, room);
    append_header(out, WEIR_RECORD_ATTR, sizeof(struct perf_event_header) + attr_bytes + count * ID_BYTES);
    weir_attr_append(out, &event->attr, attr_bytes);
    if (count > 0)
        weir_buf_append(out, event->ids + first, count * ID_BYTES);
    return count;
}

/* header, u64 type, u64 id, name with zeros to a multiple of 8. */
static void append_name(struct weir_buf *out, const char *name, uint64_t id)
{
    size_t bytes = strnlen(name, NAME_MAX_BYTES);
    size_t room = weir_align_up(bytes + 1, sizeof(uint64_t));
    append_header(out, WEIR_RECORD_EVENT_UPDATE, sizeof(struct perf_event_header) + 2 * sizeof(uint64_t) + room);
    weir_buf_append_u64(out, WEIR_EVENT_UPDATE_NAME);
    weir_buf_append_u64(out, id);
    weir_buf_append(out, name, bytes);
    weir_buf_append_zeros(out, room - bytes);
}

/* An event with more ids than a record holds becomes several events, which consumers take for events of the same name.
 */
static void append_event(struct weir_buf *out, const struct weir_event_desc *event, uint32_t attr_bytes)
{
    size_t done = 0;
    do {
        size_t first = done;
        done += append_attr(out, event, attr_bytes, first);
        if (first < event->id_count)
            append_name(out, event->name, event->ids[first]);
    } while (done < event->id_count);
}

static int append_tracing_data(struct weir_buf *out, const struct weir_buf *payload)
{
    if (!payload || payload->used == 0)
        return 0;
    size_t padded = weir_align_up(payload->used, sizeof(uint64_t));
    if (padded > UINT32_MAX)
        return -E2BIG;
    append_header(out, WEIR_RECORD_TRACING_DATA, TRACING_DATA_BYTES);
    weir_buf_append_u32(out, (uint32_t)padded);
    weir_buf_append(out, payload->data, payload->used);
    weir_buf_append_zeros(out, padded - payload->used);
    return 0;
}

int weir_pipe_head_build(struct weir_buf *out, const struct weir_features_input *input, unsigned *left_out)
{
    uint32_t attr_bytes =
        (uint32_t)weir_max_u64(ATTR_BYTES, weir_event_desc_attr_bytes(input->events, input->event_count));
    weir_buf_append_u64(out, WEIR_PERF_MAGIC2);
    weir_buf_append_u64(out, HEADER_BYTES);
    for (size_t i = 0; i < input->event_count; i++)
        append_event(out, &input->events[i], attr_bytes);
    int result = weir_features_append_records(out, input, left_out);
    if (result == 0)
        result = append_tracing_data(out, input->tracing_data);
    return result < 0 ? result : weir_buf_error(out);
}

/* Builds and parses the record of merged samples. Pure. */
#include "format/merge_record.h"

#include <linux/perf_event.h>
#include <string.h>

#include "format/perf_file.h"

#define BY_PROCESS 1u

struct whole_record {
    struct perf_event_header header;
    uint64_t type, id; /* of EVENT_UPDATE */
    uint64_t interval_ns;
    uint64_t flags;
};

WEIR_FIELD_AT(struct whole_record, interval_ns, 24);
_Static_assert(sizeof(struct whole_record) == 40, "the layout of files");

void weir_record_merge(struct weir_buf *out, const struct weir_merge *merge)
{
    const struct whole_record record = {
        .header = {.type = WEIR_RECORD_EVENT_UPDATE, .size = sizeof(record)},
        .type = WEIR_MERGE_UPDATE,
        .interval_ns = merge->interval_ns,
        .flags = merge->by_process ? BY_PROCESS : 0,
    };
    weir_buf_append(out, &record, sizeof(record));
}

bool weir_merge_parse(const struct weir_record_view *record, struct weir_merge *merge)
{
    struct whole_record whole;
    if (record->type != WEIR_RECORD_EVENT_UPDATE || record->bytes < sizeof(whole))
        return false;
    memcpy(&whole, record->data, sizeof(whole));
    if (whole.type != WEIR_MERGE_UPDATE || whole.interval_ns == 0)
        return false;
    *merge = (struct weir_merge){.interval_ns = whole.interval_ns, .by_process = whole.flags & BY_PROCESS};
    return true;
}

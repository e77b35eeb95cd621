#include "format/stream_cuts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/perf_file.h"
#include "format/perf_input.h"

bool weir_stream_cuts_has(uint32_t type)
{
    return type == WEIR_RECORD_ATTR || type == WEIR_RECORD_TRACING_DATA || type == WEIR_RECORD_BUILD_ID ||
           type == WEIR_RECORD_FEATURE;
}

static int note_build_id(struct weir_stream_cuts *cuts, const struct weir_record_view *record)
{
    if (record->bytes > WEIR_FEATURE_MAX_BYTES - cuts->build_ids.used)
        return -E2BIG;
    weir_buf_append(&cuts->build_ids, record->data, record->bytes);
    return weir_buf_error(&cuts->build_ids);
}

static int push(struct weir_stream_cuts *cuts, struct weir_stream_range range)
{
    if (cuts->count > 0 && cuts->list[cuts->count - 1].end == range.begin) {
        cuts->list[cuts->count - 1].end = range.end;
        return 0;
    }
    if (cuts->count == WEIR_STREAM_CUTS_MAX)
        return -E2BIG;
    struct weir_stream_range *list = weir_array_grow(cuts->list, sizeof(*list), cuts->count, 1, &cuts->room);
    if (!list)
        return -ENOMEM;
    cuts->list = list;
    cuts->list[cuts->count++] = range;
    return 0;
}

int weir_stream_cuts_note(struct weir_stream_cuts *cuts, const struct weir_record_view *record)
{
    if (record->is_expanded || !weir_stream_cuts_has(record->type))
        return 0;
    int result = record->type == WEIR_RECORD_BUILD_ID ? note_build_id(cuts, record) : 0;
    cuts->records++;
    return result < 0 ? result
                      : push(cuts, (struct weir_stream_range){record->offset,
                                                              record->offset + record->bytes + record->payload_bytes});
}

int weir_stream_cuts_kept(const struct weir_stream_cuts *cuts, uint64_t begin, uint64_t end,
                          struct weir_stream_range **kept, size_t *count)
{
    *count = 0;
    *kept = calloc(cuts->count + 1, sizeof(**kept));
    if (!*kept)
        return -ENOMEM;
    for (size_t i = 0; i <= cuts->count; i++) {
        uint64_t next = i < cuts->count ? cuts->list[i].begin : end;
        if (next > begin)
            (*kept)[(*count)++] = (struct weir_stream_range){begin, next};
        if (i < cuts->count)
            begin = cuts->list[i].end;
    }
    return 0;
}

void weir_stream_cuts_fini(struct weir_stream_cuts *cuts)
{
    free(cuts->list);
    weir_buf_fini(&cuts->build_ids);
    *cuts = (struct weir_stream_cuts){0};
}

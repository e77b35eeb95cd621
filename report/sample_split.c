/*
 * Words of read_format: with GROUP the number of members, times, then count, id and losses of each; without it count,
 * times, id and losses (perf_event_open(2)).
 */
#include "report/sample_split.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/bytes.h"

void weir_sample_split_init(struct weir_sample_split *split, uint64_t seed)
{
    *split = (struct weir_sample_split){.parts = NULL};
    weir_row_table_init(&split->counts, 1, 2, seed);
}

void weir_sample_split_fini(struct weir_sample_split *split)
{
    weir_row_table_fini(&split->counts);
    free(split->parts);
    *split = (struct weir_sample_split){.parts = NULL};
}

static int take_count(struct weir_sample_split *split, struct weir_input_events *events, uint64_t id, uint64_t count)
{
    const struct weir_input_event *event = weir_input_event_by_id(events, id);
    if (!event)
        return 0;
    uint32_t number = weir_row_table_add(&split->counts, &id);
    if (number == WEIR_ROW_NONE)
        return -ENOMEM;
    uint64_t *last = weir_row(&split->counts, number) + 1;
    uint64_t weight = count - *last;
    *last = count;
    if (weight == 0)
        return 0;
    struct weir_sample_part *parts = weir_array_grow(split->parts, sizeof(*parts), split->count, 1, &split->capacity);
    if (!parts)
        return -ENOMEM;
    split->parts = parts;
    parts[split->count++] = (struct weir_sample_part){(uint32_t)(event - events->list), weight};
    return 0;
}

int weir_sample_split_take(struct weir_sample_split *split, struct weir_input_events *events,
                           const struct weir_input_event *event, const struct weir_record_view *record)
{
    struct weir_sample sample;
    size_t bad_offset;
    split->count = 0;
    if (weir_sample_parse(&sample, &event->layout, record->data, record->bytes, &bad_offset) < 0)
        return 0;
    uint64_t form = event->attr.read_format;
    unsigned times = !!(form & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(form & PERF_FORMAT_TOTAL_TIME_RUNNING);
    bool is_group = form & PERF_FORMAT_GROUP, has_ids = form & PERF_FORMAT_ID;
    unsigned step = weir_read_words(form);
    uint64_t first = is_group ? 1 + times : 0,
             members = is_group && sample.read.count > 0 ? weir_load_u64(sample.read.data) : 1;
    int result = 0;
    for (uint64_t i = 0; result == 0 && i < members && first + (i + 1) * step <= sample.read.count; i++) {
        const uint8_t *words = sample.read.data + 8 * (first + i * step);
        const uint8_t *id = words + 8 * (is_group ? 1 : 1 + times);
        bool is_inside = has_ids && (uint64_t)(id - sample.read.data) + 8 <= 8 * sample.read.count;
        result = take_count(split, events, is_inside ? weir_load_u64(id) : sample.id.id, weir_load_u64(words));
    }
    return result;
}

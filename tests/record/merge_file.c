/*
 * `merge_file IN OUT INTERVAL_MS`: merges equal samples of a whole recording as `weir record --aggregate` does while
 * recording (engine/drain/aggregate.h), chunk by chunk. IN was recorded with `--sample-identifier -P -W`, so that its
 * samples have ids, periods and weights. OUT is as IN, with padding where samples were. Prints the samples before and
 * after.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/drain/aggregate.h"
#include "format/bytes.h"
#include "format/event_desc.h"
#include "format/perf_file.h"
#include "format/records.h"

#define CHUNK_BYTES  (1u << 20)
#define EVENTS_MAX   16u
#define IDS_MAX      4096u
#define PADDING_MAX  65528u
#define USAGE_STATUS 2

static uint8_t *image;
static size_t image_bytes;

static bool read_image(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return false;
    image_bytes = (size_t)ftell(file);
    rewind(file);
    image = malloc(image_bytes);
    bool good = image && fread(image, 1, image_bytes, file) == image_bytes;
    fclose(file);
    return good;
}

/* The events of the head, with the weight in one word, in the file, too. False: the file is not as it should be. */
static bool take_events(const struct weir_perf_header *header, struct weir_event *events, size_t *count,
                        struct weir_id_map *ids)
{
    *count = header->attrs.size / header->attr_size;
    if (*count > EVENTS_MAX || weir_id_map_init(ids, IDS_MAX) < 0)
        return false;
    for (size_t i = 0; i < *count; i++) {
        uint8_t *at = image + header->attrs.offset + i * header->attr_size;
        struct weir_perf_section section;
        struct perf_event_attr *attr = &events[i].attr;
        memcpy(&section, at + header->attr_size - sizeof(section), sizeof(section));
        memcpy(attr, at, weir_min_u64(header->attr_size - sizeof(section), sizeof(*attr)));
        events[i].sideband = attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
        if (attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
            attr->sample_type = (attr->sample_type & ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT) | PERF_SAMPLE_WEIGHT;
        memcpy(at + offsetof(struct perf_event_attr, sample_type), &attr->sample_type, sizeof(attr->sample_type));
        for (uint64_t id = 0; id < section.size / sizeof(uint64_t); id++)
            weir_id_map_add(ids, weir_load_u64(image + section.offset + id * sizeof(uint64_t)), (uint32_t)i, 0);
    }
    return *count > 0 && (events[0].attr.sample_type & PERF_SAMPLE_IDENTIFIER);
}

static void pad(uint8_t *at, size_t bytes)
{
    for (size_t piece; bytes > 0; at += piece, bytes -= piece) {
        piece = weir_min_u64(bytes, PADDING_MAX);
        weir_record_fill_padding(at, piece);
    }
}

/* The chunk that begins there: whole records, as a reader hands them over. */
static uint32_t chunk_at(const uint8_t *data, uint64_t bytes)
{
    uint64_t used = 0;
    while (used < bytes) {
        uint16_t size = weir_load_u16(data + used + offsetof(struct perf_event_header, size));
        if (size < sizeof(struct perf_event_header) || used + size > weir_min_u64(bytes, CHUNK_BYTES))
            break;
        used += size;
    }
    return (uint32_t)used;
}

static uint64_t merge_all(const struct weir_aggregate *aggregate, const struct weir_perf_section *data)
{
    const struct weir_chunk_rewriter step = weir_aggregate_rewriter(aggregate);
    void *state = step.begin(step.plan, CHUNK_BYTES);
    uint64_t at = 0, left = 0;
    while (state && at < data->size) {
        uint8_t *begin = image + data->offset + at;
        uint32_t used = chunk_at(begin, data->size - at);
        if (used == 0)
            break;
        struct weir_chunk chunk = {.data = begin, .used = used, .capacity = CHUNK_BYTES};
        step.rewrite(state, &chunk, false);
        pad(begin + chunk.used, used - chunk.used);
        left += chunk.used;
        at += used;
    }
    step.end(state);
    return at == data->size ? left : 0;
}

int main(int argc, char **argv)
{
    static struct weir_event events[EVENTS_MAX];
    struct weir_event_list list = {.events = events};
    struct weir_id_map ids = WEIR_ID_MAP_INIT;
    struct weir_perf_header header;
    struct weir_aggregate aggregate;
    if (argc != 4)
        return USAGE_STATUS;
    if (!read_image(argv[1]) || image_bytes < sizeof(header))
        return 1;
    memcpy(&header, image, sizeof(header));
    if (!take_events(&header, events, &list.count, &ids))
        return 1;
    const struct perf_event_attr *attr = &events[0].attr;
    const struct weir_aggregate_setup setup = {
        .layout = {.ids = &ids,
                   .id_offset = weir_attr_sample_offset(attr, PERF_SAMPLE_IDENTIFIER),
                   .time_offset = weir_attr_sample_offset(attr, PERF_SAMPLE_TIME),
                   .place_stride = (unsigned)list.count},
        .list = &list,
        .place_count = 1,
        .interval_ns = strtoull(argv[3], NULL, 10) * WEIR_NS_PER_MS,
    };
    if (weir_aggregate_init(&aggregate, &setup) < 0)
        return 1;
    uint64_t left = merge_all(&aggregate, &header.data);
    FILE *out = fopen(argv[2], "wb");
    bool good = left > 0 && out && fwrite(image, 1, image_bytes, out) == image_bytes;
    good = out && fclose(out) == 0 && good;
    printf("%llu samples merged, %llu bytes of %llu left\n", (unsigned long long)aggregate.merged_sum,
           (unsigned long long)left, (unsigned long long)header.data.size);
    weir_aggregate_fini(&aggregate);
    weir_id_map_fini(&ids);
    free(image);
    return good ? 0 : 1;
}

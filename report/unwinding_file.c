#include "report/unwinding_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/write_whole.h"
#include "format/features.h"
#include "format/head.h"
#include "unwind/unwound_sample.h"

#define BLOCK_BYTES  (1u << 20)
#define FEATURE_WORD 64u

static int flush(struct weir_unwinding_file *file)
{
    int result = weir_buf_error(&file->block);
    if (result == 0)
        result = weir_write_whole(file->fd, file->block.data, file->block.used);
    weir_buf_reset(&file->block);
    return result;
}

static void fill_head(const struct weir_unwinding_file *file, struct weir_head_input *head)
{
    head->events = file->events;
    head->event_count = file->event_count;
    head->head_bytes = file->head_bytes;
    head->data_bytes = file->data_bytes;
    for (size_t i = 0; i < file->event_count; i++)
        head->id_room = weir_max_u64(head->id_room, file->events[i].id_count);
}

int weir_unwinding_file_begin(struct weir_unwinding_file *file, int fd, const struct weir_perf_input *input)
{
    *file = (struct weir_unwinding_file){.fd = fd, .event_count = input->events.count};
    file->events = calloc(file->event_count + 1, sizeof(*file->events));
    if (!file->events)
        return -ENOMEM;
    for (size_t i = 0; i < file->event_count; i++) {
        const struct weir_input_event *event = &input->events.list[i];
        file->events[i] = (struct weir_event_desc){
            .attr = event->attr, .name = event->name, .ids = event->ids, .id_count = event->id_count, .leader = i};
        if (weir_unwound_is_wanted(&event->attr))
            weir_unwound_attr(&file->events[i].attr);
    }
    struct weir_head_input head = {.early = NULL};
    fill_head(file, &head);
    int result = weir_head_build(&file->block, &head);
    file->head_bytes = file->block.used;
    return result < 0 ? result : flush(file);
}

int weir_unwinding_file_append(struct weir_unwinding_file *file, const uint8_t *record, size_t bytes)
{
    weir_buf_append(&file->block, record, bytes);
    file->data_bytes += bytes;
    return file->block.used >= BLOCK_BYTES ? flush(file) : 0;
}

/* ---- features ---- */

/* The features that describe the storage of the data, which has changed. */
static bool is_dropped(unsigned bit)
{
    return bit == WEIR_FEATURE_COMPRESSED || bit == WEIR_FEATURE_DIR_FORMAT;
}

/* The payload of EVENT_DESC by the new attrs. */
static int describe_events(const struct weir_unwinding_file *file, struct weir_buf *payload)
{
    static const struct weir_machine nothing = {0};
    const struct weir_features_input input = {
        .machine = &nothing, .events = file->events, .event_count = file->event_count};
    struct weir_buf built = WEIR_BUF_INIT;
    uint64_t bits[4] = {0};
    int result = weir_features_build(&built, 0, &input, bits);
    size_t entry = (size_t)__builtin_popcountll(bits[0] & ((1ull << WEIR_FEATURE_EVENT_DESC) - 1));
    if (result == 0 && (bits[0] >> WEIR_FEATURE_EVENT_DESC & 1)) {
        struct weir_perf_section section;
        memcpy(&section, built.data + entry * sizeof(section), sizeof(section));
        weir_buf_append(payload, built.data + section.offset, section.size);
        result = weir_buf_error(payload);
    }
    weir_buf_fini(&built);
    return result;
}

/* 1, 0 (no such feature, or one that cannot be read) or -ENOMEM. */
static int make_feature(const struct weir_unwinding_file *file, const struct weir_perf_input *input, unsigned bit,
                        struct weir_buf *payload)
{
    if (is_dropped(bit))
        return 0;
    if (bit == WEIR_FEATURE_BUILD_ID && file->build_ids.used > 0) {
        weir_buf_append(payload, file->build_ids.data, file->build_ids.used);
        return weir_buf_error(payload) < 0 ? weir_buf_error(payload) : 1;
    }
    if (bit == WEIR_FEATURE_EVENT_DESC) {
        int result = describe_events(file, payload);
        return result < 0 ? result : payload->used > 0;
    }
    int found = weir_perf_input_feature(input, bit, payload, NULL);
    return found == -ENOMEM ? found : found == 1 && payload->used > 0;
}

static int append_features(struct weir_unwinding_file *file, const struct weir_perf_input *input, uint64_t features[4])
{
    struct weir_buf payloads[WEIR_FEATURES_KNOWN] = {WEIR_BUF_INIT};
    uint64_t offset = file->head_bytes + file->data_bytes;
    int result = 0;
    for (unsigned bit = 0; result >= 0 && bit < WEIR_FEATURES_KNOWN; bit++) {
        result = make_feature(file, input, bit, &payloads[bit]);
        if (result == 1)
            features[bit / FEATURE_WORD] |= 1ull << (bit % FEATURE_WORD);
        else
            weir_buf_fini(&payloads[bit]);
    }
    offset += weir_features_count(features) * sizeof(struct weir_perf_section);
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN; bit++) {
        const struct weir_perf_section section = {.offset = offset, .size = payloads[bit].used};
        offset += section.size;
        if (section.size > 0)
            weir_buf_append(&file->block, &section, sizeof(section));
    }
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN; bit++) {
        weir_buf_append(&file->block, payloads[bit].data, payloads[bit].used);
        weir_buf_fini(&payloads[bit]);
    }
    return result < 0 ? result : flush(file);
}

int weir_unwinding_file_end(struct weir_unwinding_file *file, const struct weir_perf_input *input)
{
    struct weir_head_input head = {.early = NULL};
    int result = flush(file);
    if (result == 0)
        result = append_features(file, input, head.features);
    fill_head(file, &head);
    if (result == 0)
        result = weir_head_build(&file->block, &head);
    if (result == 0 && lseek(file->fd, 0, SEEK_SET) < 0)
        result = -errno;
    return result == 0 ? flush(file) : result;
}

void weir_unwinding_file_fini(struct weir_unwinding_file *file)
{
    free(file->events);
    weir_buf_fini(&file->block);
    weir_buf_fini(&file->build_ids);
    *file = (struct weir_unwinding_file){.fd = -1};
}

/*
 * The start of a perf.data file:
 *
 *   0      header, 104 bytes
 *   104    ids: per event id_room words, of which the first id_count hold ids and the rest zeros
 *   ...    attrs: per event the attr and the section {offset, size} of its ids
 *   ...    early features (format/early_features.h), if wanted
 *   ...    zeros up to the next multiple of 4096
 *   data.offset
 *
 * The coordinator runs it when an output is opened and when it is finished. Source: perf_session__do_write_header() in
 * tools/perf/util/header.c of Linux 6.12. perf starts the data right behind the attrs. Consumers take its place from
 * data.offset, so weir starts it on a block of its own for O_DIRECT writes.
 */
#include "format/head.h"

#include "base/assert.h"
#include "base/bits.h"
#include "format/early_features.h"

#define HEAD_ALIGN_BYTES 4096u /* what O_DIRECT needs at most on the file systems that weir writes to */
#define ID_BYTES         sizeof(uint64_t)

struct head_layout {
    uint32_t attr_bytes;
    uint64_t stride; /* of one entry of the attrs section */
    uint64_t room_bytes;
    uint64_t attrs_offset;
    uint64_t attrs_end;
    uint64_t data_offset;
};

static struct head_layout layout_of(const struct weir_head_input *input, size_t early_bytes)
{
    struct head_layout layout;
    layout.attr_bytes = weir_event_desc_attr_bytes(input->events, input->event_count);
    layout.stride = layout.attr_bytes + sizeof(struct weir_perf_section);
    layout.room_bytes = input->id_room * ID_BYTES;
    layout.attrs_offset = sizeof(struct weir_perf_header) + input->event_count * layout.room_bytes;
    layout.attrs_end = layout.attrs_offset + input->event_count * layout.stride;
    layout.data_offset = weir_align_up(weir_early_features_offset(layout.attrs_end) + early_bytes, HEAD_ALIGN_BYTES);
    layout.data_offset = weir_max_u64(layout.data_offset, input->head_bytes);
    return layout;
}

static void append_header(struct weir_buf *out, const struct weir_head_input *input, const struct head_layout *layout)
{
    struct weir_perf_header header = {
        .magic = WEIR_PERF_MAGIC2,
        .size = sizeof(header),
        .attr_size = layout->stride,
        .attrs = {.offset = layout->attrs_offset, .size = input->event_count * layout->stride},
        .data = {.offset = layout->data_offset, .size = input->data_bytes},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(header.features); i++)
        header.features[i] = input->features[i];
    weir_buf_append(out, &header, sizeof(header));
}

static void append_ids(struct weir_buf *out, const struct weir_event_desc *event, const struct head_layout *layout)
{
    uint64_t used_bytes = event->id_count * ID_BYTES;
    weir_assert(used_bytes <= layout->room_bytes);
    weir_buf_append(out, event->ids, used_bytes);
    weir_buf_append_zeros(out, layout->room_bytes - used_bytes);
}

static void append_fixed(struct weir_buf *out, const struct weir_head_input *input, const struct head_layout *layout)
{
    append_header(out, input, layout);
    for (size_t i = 0; i < input->event_count; i++)
        append_ids(out, &input->events[i], layout);
    for (size_t i = 0; i < input->event_count; i++) {
        struct weir_perf_section ids = {
            .offset = sizeof(struct weir_perf_header) + i * layout->room_bytes,
            .size = input->events[i].id_count * ID_BYTES,
        };
        weir_attr_append(out, &input->events[i].attr, layout->attr_bytes);
        weir_buf_append(out, &ids, sizeof(ids));
    }
}

uint64_t weir_head_fixed_bytes(const struct weir_head_input *input)
{
    return layout_of(input, 0).attrs_end;
}

int weir_head_build(struct weir_buf *out, const struct weir_head_input *input)
{
    struct weir_buf early = WEIR_BUF_INIT;
    uint64_t early_offset = weir_early_features_offset(weir_head_fixed_bytes(input));
    int result = input->early ? weir_early_features_append(&early, early_offset, input->early) : 0;
    if (result == 0) {
        struct head_layout layout = layout_of(input, early.used);
        size_t start = out->used;
        append_fixed(out, input, &layout);
        weir_buf_append_zeros(out, early_offset - (out->used - start));
        weir_buf_append(out, early.data, early.used);
        weir_buf_append_zeros(out, layout.data_offset - (out->used - start));
        result = weir_buf_error(out);
    }
    weir_buf_fini(&early);
    return result;
}

/*
 * Properties of an event in the file, computed from its attr: the size to write, and the offsets of fixed fields.
 *
 * Any thread; only weir_attr_append() allocates. Layouts: perf_event_open(2) and include/uapi/linux/perf_event.h
 * (comments above PERF_RECORD_SAMPLE and struct sample_id); sizes: PERF_ATTR_SIZE_VERn of the same header.
 */
#include "format/event_desc.h"

#include "base/assert.h"
#include "base/bits.h"
#include "format/perf_file.h"

/* weir writes of an attr the kernel's structure up to one of the published sizes. */
_Static_assert(sizeof(struct perf_event_attr) == PERF_ATTR_SIZE_VER9, "perf_event_attr");
WEIR_FIELD_AT(struct perf_event_attr, size, 4);
WEIR_FIELD_AT(struct perf_event_attr, config, 8);
WEIR_FIELD_AT(struct perf_event_attr, sample_period, 16);
WEIR_FIELD_AT(struct perf_event_attr, sample_type, 24);
WEIR_FIELD_AT(struct perf_event_attr, read_format, 32);
WEIR_FIELD_AT(struct perf_event_attr, wakeup_events, 48);
WEIR_FIELD_AT(struct perf_event_attr, bp_type, 52);
WEIR_FIELD_AT(struct perf_event_attr, config1, 56);
WEIR_FIELD_AT(struct perf_event_attr, config2, PERF_ATTR_SIZE_VER0);
WEIR_FIELD_AT(struct perf_event_attr, branch_sample_type, PERF_ATTR_SIZE_VER1);
WEIR_FIELD_AT(struct perf_event_attr, sample_regs_user, PERF_ATTR_SIZE_VER2);
WEIR_FIELD_AT(struct perf_event_attr, sample_stack_user, 88);
WEIR_FIELD_AT(struct perf_event_attr, clockid, 92);
WEIR_FIELD_AT(struct perf_event_attr, sample_regs_intr, PERF_ATTR_SIZE_VER3);
WEIR_FIELD_AT(struct perf_event_attr, aux_watermark, PERF_ATTR_SIZE_VER4);
WEIR_FIELD_AT(struct perf_event_attr, sample_max_stack, 108);
WEIR_FIELD_AT(struct perf_event_attr, aux_sample_size, PERF_ATTR_SIZE_VER5);
WEIR_FIELD_AT(struct perf_event_attr, aux_action, 116);
WEIR_FIELD_AT(struct perf_event_attr, sig_data, PERF_ATTR_SIZE_VER6);
WEIR_FIELD_AT(struct perf_event_attr, config3, PERF_ATTR_SIZE_VER7);
WEIR_FIELD_AT(struct perf_event_attr, config4, PERF_ATTR_SIZE_VER8);

#define FIELD_BYTES 8 /* every fixed field of a sample and of a trailer takes one u64 */

/* The fixed fields of PERF_RECORD_SAMPLE in the order in which the kernel writes them; what follows varies in size. */
static const uint64_t sample_order[] = {
    PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,        PERF_SAMPLE_TID, PERF_SAMPLE_TIME,   PERF_SAMPLE_ADDR,
    PERF_SAMPLE_ID,         PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD,
};

#define TRAILER_FIELDS                                                                               \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_IDENTIFIER)

/* Published sizes, ascending. */
static const uint32_t attr_sizes[] = {
    PERF_ATTR_SIZE_VER0, PERF_ATTR_SIZE_VER1, PERF_ATTR_SIZE_VER2, PERF_ATTR_SIZE_VER3, PERF_ATTR_SIZE_VER4,
    PERF_ATTR_SIZE_VER5, PERF_ATTR_SIZE_VER6, PERF_ATTR_SIZE_VER7, PERF_ATTR_SIZE_VER8, PERF_ATTR_SIZE_VER9,
};

uint32_t weir_attr_least_size(const struct perf_event_attr *attr)
{
    const uint8_t *bytes = (const uint8_t *)attr;
    size_t used = sizeof(*attr);
    while (used > PERF_ATTR_SIZE_VER0 && bytes[used - 1] == 0)
        used--;

    size_t i = 0;
    while (attr_sizes[i] < used)
        i++;
    return attr_sizes[i];
}

uint32_t weir_event_desc_attr_bytes(const struct weir_event_desc *events, size_t event_count)
{
    uint32_t bytes = PERF_ATTR_SIZE_VER0;
    for (size_t i = 0; i < event_count; i++) {
        uint32_t least = weir_attr_least_size(&events[i].attr);
        bytes = least > bytes ? least : bytes;
    }
    return bytes;
}

void weir_attr_append(struct weir_buf *out, const struct perf_event_attr *attr, uint32_t attr_bytes)
{
    weir_assert(attr_bytes >= weir_attr_least_size(attr) && attr_bytes <= sizeof(*attr));
    struct perf_event_attr written = *attr;
    written.size = attr_bytes;
    weir_buf_append(out, &written, attr_bytes);
}

size_t weir_attr_sample_id_bytes(const struct perf_event_attr *attr)
{
    if (!attr->sample_id_all)
        return 0;
    return (size_t)__builtin_popcountll(attr->sample_type & TRAILER_FIELDS) * FIELD_BYTES;
}

int weir_attr_sample_offset(const struct perf_event_attr *attr, uint64_t bit)
{
    weir_assert(weir_is_power_of_two(bit));
    if (!(attr->sample_type & bit))
        return -1;

    int offset = sizeof(struct perf_event_header);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sample_order); i++) {
        if (sample_order[i] == bit)
            return offset;
        if (attr->sample_type & sample_order[i])
            offset += FIELD_BYTES;
    }
    return -1;
}

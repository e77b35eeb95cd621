/* Builders of AUXTRACE_INFO (on the coordinator, when an output begins) and AUXTRACE (on reader threads). */
#include "format/aux_records.h"

#include <string.h>

#include "base/assert.h"

struct auxtrace_record { /* struct perf_record_auxtrace */
    struct perf_event_header header;
    uint64_t bytes, offset, reference;
    uint32_t index;
    int32_t task, cpu;
    uint32_t reserved;
};

_Static_assert(sizeof(struct auxtrace_record) == WEIR_AUXTRACE_RECORD_BYTES, "perf_record_auxtrace");
WEIR_FIELD_AT(struct auxtrace_record, bytes, 8);
WEIR_FIELD_AT(struct auxtrace_record, offset, 16);
WEIR_FIELD_AT(struct auxtrace_record, reference, 24);
WEIR_FIELD_AT(struct auxtrace_record, index, 32);
WEIR_FIELD_AT(struct auxtrace_record, task, 36);
WEIR_FIELD_AT(struct auxtrace_record, cpu, 40);
WEIR_FIELD_AT(struct auxtrace_record, reserved, 44);

#define INFO_BYTES 16u /* header, u32 type, u32 reserved */

_Static_assert(INFO_BYTES + WEIR_AUXTRACE_INFO_WORDS_MAX * sizeof(uint64_t) == WEIR_RECORD_MAX_BYTES, "AUXTRACE_INFO");

void weir_auxtrace_write(void *to, const struct weir_auxtrace *auxtrace)
{
    const struct auxtrace_record record = {
        .header = {.type = WEIR_RECORD_AUXTRACE, .size = sizeof(record)},
        .bytes = auxtrace->bytes,
        .offset = auxtrace->offset,
        .reference = auxtrace->reference,
        .index = auxtrace->index,
        .task = auxtrace->task,
        .cpu = auxtrace->cpu,
    };
    memcpy(to, &record, sizeof(record));
}

struct weir_auxtrace weir_auxtrace_read(const void *data)
{
    struct auxtrace_record record;
    memcpy(&record, data, sizeof(record));
    return (struct weir_auxtrace){
        .bytes = record.bytes,
        .offset = record.offset,
        .reference = record.reference,
        .index = record.index,
        .task = record.task,
        .cpu = record.cpu,
    };
}

int weir_auxtrace_info_append(struct weir_buf *out, uint32_t type, const uint64_t *words, size_t count)
{
    weir_assert(count <= WEIR_AUXTRACE_INFO_WORDS_MAX);
    const struct perf_event_header header = {
        .type = WEIR_RECORD_AUXTRACE_INFO,
        .size = (uint16_t)(INFO_BYTES + count * sizeof(*words)),
    };
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append_u32(out, type);
    weir_buf_append_u32(out, 0);
    weir_buf_append(out, words, count * sizeof(*words));
    return weir_buf_error(out);
}

/* Builders of AUXTRACE_INFO (on the coordinator, when an output begins) and AUXTRACE (on reader threads). */
#include "format/aux_records.h"

#include <string.h>

#include "base/assert.h"

#define INFO_BYTES 16u /* header, u32 type, u32 reserved */

_Static_assert(INFO_BYTES + WEIR_AUXTRACE_INFO_WORDS_MAX * sizeof(uint64_t) == WEIR_RECORD_MAX_BYTES, "AUXTRACE_INFO");

void weir_auxtrace_write(void *to, const struct weir_auxtrace *auxtrace)
{
    const struct perf_event_header header = {.type = WEIR_RECORD_AUXTRACE, .size = WEIR_AUXTRACE_RECORD_BYTES};
    memcpy(to, &header, sizeof(header));
    memcpy((uint8_t *)to + sizeof(header), auxtrace, sizeof(*auxtrace));
}

struct weir_auxtrace weir_auxtrace_read(const void *record)
{
    struct weir_auxtrace auxtrace;
    memcpy(&auxtrace, (const uint8_t *)record + sizeof(struct perf_event_header), sizeof(auxtrace));
    return auxtrace;
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

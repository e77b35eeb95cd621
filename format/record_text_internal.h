/* The parts of format/record_text.h; for format/record_*.c and sample_text.c. */
#ifndef WEIR_FORMAT_RECORD_TEXT_INTERNAL_H
#define WEIR_FORMAT_RECORD_TEXT_INTERNAL_H

#include "format/bytes.h"
#include "format/record_text.h"

#define WEIR_TIME_CONV_BYTES 56u /* of a TIME_CONV record; before Linux 5.10: 32 */

/* A record as its text function sees it: at least its schema's bytes long. */
struct weir_text_record {
    const uint8_t *data;
    size_t bytes;      /* whole */
    size_t body_bytes; /* without the trailer */
    uint16_t misc;
    uint32_t type;
    const struct weir_input_event *event; /* NULL: unknown */
    struct weir_sample_id id;             /* of the trailer, or zeros */
};

/* The numbers of a record at an offset that it reaches to. */
static inline uint32_t weir_text_u32_at(const struct weir_text_record *record, size_t offset)
{
    return weir_load_u32(record->data + offset);
}

static inline int32_t weir_text_s32_at(const struct weir_text_record *record, size_t offset)
{
    return (int32_t)weir_load_u32(record->data + offset);
}

static inline uint64_t weir_text_u64_at(const struct weir_text_record *record, size_t offset)
{
    return weir_load_u64(record->data + offset);
}

/* What follows PERF_RECORD_NAME, ending in a newline: records of the kernel, and of user space. */
void weir_kernel_record_append(const struct weir_text_record *record, struct weir_buf *out);
void weir_user_record_append(const struct weir_text_record *record, struct weir_buf *out);

/* What the record's type says beyond the fields of its schema, as JSON members behind others. */
void weir_record_json_members(const struct weir_text_record *record, struct weir_buf *out);

/* What follows PERF_RECORD_SAMPLE. */
void weir_sample_text_append(const struct weir_record_text *text, const struct weir_text_record *record,
                             struct weir_buf *out);
void weir_sample_json_append(const struct weir_record_text *text, const struct weir_text_record *record,
                             struct weir_buf *out);

/* Task, time and CPU as JSON members behind others, those that a sample_type names. */
void weir_sample_id_json_append(const struct weir_sample_id *id, uint64_t types, struct weir_buf *out);

/* Of the n-th namespace of PERF_RECORD_NAMESPACES. */
const char *weir_namespace_name(uint64_t n);

/* How many of the bytes from 12 on are the id of PERF_RECORD_HEADER_BUILD_ID. */
size_t weir_build_id_record_bytes(const struct weir_text_record *record);

/* perf's name of bit `bit` of a register mask; NULL: no name known. */
const char *weir_register_name(bool is_x86, unsigned bit);

/* PERF_RECORD_CPU_MAP's CPUs as a list, "0-3,8"; "?" when it cannot be read. */
void weir_cpu_map_append(const uint8_t *data, size_t bytes, struct weir_buf *out);

/* What follows PERF_RECORD_AUXTRACE_INFO and _ERROR, ending in a newline, and the words of the first as a JSON member
 * behind others. bytes: at least what their schemas say. */
void weir_auxtrace_info_text_append(const uint8_t *data, size_t bytes, struct weir_buf *out);
void weir_auxtrace_info_json_append(const uint8_t *data, size_t bytes, struct weir_buf *out);
void weir_auxtrace_error_text_append(const uint8_t *data, size_t bytes, struct weir_buf *out);

#endif

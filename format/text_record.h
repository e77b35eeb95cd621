/*
 * A record for the functions that write its text. It is whole, has its event and its trailer, and is at least as long
 * as its schema says. No state; any thread.
 */
#ifndef WEIR_FORMAT_TEXT_RECORD_H
#define WEIR_FORMAT_TEXT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "format/bytes.h"
#include "format/input_events.h"
#include "format/sample_layout.h"

#define WEIR_TIME_CONV_BYTES 56u /* of a TIME_CONV record; before Linux 5.10: 32 */

struct weir_text_record {
    const uint8_t *data; /* borrowed: the whole record */
    size_t bytes;        /* of data */
    size_t body_bytes;   /* of data, without the trailer */
    uint16_t misc;
    uint32_t type;
    const struct weir_input_event *event; /* borrowed; NULL: unknown */
    struct weir_sample_id id;             /* from the trailer; zeros without one */
};

/* The numbers at an offset. The caller has checked that the record reaches that far. */
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

#endif

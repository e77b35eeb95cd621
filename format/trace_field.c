/* Fields in a sample's bytes: TP_STRUCT__entry of include/trace/trace_events.h, Linux 6.12. Pure. */
#include "format/trace_field.h"

#include <traceevent/event-parse.h>

#include "base/bits.h"

uint64_t weir_trace_field_number(const struct tep_format_field *field, const uint8_t *data, size_t length)
{
    uint64_t value = 0;
    size_t bytes = (size_t)weir_min_u64(length, sizeof(value));
    bool is_foreign = tep_is_file_bigendian(field->event->tep);
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | data[is_foreign ? i : bytes - 1 - i];
    return value;
}

bool weir_trace_field_locate(const struct tep_format_field *field, const uint8_t *raw, size_t bytes,
                             const uint8_t **data, size_t *length)
{
    if (field->offset < 0 || field->size < 0 || (uint64_t)field->offset + (uint64_t)field->size > bytes)
        return false;
    *data = raw + field->offset;
    *length = (size_t)field->size;
    if (!(field->flags & TEP_FIELD_IS_DYNAMIC))
        return true;
    if (*length < sizeof(uint32_t))
        return false;
    uint32_t place = (uint32_t)weir_trace_field_number(field, *data, sizeof(place));
    size_t offset = place & UINT16_MAX;
    if (field->flags & TEP_FIELD_IS_RELATIVE)
        offset += (size_t)field->offset + (size_t)field->size;
    *length = place >> 16;
    if (offset + *length > bytes)
        return false;
    *data = raw + offset;
    return true;
}

bool weir_trace_field_is_text(const struct tep_format_field *field)
{
    return (field->flags & TEP_FIELD_IS_STRING) && strstr(field->type, "char") && !strstr(field->type, "signed");
}

/* The bytes of a tracepoint's field in an unchecked sample. Pure; any thread. */
#ifndef WEIR_FORMAT_TRACE_FIELD_H
#define WEIR_FORMAT_TRACE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tep_format_field;

/* Finds the bytes of a field in the raw bytes of a sample; of a dynamic field, the bytes that it points to. False: they
 * are not inside. *data: borrowed from raw. */
bool weir_trace_field_locate(const struct tep_format_field *field, const uint8_t *raw, size_t bytes,
                             const uint8_t **data, size_t *length);

/* Returns the number in `length` bytes, of which the first 8 count, in the byte order of the field's recording. */
uint64_t weir_trace_field_number(const struct tep_format_field *field, const uint8_t *data, size_t length);

/* Returns whether the field is text. libtraceevent also takes arrays of u8 and unsigned char for text; these are
 * addresses and ids, which no zero ends. */
bool weir_trace_field_is_text(const struct tep_format_field *field);

#endif

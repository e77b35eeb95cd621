/* The bytes of a tracepoint's field in a sample, which nobody has checked. Pure; any thread. */
#ifndef WEIR_FORMAT_TRACE_FIELD_H
#define WEIR_FORMAT_TRACE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tep_format_field;

/* Where a field's bytes are in the raw bytes of a sample; of a dynamic one those that it points to. False: not inside
 * of them. *data: borrowed from raw. */
bool weir_trace_field_locate(const struct tep_format_field *field, const uint8_t *raw, size_t bytes,
                             const uint8_t **data, size_t *length);

/* The number in so many bytes, of which the first 8 count. */
uint64_t weir_trace_field_number(const uint8_t *data, size_t length);

/* Whether it is text. libtraceevent takes arrays of u8 and unsigned char for text, too: those are addresses and ids, in
 * which a zero ends nothing. */
bool weir_trace_field_is_text(const struct tep_format_field *field);

#endif

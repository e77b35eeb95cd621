/*
 * Text made of what a file or a user says: nobody checked it, so control characters never reach a terminal, and JSON
 * strings are valid JSON whatever the bytes are. Appends to a buffer; any thread.
 */
#ifndef WEIR_FORMAT_TEXT_OUT_H
#define WEIR_FORMAT_TEXT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Text of at most bytes, up to its zero, each byte of a control character (base/utf8.h) as '?'. */
void weir_text_append(struct weir_buf *out, const void *text, size_t bytes);

/* The same as a JSON string with its quotes (RFC 8259, section 7); bytes that are not UTF-8 become U+FFFD. */
void weir_text_append_json(struct weir_buf *out, const void *text, size_t bytes);

/* The same of all of a string. */
void weir_text_append_json_string(struct weir_buf *out, const char *text);

/* bytes as two lower-case hex digits each. */
void weir_text_append_hex(struct weir_buf *out, const uint8_t *data, size_t bytes);

/* perf's dump of a record: 16 bytes a line with their address in the record, then as characters. */
void weir_text_append_dump(struct weir_buf *out, const uint8_t *data, size_t bytes);

#endif

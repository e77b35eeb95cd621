/*
 * Text from unchecked bytes of files and users. Control characters never reach a terminal, and JSON strings are valid
 * JSON for any bytes. Appends to a buffer; any thread.
 */
#ifndef WEIR_FORMAT_TEXT_OUT_H
#define WEIR_FORMAT_TEXT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends text of at most `bytes` bytes, up to its zero; each byte of a control character (base/utf8.h) becomes '?'. */
void weir_text_append(struct weir_buf *out, const void *text, size_t bytes);

/* Appends such text as a JSON string with its quotes (RFC 8259, section 7); bytes that are not UTF-8 become U+FFFD. */
void weir_text_append_json(struct weir_buf *out, const void *text, size_t bytes);

/* Appends a whole string as a JSON string. */
void weir_text_append_json_string(struct weir_buf *out, const char *text);

/* Appends each byte as two lower-case hex digits. */
void weir_text_append_hex(struct weir_buf *out, const uint8_t *data, size_t bytes);

/* Appends perf's dump of a record: 16 bytes a line with their offset in the record, then the same bytes as characters.
 */
void weir_text_append_dump(struct weir_buf *out, const uint8_t *data, size_t bytes);

#endif

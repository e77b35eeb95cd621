/*
 * The text of PERF_RECORD_AUXTRACE_INFO and PERF_RECORD_AUXTRACE_ERROR. Appends to a buffer; allocates; one thread.
 *
 * data: the whole record; bytes: its length, at least what its schema says.
 */
#ifndef WEIR_FORMAT_AUXTRACE_TEXT_H
#define WEIR_FORMAT_AUXTRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Append the text that follows PERF_RECORD_NAME, with a newline at its end. */
void weir_auxtrace_info_text_append(const uint8_t *data, size_t bytes, struct weir_buf *out);
void weir_auxtrace_error_text_append(const uint8_t *data, size_t bytes, struct weir_buf *out);

/* Appends the words of an AUXTRACE_INFO as a JSON member "words", with a comma before it. */
void weir_auxtrace_info_json_append(const uint8_t *data, size_t bytes, struct weir_buf *out);

#endif

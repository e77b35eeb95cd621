/* Header features by name, and what their payloads say in one line. Pure but for the buffer; any thread. */
#ifndef WEIR_FORMAT_FEATURE_TEXT_H
#define WEIR_FORMAT_FEATURE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* "HOSTNAME"; NULL: no feature that is known here. */
const char *weir_feature_name(unsigned bit);

/* Appends what the payload says, without newline; "(cut)" where it ends too early. Whether it does not. */
bool weir_feature_text_append(unsigned bit, const uint8_t *payload, size_t bytes, struct weir_buf *out);

#endif

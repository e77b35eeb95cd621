/* The names of header features, and their payloads as one line of text. Pure but for the buffer; any thread. */
#ifndef WEIR_FORMAT_FEATURE_TEXT_H
#define WEIR_FORMAT_FEATURE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Returns the name, "HOSTNAME"; NULL: an unknown feature. */
const char *weir_feature_name(unsigned bit);

/* Returns the layout, in the language of format/feature_text.c; "": an unknown feature, or one that is a list. */
const char *weir_feature_layout(unsigned bit);

/* Appends the payload as text, without newline, and "(cut)" if it ends too early. Returns whether it is whole. */
bool weir_feature_text_append(unsigned bit, const uint8_t *payload, size_t bytes, struct weir_buf *out);

#endif

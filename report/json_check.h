/*
 * Whether bytes are one value of JSON (RFC 8259), so that they may stand inside other JSON. Pure; any thread.
 */
#ifndef WEIR_REPORT_JSON_CHECK_H
#define WEIR_REPORT_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_JSON_DEPTH_MAX 64u

/* Whether data is one object or list, with white space around it at most, nested no deeper than the limit. Strings need
 * not be UTF-8. */
bool weir_json_is_value(const uint8_t *data, size_t bytes);

#endif

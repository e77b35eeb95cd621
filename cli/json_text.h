/* Strings of JSON output. Pure; any thread. */
#ifndef WEIR_CLI_JSON_TEXT_H
#define WEIR_CLI_JSON_TEXT_H

#include "base/buf.h"

/* Appends value as a JSON string (RFC 8259, section 7), with its quotes. */
void weir_json_append_string(struct weir_buf *text, const char *value);

#endif

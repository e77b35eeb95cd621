/*
 * The parts of a record that its schema does not list, as JSON: lists, alternatives, bytes. Appends to a buffer;
 * allocates; one thread.
 */
#ifndef WEIR_FORMAT_RECORD_JSON_H
#define WEIR_FORMAT_RECORD_JSON_H

#include "base/buf.h"
#include "format/text_record.h"

/* Appends these parts as members, each with a comma before it. Samples have their own: see format/sample_text.h. */
void weir_record_json_members(const struct weir_text_record *record, struct weir_buf *out);

#endif
